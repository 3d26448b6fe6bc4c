package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

var sizes = []int{10, 100, 1000}

// One thing that grows: what a chart of this size consists of.
type growth struct {
	name  string
	files func(size int) map[string]string
}

var growths = []growth{
	{"documents from a list in the values", func(size int) map[string]string {
		var values strings.Builder
		values.WriteString("items:\n")
		for i := range size {
			fmt.Fprintf(&values, "  - {name: item-%d, labels: {tier: t%d, app: web}, port: %d}\n", i, i%7, 8000+i%1000)
		}
		return map[string]string{
			"values.yaml":        values.String(),
			"templates/all.yaml": "{{- range .Values.items }}\n" + service(".name", "$") + "{{- end }}\n",
		}
	}},
	{"templates of one document", func(size int) map[string]string {
		files := map[string]string{"values.yaml": "labels: {tier: back, app: web}\nport: 8080\n"}
		for i := range size {
			text := "{{- with .Values }}\n" + service(fmt.Sprintf(`"item-%d"`, i), "$") + "{{- end }}\n"
			files[fmt.Sprintf("templates/item-%d.yaml", i)] = text
		}
		return files
	}},
	{"values that no template reads", func(size int) map[string]string {
		var values strings.Builder
		values.WriteString("labels: {tier: back, app: web}\nport: 8080\nunused:\n")
		for i := range size {
			fmt.Fprintf(&values, "  key-%d: {a: text, b: [1, 2, 3], c: {d: true}}\n", i)
		}
		text := "{{- with .Values }}\n" + service(`"item"`, "$") + "{{- end }}\n"
		return map[string]string{"values.yaml": values.String(), "templates/one.yaml": text}
	}},
	{"documents by toYaml and include", func(size int) map[string]string {
		var values strings.Builder
		values.WriteString("tree:\n")
		for i := range size {
			fmt.Fprintf(&values, "  key-%d: {text: some longer text, list: [a, b, c], map: {x: y}}\n", i)
		}
		return map[string]string{
			"values.yaml":            values.String(),
			"templates/_helpers.tpl": `{{- define "tree" }}{{ toYaml . }}{{ end }}`,
			"templates/one.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: tree\ndata:\n  tree: |-\n" +
				`    {{- include "tree" .Values.tree | nindent 4 }}` + "\n",
		}
	}},
}

// A service in a template, of an item with a port and labels.
func service(name, root string) string {
	return fmt.Sprintf(`---
apiVersion: v1
kind: Service
metadata:
  name: {{ printf "%%s-%%s" %[2]s.Release.Name %[1]s | trunc 63 | trimSuffix "-" }}
  labels:
    {{- toYaml .labels | nindent 4 }}
    {{- if eq (int .port) 8080 }}
    default: "true"
    {{- end }}
spec:
  type: {{ .type | default "ClusterIP" | quote }}
  ports:
    - port: {{ .port }}
`, name, root)
}

func growthTable(s settings) (string, error) {
	folder, err := os.MkdirTemp("", "bench")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(folder)
	table := newTable("what grows", "size", "Helm ms", "ours ms", "times faster", "ours, µs for each",
		"with manifests: ours ms", "µs for each")
	for _, grown := range growths {
		for _, size := range sizes {
			line, err := writeChart(folder, grown.files(size))
			if err != nil {
				return "", err
			}
			helm, own, release, err := grow(s, folder, line)
			if err != nil {
				return "", fmt.Errorf("%s, %d: %w", grown.name, size, err)
			}
			table.row(grown.name, fmt.Sprint(size), milliseconds(helm.wall), milliseconds(own.wall),
				times(quotient(helm.wall, own.wall)), each(own.wall, size), milliseconds(release.wall),
				each(release.wall, size))
		}
	}
	return "## Growth\n\nCharts made for this. With manifests: the texts are also taken apart, read and sorted.\n\n" +
		table.String(), nil
}

func grow(s settings, folder, line string) (helm, own, release cost, err error) {
	both, err := startPair(s, folder, line)
	if err != nil {
		return
	}
	defer both.stop()
	if helm, own, err = both.compare("render", turns, s.turn/2); err != nil {
		return
	}
	count, err := both.own.countFor("release", s.turn/2)
	if err != nil {
		return
	}
	var releases []cost
	for range turns {
		if release, err = both.own.render("release", count); err != nil {
			return
		}
		releases = append(releases, release)
	}
	return helm, own, medianCost(releases), nil
}

// Writes a chart below a folder, and gives the case that names it.
func writeChart(folder string, files map[string]string) (string, error) {
	chart := filepath.Join(folder, "chart")
	if err := os.RemoveAll(chart); err != nil {
		return "", err
	}
	files["Chart.yaml"] = "apiVersion: v2\nname: growth\nversion: 1.0.0\n"
	for name, text := range files {
		path := filepath.Join(chart, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return "", err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return "", err
		}
	}
	none := []string{}
	line, err := json.Marshal(map[string]any{
		"id": "growth", "chart": "chart", "release": "demo", "namespace": "default", "values": none, "set": none,
		"kube_version": "", "api_versions": none, "is_upgrade": false, "include_crds": false, "extra_args": none,
		"expect": "ok", "golden": "", "volatile": none,
	})
	return string(line), err
}

func each(total time.Duration, size int) string {
	return fmt.Sprintf("%.1f", float64(total.Nanoseconds())/1e3/float64(size))
}
