package main

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

// What one process used.
type usage struct {
	cpu    time.Duration
	wall   time.Duration
	memory float64
	failed bool
}

// How both programs did with one case.
type processes struct {
	id        string
	helm, own usage
}

func (p processes) cpuRatio() float64    { return quotient(p.helm.cpu, p.own.cpu) }
func (p processes) memoryRatio() float64 { return p.helm.memory / p.own.memory }

func processTable(s settings, cases []testCase) (string, error) {
	home, err := os.MkdirTemp("", "bench")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(home)
	floor, err := runProcess("true", nil, s.corpus, home)
	if err != nil {
		return "", err
	}
	var results []processes
	disagree := 0
	for _, found := range cases {
		result := processes{id: found.ID}
		if result.helm, err = runProcess(s.helm, found.arguments(), s.corpus, home); err != nil {
			return "", err
		}
		if result.own, err = runProcess(s.steersman, found.arguments(), s.corpus, home); err != nil {
			return "", err
		}
		if result.helm.failed != result.own.failed {
			disagree++
		}
		results = append(results, result)
	}
	var text strings.Builder
	fmt.Fprintf(&text, `## Whole processes: steersman template and helm template

%d cases of the corpus, one process each, in turns. Processor time is user and system; memory is the peak of the resident
set, of which %s MB is what any process has that is started like this. Exit codes that disagree: %d.

`, len(results), megabytes(floor.memory), disagree)
	text.WriteString(processSummary(results))
	slices.SortFunc(results, func(a, b processes) int { return cmp.Compare(a.cpuRatio(), b.cpuRatio()) })
	text.WriteString("\nThe least times less processor time:\n\n")
	text.WriteString(processList(results))
	slices.SortFunc(results, func(a, b processes) int { return cmp.Compare(a.memoryRatio(), b.memoryRatio()) })
	text.WriteString("\nThe least times less memory:\n\n")
	text.WriteString(processList(results))
	return text.String(), nil
}

func processSummary(results []processes) string {
	table := newTable("", "Helm", "ours", "ratio")
	row := func(name string, format func(float64) string, helm, own float64, ratio float64) {
		table.row(name, format(helm), format(own), times(ratio))
	}
	inMilliseconds := func(d float64) string { return milliseconds(time.Duration(d)) }
	cpu := func(pick func(processes) usage) func(processes) float64 {
		return func(p processes) float64 { return float64(pick(p).cpu) }
	}
	wall := func(pick func(processes) usage) func(processes) float64 {
		return func(p processes) float64 { return float64(pick(p).wall) }
	}
	memory := func(pick func(processes) usage) func(processes) float64 {
		return func(p processes) float64 { return pick(p).memory }
	}
	helm := func(p processes) usage { return p.helm }
	own := func(p processes) usage { return p.own }
	wallRatio := func(p processes) float64 { return quotient(p.helm.wall, p.own.wall) }
	row("CPU ms, median", inMilliseconds, median(results, cpu(helm)), median(results, cpu(own)),
		median(results, processes.cpuRatio))
	row("CPU ms, total", inMilliseconds, total(results, cpu(helm)), total(results, cpu(own)),
		total(results, cpu(helm))/total(results, cpu(own)))
	row("wall ms, median", inMilliseconds, median(results, wall(helm)), median(results, wall(own)),
		median(results, wallRatio))
	row("memory MB, median", megabytes, median(results, memory(helm)), median(results, memory(own)),
		median(results, processes.memoryRatio))
	row("memory MB, largest", megabytes, largest(results, memory(helm)), largest(results, memory(own)),
		largest(results, memory(helm))/largest(results, memory(own)))
	return table.String()
}

func processList(results []processes) string {
	table := newTable("case", "Helm CPU ms", "ours CPU ms", "times less", "Helm MB", "ours MB", "times less")
	for _, p := range results[:min(5, len(results))] {
		table.row(p.id, milliseconds(p.helm.cpu), milliseconds(p.own.cpu), times(p.cpuRatio()),
			megabytes(p.helm.memory), megabytes(p.own.memory), times(p.memoryRatio()))
	}
	return table.String()
}

// Runs a program to its end; its failing is a result, too.
func runProcess(program string, arguments []string, folder, home string) (usage, error) {
	process := exec.Command(program, arguments...)
	process.Dir = folder
	process.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	start := time.Now()
	err := process.Run()
	wall := time.Since(start)
	if process.ProcessState == nil {
		return usage{}, fmt.Errorf("run %s: %w", program, err)
	}
	used, ok := process.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return usage{}, fmt.Errorf("run %s: the system does not say what it used", program)
	}
	return usage{
		cpu:  time.Duration(used.Utime.Nano() + used.Stime.Nano()),
		wall: wall,
		// In kilobytes, as Linux counts it.
		memory: float64(used.Maxrss) * 1024,
		failed: err != nil,
	}, nil
}
