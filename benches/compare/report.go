package main

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// What was measured with, and where.
func heading(s settings) string {
	return fmt.Sprintf(`# Benchmarks

`+"`make bench-engine`"+` prints these tables and writes them here: Steersman and Helm, measured in turns in one run.
[benches/](../benches/README.md) says how.

- machine: %s, %d cores, %s
- Helm: %s, built with %s
- Steersman: %s, built with %s
- measured: %s
`, processor(), runtime.NumCPU(), said("uname", "-sr"), said(s.helm, "version", "--short"), runtime.Version(),
		said(s.steersman, "version"), said("rustc", "--version"), time.Now().UTC().Format("2006-01-02"))
}

func processor() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if name, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

// The first line that a program says.
func said(program string, arguments ...string) string {
	output, err := exec.Command(program, arguments...).Output()
	if err != nil {
		return "unknown"
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(output)), "\n")
	return line
}

// A table of Markdown.
type table struct {
	rows [][]string
}

func newTable(header ...string) *table {
	return &table{rows: [][]string{header}}
}

func (t *table) row(cells ...string) {
	t.rows = append(t.rows, cells)
}

// Columns are padded; the first is text, the others are numbers.
func (t *table) String() string {
	widths := make([]int, len(t.rows[0]))
	for _, row := range t.rows {
		for i, cell := range row {
			widths[i] = max(widths[i], len([]rune(cell)), 3)
		}
	}
	var text strings.Builder
	for i, row := range t.rows {
		for column, cell := range row {
			padding := strings.Repeat(" ", widths[column]-len([]rune(cell)))
			if column == 0 {
				fmt.Fprintf(&text, "| %s%s ", cell, padding)
			} else {
				fmt.Fprintf(&text, "| %s%s ", padding, cell)
			}
		}
		text.WriteString("|\n")
		if i == 0 {
			for column, width := range widths {
				end := ":"
				if column == 0 {
					end = "-"
				}
				fmt.Fprintf(&text, "|-%s%s", strings.Repeat("-", width), end)
			}
			text.WriteString("|\n")
		}
	}
	return text.String()
}

func milliseconds(d time.Duration) string {
	value := float64(d.Nanoseconds()) / 1e6
	if value < 10 {
		return fmt.Sprintf("%.2f", value)
	}
	return fmt.Sprintf("%.1f", value)
}

func megabytes(bytes float64) string { return fmt.Sprintf("%.1f", bytes/(1<<20)) }

func times(ratio float64) string { return fmt.Sprintf("%.1f", ratio) }

func quotient(a, b time.Duration) float64 { return float64(a) / math.Max(float64(b), 1) }

func least[T any](items []T, number func(T) float64) float64 {
	least := math.Inf(1)
	for _, item := range items {
		least = math.Min(least, number(item))
	}
	return least
}

func largest[T any](items []T, number func(T) float64) float64 {
	return -least(items, func(item T) float64 { return -number(item) })
}

func total[T any](items []T, number func(T) float64) float64 {
	var sum float64
	for _, item := range items {
		sum += number(item)
	}
	return sum
}
