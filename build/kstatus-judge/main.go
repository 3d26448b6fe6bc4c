// kstatus-judge says what kstatus makes of objects, by the library that Flux waits with. Tests ask it.
//
// The objects are JSON on standard input, one after the other. The answer is a line of JSON for each on standard output;
// status 1 says that the question was wrong.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

type verdict struct {
	Status  string `json:"status"`
	Message string `json:"message"`
}

func main() {
	if err := judge(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func judge(in io.Reader, out io.Writer) error {
	objects, verdicts := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var text json.RawMessage
		if err := objects.Decode(&text); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		// Numbers are integers to this one, as the library wants them.
		var object unstructured.Unstructured
		if err := object.UnmarshalJSON(text); err != nil {
			return err
		}
		result, err := status.Compute(&object)
		if err != nil {
			return err
		}
		if err := verdicts.Encode(verdict{result.Status.String(), result.Message}); err != nil {
			return err
		}
	}
}
