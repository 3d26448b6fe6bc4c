package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
)

// Charts of different shape: libraries of helpers, one big template, many small ones, long values, big output,
// much of `tpl`, many subcharts, nearly nothing but text.
var chosen = []string{
	"bitnami--charts/postgresql", "bitnami--charts/kafka", "bitnami--charts/redis-cluster",
	"kubernetes--ingress-nginx/ingress-nginx", "argoproj--argo-helm/argo-cd",
	"prometheus-community--helm-charts/kube-prometheus-stack", "cert-manager--cert-manager/cert-manager",
	"helm--charts/nginx-ingress", "DataDog--helm-charts/datadog", "grafana--mimir-hist/mimir-distributed",
	"jupyterhub--zero-to-jupyterhub-k8s/jupyterhub", "hashicorp--consul-k8s/consul",
}

const turns = 7

// How both engines did with one chart.
type comparison struct {
	name      string
	helm, own cost
	// With making and checking the values.
	helmWhole, ownWhole cost
}

// How many times faster ours is.
func (c comparison) ratio() float64    { return quotient(c.helm.wall, c.own.wall) }
func (c comparison) cpuRatio() float64 { return quotient(c.helm.cpu, c.own.cpu) }

func chartsTable(s settings, cases []testCase) (string, error) {
	var results []comparison
	for _, found := range pick(onePerChart(cases)) {
		result, err := compareChart(s, found, turns, true)
		if err != nil {
			return "", err
		}
		results = append(results, result)
	}
	var text strings.Builder
	fmt.Fprintf(&text, `## One rendering, the chart loaded once

Helm: `+"`engine.Render`"+` alone, its values made beforehand. Ours: everything from the user's values to the texts of the
templates, so also coalescing, which Helm's column leaves out. With values: both coalesce and check the schemas, too.
Medians of %d turns; milliseconds of wall time, and of processor time of all threads.

`, turns)
	table := newTable("chart", "Helm ms", "ours ms", "times faster", "Helm CPU ms", "ours CPU ms", "times less",
		"Helm MB allocated", "with values: Helm ms", "ours ms", "times faster")
	for _, c := range results {
		table.row(c.name, milliseconds(c.helm.wall), milliseconds(c.own.wall), times(c.ratio()),
			milliseconds(c.helm.cpu), milliseconds(c.own.cpu), times(c.cpuRatio()), megabytes(c.helm.bytes),
			milliseconds(c.helmWhole.wall), milliseconds(c.ownWhole.wall),
			times(quotient(c.helmWhole.wall, c.ownWhole.wall)))
	}
	text.WriteString(table.String())
	fmt.Fprintf(&text, "\nMedian: %s times faster, %s times less processor time. Least: %s and %s.\n",
		times(median(results, comparison.ratio)), times(median(results, comparison.cpuRatio)),
		times(least(results, comparison.ratio)), times(least(results, comparison.cpuRatio)))
	return text.String(), nil
}

// The chosen charts; all of them where a filter leaves none of those.
func pick(cases []testCase) []testCase {
	var picked []testCase
	for _, name := range chosen {
		for _, found := range cases {
			if found.name() == name {
				picked = append(picked, found)
				break
			}
		}
	}
	if len(picked) == 0 {
		return cases
	}
	return picked
}

func compareChart(s settings, found testCase, rounds int, whole bool) (comparison, error) {
	result := comparison{name: found.name()}
	both, err := startPair(s, s.corpus, found.line)
	if err != nil {
		return result, err
	}
	defer both.stop()
	if result.helm, result.own, err = both.compare("render", rounds, s.turn); err != nil || !whole {
		return result, err
	}
	result.helmWhole, result.ownWhole, err = both.compare("values", rounds, s.turn)
	return result, err
}

const listed = 12

// All charts, more briefly.
func corpusTable(s settings, cases []testCase) (string, error) {
	var results []comparison
	s.turn /= 4
	for _, found := range onePerChart(cases) {
		result, err := compareChart(s, found, 3, false)
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", found.ID, err)
			continue
		}
		results = append(results, result)
	}
	slices.SortFunc(results, func(a, b comparison) int { return cmp.Compare(a.ratio(), b.ratio()) })
	var text strings.Builder
	fmt.Fprintf(&text, "## All %d charts of the corpus\n\n", len(results))
	fmt.Fprintf(&text, "As above, with a case of each chart. Median: %s times faster, %s times less processor time.\n",
		times(median(results, comparison.ratio)), times(median(results, comparison.cpuRatio)))
	for _, bound := range []float64{4, 10} {
		below := 0
		for _, c := range results {
			if c.ratio() < bound {
				below++
			}
		}
		fmt.Fprintf(&text, "Less than %.0f times faster: %d.\n", bound, below)
	}
	text.WriteString("\nA key of RSA or a bcrypt hash takes either program as long; charts that make some come last. The least:\n\n")
	table := newTable("chart", "Helm ms", "ours ms", "times faster", "times less CPU")
	for _, c := range results[:min(listed, len(results))] {
		table.row(c.name, milliseconds(c.helm.wall), milliseconds(c.own.wall), times(c.ratio()), times(c.cpuRatio()))
	}
	text.WriteString(table.String())
	return text.String(), nil
}

// Throughput of threads that share one chart.
func threadsTable(s settings, cases []testCase) (string, error) {
	picked := pick(onePerChart(cases))
	if len(picked) == 0 {
		return "", nil
	}
	own, err := startRenderer(s.ownRender, s.corpus, picked[0].line)
	if err != nil {
		return "", err
	}
	defer own.stop()
	count, err := own.countFor("render", 4*s.turn)
	if err != nil {
		return "", err
	}
	table := newTable("threads", "renderings per second", "times one thread")
	var single float64
	for _, threads := range []int{1, 2, 4, 8} {
		var rates []float64
		for range turns {
			used, err := own.render("threads", count, threads)
			if err != nil {
				return "", err
			}
			rates = append(rates, float64(threads)/used.wall.Seconds())
		}
		rate := median(rates, func(rate float64) float64 { return rate })
		if threads == 1 {
			single = rate
		}
		table.row(fmt.Sprint(threads), fmt.Sprintf("%.0f", rate), times(rate/single))
	}
	return fmt.Sprintf("## Threads that share one parsed chart (%s)\n\n%s", picked[0].name(), table), nil
}
