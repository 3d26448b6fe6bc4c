// Record executes templates with Go's text/template and writes what comes out.
//
//	go run record.go values.json < templates.jsonl > recorded.jsonl
//
// Each line has "template" and perhaps "helpers"; "output" or "error" is added or replaced.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strings"
	"text/template"
)

type testCase struct {
	Template string  `json:"template"`
	Helpers  string  `json:"helpers,omitempty"`
	Output   *string `json:"output,omitempty"`
	Error    *string `json:"error,omitempty"`
}

func include(t *template.Template) func(string, any) (string, error) {
	return func(name string, data any) (string, error) {
		var out strings.Builder
		err := t.ExecuteTemplate(&out, name, data)
		return out.String(), err
	}
}

func expand(t *template.Template) func(string, any) (string, error) {
	return func(text string, data any) (string, error) {
		clone := template.Must(t.Clone()).Option("missingkey=zero")
		clone.Funcs(template.FuncMap{"include": include(clone), "tpl": expand(clone)})
		parsed, err := clone.New("gotpl").Parse(text)
		if err != nil {
			return "", fmt.Errorf("cannot parse template %q: %w", text, err)
		}
		var out strings.Builder
		if err := parsed.Execute(&out, data); err != nil {
			return "", fmt.Errorf("error during tpl function execution for %q: %w", text, err)
		}
		return out.String(), nil
	}
}

func functions(t *template.Template) template.FuncMap {
	return template.FuncMap{
		"include": include(t),
		"tpl":     expand(t),
		"list":    func(items ...any) []any { return items },
		"dict": func(items ...any) map[string]any {
			dict := map[string]any{}
			for i := 0; i+1 < len(items); i += 2 {
				dict[fmt.Sprint(items[i])] = items[i+1]
			}
			return dict
		},
		"upper": strings.ToUpper,
		"default": func(fallback any, given ...any) any {
			if len(given) > 0 {
				if truth, _ := template.IsTrue(given[0]); truth {
					return given[0]
				}
			}
			return fallback
		},
		"fail":  func(message string) (string, error) { return "", fmt.Errorf("%s", message) },
		"int64": func(number float64) int64 { return int64(number) },
		"int":   func(number float64) int { return int(number) },
		"until": func(count int) []int {
			list := []int{}
			for i := range max(count, 0) {
				list = append(list, i)
			}
			return list
		},
	}
}

func run(c testCase, values map[string]any) (string, error) {
	t := template.New("gotpl").Option("missingkey=zero")
	t.Funcs(functions(t))
	if c.Helpers != "" {
		if _, err := t.New("helpers").Parse(c.Helpers); err != nil {
			return "", err
		}
	}
	if _, err := t.New("main").Parse(c.Template); err != nil {
		return "", err
	}
	var out strings.Builder
	err := t.ExecuteTemplate(&out, "main", map[string]any{"Values": values})
	return out.String(), err
}

func main() {
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	var values map[string]any
	if err := json.Unmarshal(text, &values); err != nil {
		log.Fatal(err)
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetEscapeHTML(false)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var c testCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			log.Fatal(err)
		}
		c.Output, c.Error = nil, nil
		if output, err := run(c, values); err != nil {
			message := err.Error()
			c.Error = &message
		} else {
			c.Output = &output
		}
		if err := encoder.Encode(c); err != nil {
			log.Fatal(err)
		}
	}
}
