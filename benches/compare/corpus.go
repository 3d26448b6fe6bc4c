package main

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
)

// One line of the corpus' index.
type testCase struct {
	ID          string   `json:"id"`
	Chart       string   `json:"chart"`
	Release     string   `json:"release"`
	Namespace   string   `json:"namespace"`
	Values      []string `json:"values"`
	Set         []string `json:"set"`
	KubeVersion string   `json:"kube_version"`
	APIVersions []string `json:"api_versions"`
	IsUpgrade   bool     `json:"is_upgrade"`
	IncludeCRDs bool     `json:"include_crds"`
	ExtraArgs   []string `json:"extra_args"`
	Expect      string   `json:"expect"`

	// The line itself.
	line string
}

func readCases(corpus, filter string) ([]testCase, error) {
	index, err := os.Open(filepath.Join(corpus, "index.jsonl"))
	if err != nil {
		return nil, err
	}
	defer index.Close()
	var cases []testCase
	lines := bufio.NewScanner(index)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var found testCase
		if err := json.Unmarshal(lines.Bytes(), &found); err != nil {
			return nil, err
		}
		if strings.Contains(found.ID, filter) {
			found.line = lines.Text()
			cases = append(cases, found)
		}
	}
	return cases, lines.Err()
}

// The first case of each chart that Helm renders.
func onePerChart(cases []testCase) []testCase {
	var first []testCase
	seen := map[string]bool{}
	for _, found := range cases {
		if found.Expect == "ok" && !seen[found.Chart] {
			seen[found.Chart] = true
			first = append(first, found)
		}
	}
	return first
}

// The name of the chart without the folder of charts.
func (c testCase) name() string {
	return strings.TrimPrefix(c.Chart, "charts/")
}

// The arguments of `helm template`, and of `steersman template`.
func (c testCase) arguments() []string {
	arguments := []string{"template", c.Release, c.Chart, "--namespace", c.Namespace}
	for _, file := range c.Values {
		arguments = append(arguments, "--values", file)
	}
	for _, text := range c.Set {
		arguments = append(arguments, "--set", text)
	}
	if c.KubeVersion != "" {
		arguments = append(arguments, "--kube-version", c.KubeVersion)
	}
	for _, version := range c.APIVersions {
		arguments = append(arguments, "--api-versions", version)
	}
	if c.IsUpgrade {
		arguments = append(arguments, "--is-upgrade")
	}
	if c.IncludeCRDs {
		arguments = append(arguments, "--include-crds")
	}
	return append(arguments, c.ExtraArgs...)
}
