// Functions prints the functions of Go's and Helm's templates with their types. Run it by record.sh.
package main

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"text/template"

	"helm.sh/helm/v4/pkg/engine"
)

func main() {
	fmt.Println("# builtins")
	record(template.Builtins())
	fmt.Println("# helm")
	record(engine.Functions())
}

func record(functions map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(functions)) {
		fmt.Println(name, reflect.TypeOf(functions[name]))
	}
}
