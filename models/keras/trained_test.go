package keras

import (
	"slices"
	"testing"
)

// TestWeightsOfLayersAreVariables, as those that are not would count as not trained.
func TestWeightsOfLayersAreVariables(t *testing.T) {
	for class, c := range classes {
		for _, one := range c.samples {
			one.Class, one.Name = class, "l"
			variables, known, err := Variables(&one)
			for _, link := range ownLinks(settingsOf(&one)) {
				for _, weight := range link.From {
					if !slices.ContainsFunc(variables, func(v Variable) bool { return v.Name == weight }) {
						t.Errorf("%s %v: %s is not among the variables %v (known: %v, error %v)", class, one.Config, weight, variables, known, err)
					}
				}
			}
		}
	}
}

// TestUnknownVariablesAreTrained: of a layer that is quantized otherwise than in int8, and not of one with trainable: false.
func TestUnknownVariablesAreTrained(t *testing.T) {
	config := func(trainable bool) map[string]any {
		return map[string]any{"units": 2.0, "trainable": trainable, "dtype": map[string]any{"config": map[string]any{"mode": "float8"}}}
	}
	m := &Model{Layers: []Layer{
		{Class: "Dense", Name: "on", Config: config(true), Weights: []Weight{w("kernel", 3, 2)}}, {Class: "Dense", Name: "off", Config: config(false), Weights: []Weight{w("kernel", 3, 2)}},
	}}
	if got, want := Trained(m), []string{"on/kernel"}; !slices.Equal(got, want) {
		t.Errorf("%q; want %q", got, want)
	}
}
