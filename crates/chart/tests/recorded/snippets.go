// Snippets renders templates with Helm's engine: JSON lines in, the same with their output or error out. Run it by
// record.sh.
package main

import (
	"bufio"
	"encoding/json"
	"os"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/engine"
)

type snippet struct {
	Template string            `json:"template"`
	Values   json.RawMessage   `json:"values,omitempty"`
	Files    map[string]string `json:"files,omitempty"`
	Output   *string           `json:"output,omitempty"`
	Error    string            `json:"error,omitempty"`
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetEscapeHTML(false)
	for lines.Scan() {
		var snippet snippet
		if err := json.Unmarshal(lines.Bytes(), &snippet); err != nil {
			panic(err)
		}
		snippet.Output, snippet.Error = nil, ""
		if output, err := render(snippet); err != nil {
			snippet.Error = err.Error()
		} else {
			snippet.Output = &output
		}
		if err := encoder.Encode(snippet); err != nil {
			panic(err)
		}
	}
}

func render(snippet snippet) (string, error) {
	values, err := common.ReadValues(snippet.Values)
	if err != nil {
		return "", err
	}
	c := &chart.Chart{
		Metadata: &chart.Metadata{
			APIVersion: "v2", Name: "snippet", Version: "1.2.3", AppVersion: "4.5.6", Description: "One template",
			Type: "application", Keywords: []string{"a", "b"}, Home: "https://example.com",
		},
		Templates: []*common.File{{Name: "templates/t.yaml", Data: []byte(snippet.Template)}},
	}
	for name, text := range snippet.Files {
		c.Files = append(c.Files, &common.File{Name: name, Data: []byte(text)})
	}
	capabilities := *common.DefaultCapabilities
	kubernetes, err := common.ParseKubeVersion("v1.36.0")
	if err != nil {
		return "", err
	}
	capabilities.KubeVersion = *kubernetes
	capabilities.HelmVersion.Version = "v4.3.1"
	release := common.ReleaseOptions{Name: "rel", Namespace: "ns", Revision: 1, IsInstall: true}
	data, err := util.ToRenderValues(c, values, release, &capabilities)
	if err != nil {
		return "", err
	}
	files, err := engine.Render(c, data)
	return files["snippet/templates/t.yaml"], err
}
