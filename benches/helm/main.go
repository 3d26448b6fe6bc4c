// Renders a chart again and again with Helm's engine, and says how long that takes.
//
// Usage: helm CORPUS CASE
//
// CASE is a line of the corpus' index. Then each line on standard input is an order, answered by a line of JSON:
//
//	render N    N renderings by engine.Render. Making the values it gets is not timed.
//	values N    N times values and rendering: coalescing, checking the schema, engine.Render.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/metrics"
	"strings"
	"syscall"
	"time"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/cli"
	"helm.sh/helm/v4/pkg/cli/values"
	"helm.sh/helm/v4/pkg/engine"
	"helm.sh/helm/v4/pkg/getter"
)

// One line of the corpus' index, as far as it matters here.
type testCase struct {
	Chart       string   `json:"chart"`
	Release     string   `json:"release"`
	Namespace   string   `json:"namespace"`
	Values      []string `json:"values"`
	Set         []string `json:"set"`
	KubeVersion string   `json:"kube_version"`
	APIVersions []string `json:"api_versions"`
	IsUpgrade   bool     `json:"is_upgrade"`
}

// What was used. Times are in nanoseconds, for all renderings together.
type cost struct {
	Wall  int64  `json:"wall"`
	CPU   int64  `json:"cpu"`
	Bytes uint64 `json:"bytes"`
}

type subject struct {
	chart        *chart.Chart
	values       map[string]any
	options      common.ReleaseOptions
	capabilities *common.Capabilities
}

func main() {
	// The warnings about values are part of the work, but nobody reads them.
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) != 3 {
		return fmt.Errorf("usage: %s CORPUS CASE", os.Args[0])
	}
	if err := os.Chdir(os.Args[1]); err != nil {
		return err
	}
	var asked testCase
	if err := json.Unmarshal([]byte(os.Args[2]), &asked); err != nil {
		return err
	}
	subject, err := load(asked)
	if err != nil {
		return err
	}
	orders := bufio.NewScanner(os.Stdin)
	for orders.Scan() {
		var order string
		var count int
		if _, err := fmt.Sscan(orders.Text(), &order, &count); err != nil {
			return fmt.Errorf("order %q: %w", orders.Text(), err)
		}
		used, err := subject.obey(order, count)
		if err != nil {
			return err
		}
		if err := json.NewEncoder(os.Stdout).Encode(used); err != nil {
			return err
		}
	}
	return orders.Err()
}

func load(asked testCase) (*subject, error) {
	given := values.Options{ValueFiles: asked.Values, Values: asked.Set}
	merged, err := given.MergeValues(getter.All(cli.New()))
	if err != nil {
		return nil, err
	}
	loaded, err := loader.Load(asked.Chart)
	if err != nil {
		return nil, err
	}
	if err := chartutil.ProcessDependencies(loaded, merged); err != nil {
		return nil, err
	}
	capabilities := common.DefaultCapabilities.Copy()
	if asked.KubeVersion != "" {
		version, err := common.ParseKubeVersion(asked.KubeVersion)
		if err != nil {
			return nil, err
		}
		capabilities.KubeVersion = *version
	}
	capabilities.APIVersions = append(capabilities.APIVersions, asked.APIVersions...)
	return &subject{
		chart:        loaded,
		values:       merged,
		capabilities: capabilities,
		options: common.ReleaseOptions{
			Name:      asked.Release,
			Namespace: asked.Namespace,
			IsInstall: !asked.IsUpgrade,
			IsUpgrade: asked.IsUpgrade,
		},
	}, nil
}

func (s *subject) obey(order string, count int) (cost, error) {
	var total cost
	for revision := 1; revision <= count; revision++ {
		var used cost
		var err error
		switch order {
		case "render":
			used, err = s.render(revision)
		case "values":
			used, err = s.valuesAndRender(revision)
		default:
			err = fmt.Errorf("unknown order %q", order)
		}
		if err != nil {
			return total, err
		}
		total.Wall += used.Wall
		total.CPU += used.CPU
		total.Bytes += used.Bytes
	}
	return total, nil
}

func (s *subject) render(revision int) (cost, error) {
	values, err := s.renderValues(revision, true)
	if err != nil {
		return cost{}, err
	}
	return timed(func() error {
		_, err := engine.Render(s.chart, values)
		return err
	})
}

func (s *subject) valuesAndRender(revision int) (cost, error) {
	return timed(func() error {
		values, err := s.renderValues(revision, false)
		if err != nil {
			return err
		}
		_, err = engine.Render(s.chart, values)
		return err
	})
}

// New values for each rendering: templates change them.
func (s *subject) renderValues(revision int, skipSchema bool) (common.Values, error) {
	options := s.options
	options.Revision = revision
	return util.ToRenderValuesWithSchemaValidation(s.chart, s.values, options, s.capabilities, skipSchema)
}

func timed(work func() error) (cost, error) {
	bytes, cpu, start := allocated(), processorTime(), time.Now()
	err := work()
	used := cost{Wall: time.Since(start).Nanoseconds(), CPU: processorTime() - cpu, Bytes: allocated() - bytes}
	if err != nil {
		err = fmt.Errorf("%s", strings.TrimSpace(err.Error()))
	}
	return used, err
}

// The processor time of all threads, the garbage collector's included, in nanoseconds.
func processorTime() int64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return usage.Utime.Nano() + usage.Stime.Nano()
}

func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
