// bundle-judge says what the libraries of the Operator Framework make of bundles and catalogs. Tests ask it.
//
//	bundle-judge bundle DIR            what `operator-sdk bundle validate` finds, with all its optional validators
//	bundle-judge properties DIR IMAGE  the properties and images that `opm render` takes from a bundle
//	bundle-judge catalog DIR           what `opm validate` finds, and the head of each channel
//
// The answer is JSON on standard output; status 1 says that the question was wrong.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sort"

	"github.com/operator-framework/api/pkg/manifests"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/operator-framework/api/pkg/validation"
	apierrors "github.com/operator-framework/api/pkg/validation/errors"
	validator "github.com/operator-framework/api/pkg/validation/interfaces"
	"github.com/operator-framework/operator-registry/alpha/declcfg"
	"github.com/operator-framework/operator-registry/alpha/property"
	"github.com/operator-framework/operator-registry/pkg/image"
	"github.com/operator-framework/operator-registry/pkg/registry"
	"k8s.io/apimachinery/pkg/runtime"
)

type finding struct {
	Validator string `json:"validator"`
	Level     string `json:"level"`
	Detail    string `json:"detail"`
}

func main() {
	answer, err := ask(os.Args[1:])
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(answer)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func ask(arguments []string) (any, error) {
	switch {
	case len(arguments) == 2 && arguments[0] == "bundle":
		return judgeBundle(arguments[1]), nil
	case len(arguments) == 3 && arguments[0] == "properties":
		return properties(arguments[1], arguments[2])
	case len(arguments) == 2 && arguments[0] == "catalog":
		return judgeCatalog(arguments[1]), nil
	}
	return nil, fmt.Errorf("usage: bundle-judge bundle DIR | properties DIR IMAGE | catalog DIR")
}

func judgeBundle(dir string) []finding {
	findings := []finding{}
	bundle, err := manifests.GetBundleFromDir(dir)
	if err != nil {
		return append(findings, finding{"load", "Error", err.Error()})
	}
	for _, check := range []struct {
		name  string
		judge validator.Validator
	}{
		{"csv", validation.ClusterServiceVersionValidator},
		{"crd", validation.CustomResourceDefinitionValidator},
		{"bundle", validation.BundleValidator},
		{"object", validation.ObjectValidator},
		{"operatorhubv2", validation.OperatorHubV2Validator},
		{"capabilities", validation.StandardCapabilitiesValidator},
		{"categories", validation.StandardCategoriesValidator},
		{"good-practices", validation.GoodPracticesValidator},
		{"alpha-deprecated-apis", validation.AlphaDeprecatedAPIsValidator},
	} {
		objects := bundle.ObjectsToValidate()
		for _, object := range bundle.Objects {
			objects = append(objects, object)
		}
		for _, result := range check.judge.Validate(objects...) {
			findings = add(findings, check.name, "Error", result.Errors)
			findings = add(findings, check.name, "Warning", result.Warnings)
		}
	}
	return findings
}

func add(findings []finding, validator, level string, errors []apierrors.Error) []finding {
	for _, err := range errors {
		findings = append(findings, finding{validator, level, err.Detail})
	}
	return findings
}

func properties(dir, reference string) (any, error) {
	input, err := registry.NewImageInput(image.SimpleReference(reference), dir)
	if err != nil {
		return nil, err
	}
	_, found, err := registry.ObjectsAndPropertiesFromBundle(input.Bundle)
	if err != nil {
		return nil, err
	}
	for _, object := range input.Bundle.Objects {
		if object.GetKind() != v1alpha1.ClusterServiceVersionKind {
			continue
		}
		var csv v1alpha1.ClusterServiceVersion
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &csv); err != nil {
			return nil, err
		}
		found = append(found, property.MustBuildCSVMetadata(csv))
	}
	images, err := input.Bundle.Images()
	if err != nil {
		return nil, err
	}
	names := []string{}
	for name := range images {
		names = append(names, name)
	}
	sort.Strings(names)
	return map[string]any{"properties": found, "images": names}, nil
}

type verdict struct {
	Error string            `json:"error,omitempty"`
	Heads map[string]string `json:"heads"`
}

func judgeCatalog(dir string) verdict {
	heads := map[string]string{}
	config, err := declcfg.LoadFS(context.Background(), os.DirFS(dir))
	if err != nil {
		return verdict{err.Error(), heads}
	}
	packages, err := declcfg.ConvertToModel(*config)
	if err != nil {
		return verdict{err.Error(), heads}
	}
	for _, pkg := range packages {
		for name, channel := range pkg.Channels {
			head, err := channel.Head()
			if err != nil {
				return verdict{err.Error(), heads}
			}
			heads[pkg.Name+"/"+name] = head.Name
		}
	}
	return verdict{"", heads}
}
