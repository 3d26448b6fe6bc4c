// Measures Steersman and Helm side by side and writes the tables of docs/benchmarks.md.
//
// It imports nothing but the standard library: a process that is started inherits the size of the one
// that starts it as the least peak memory that the system reports.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// What is measured and with what.
type settings struct {
	corpus     string
	helmRender string
	ownRender  string
	helm       string
	steersman  string
	// How long each side renders one chart in one turn.
	turn time.Duration
	// Only cases whose id contains this.
	filter string
}

func main() {
	var s settings
	var output, only string
	flag.StringVar(&s.corpus, "corpus", "", "unpacked folder of the corpus")
	flag.StringVar(&s.helmRender, "helm-render", "", "program that renders with Helm's engine")
	flag.StringVar(&s.ownRender, "own-render", "", "program that renders with ours")
	flag.StringVar(&s.helm, "helm", "", "helm")
	flag.StringVar(&s.steersman, "steersman", "", "steersman")
	flag.DurationVar(&s.turn, "turn", 150*time.Millisecond, "how long each side renders a chart in one turn")
	flag.StringVar(&s.filter, "filter", "", "only cases whose id contains this")
	flag.StringVar(&only, "only", "charts,all,process,growth,threads", "tables to make")
	flag.StringVar(&output, "output", "", "also write the tables to this file")
	flag.Parse()
	if err := run(s, strings.Split(only, ","), output); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(s settings, only []string, output string) error {
	cases, err := readCases(s.corpus, s.filter)
	if err != nil {
		return err
	}
	sections := map[string]func() (string, error){
		"charts":  func() (string, error) { return chartsTable(s, cases) },
		"all":     func() (string, error) { return corpusTable(s, cases) },
		"process": func() (string, error) { return processTable(s, cases) },
		"growth":  func() (string, error) { return growthTable(s) },
		"threads": func() (string, error) { return threadsTable(s, cases) },
	}
	report := heading(s)
	fmt.Print(report)
	for _, name := range only {
		section, known := sections[name]
		if !known {
			return fmt.Errorf("no table is called %q", name)
		}
		text, err := section()
		if err != nil {
			return fmt.Errorf("table %s: %w", name, err)
		}
		fmt.Print("\n", text)
		report += "\n" + text
	}
	if output == "" {
		return nil
	}
	return errors.Join(os.MkdirAll(filepath.Dir(output), 0o755), os.WriteFile(output, []byte(report), 0o644))
}
