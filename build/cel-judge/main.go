// cel-judge says what cel-go makes of expressions, with the options that Flux evaluates health checks with. Tests ask it.
//
// The questions are JSON on standard input, one after the other: an expression, and the variables. The answer is a line of JSON
// for each on standard output: a value, or an error and in which step. Status 1 says that the question was wrong.
package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/ext"
)

type question struct {
	Expression string          `json:"expression"`
	Variables  json.RawMessage `json:"variables"`
}

type answer struct {
	Value any    `json:"value"`
	Error string `json:"error,omitempty"`
	// parse or evaluate, where there is an error
	Step string `json:"step,omitempty"`
}

func main() {
	if err := judge(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func judge(in io.Reader, out io.Writer) error {
	env, err := cel.NewEnv(
		cel.HomogeneousAggregateLiterals(),
		cel.EagerlyValidateDeclarations(true),
		cel.DefaultUTCTimeZone(true),
		cel.CrossTypeNumericComparisons(true),
		cel.OptionalTypes(),
		ext.Strings(),
		ext.Sets(),
		ext.Encoders(),
	)
	if err != nil {
		return err
	}
	questions, answers := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var asked question
		if err := questions.Decode(&asked); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		variables, err := read(asked.Variables)
		if err != nil {
			return err
		}
		if err := answers.Encode(answered(env, asked.Expression, variables)); err != nil {
			return err
		}
	}
}

// read gives integers where Kubernetes does.
func read(text json.RawMessage) (map[string]any, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var variables map[string]any
	if err := decoder.Decode(&variables); err != nil {
		return nil, err
	}
	for name, value := range variables {
		variables[name] = numbered(value)
	}
	return variables, nil
}

func numbered(value any) any {
	switch value := value.(type) {
	case json.Number:
		if number, err := strconv.ParseInt(value.String(), 10, 64); err == nil {
			return number
		}
		number, _ := value.Float64()
		return number
	case []any:
		for index, item := range value {
			value[index] = numbered(item)
		}
	case map[string]any:
		for name, item := range value {
			value[name] = numbered(item)
		}
	}
	return value
}

func answered(env *cel.Env, expression string, variables map[string]any) answer {
	// Flux does not check the types of health checks either: an object may have any fields.
	tree, issues := env.Parse(expression)
	if issues != nil && issues.Err() != nil {
		return answer{Error: issues.Err().Error(), Step: "parse"}
	}
	program, err := env.Program(tree, cel.EvalOptions(cel.OptOptimize))
	if err != nil {
		return answer{Error: err.Error(), Step: "parse"}
	}
	value, _, err := program.Eval(variables)
	if err != nil {
		return answer{Error: err.Error(), Step: "evaluate"}
	}
	return answer{Value: shown(value)}
}

// shown is the value as JSON, numbers as numbers.
func shown(value ref.Val) any {
	switch value := value.(type) {
	case types.Null:
		return nil
	case types.Bool:
		return bool(value)
	case types.Int:
		return int64(value)
	case types.Uint:
		return uint64(value)
	case types.Double:
		return float64(value)
	case types.String:
		return string(value)
	case types.Bytes:
		return base64.StdEncoding.EncodeToString(value)
	case types.Timestamp:
		return value.Time.UTC().Format(time.RFC3339Nano)
	case types.Duration:
		return value.ConvertToType(types.StringType).Value()
	case *types.Type:
		return value.TypeName()
	case *types.Optional:
		if !value.HasValue() {
			return nil
		}
		return shown(value.GetValue())
	case traits.Mapper:
		fields := map[string]any{}
		for keys := value.Iterator(); keys.HasNext() == types.True; {
			key := keys.Next()
			fields[fmt.Sprint(key.Value())] = shown(value.Get(key))
		}
		return fields
	case traits.Lister:
		items := []any{}
		for all := value.Iterator(); all.HasNext() == types.True; {
			items = append(items, shown(all.Next()))
		}
		return items
	}
	return fmt.Sprintf("a value of type %s", value.Type().TypeName())
}
