package keras

import (
	"errors"
	"slices"
	"testing"
)

// TestInferNames infers the names of variables from those of groups. Variables that do not fit the class
// that a group is named after, or fit it in two ways, are errors.
func TestInferNames(t *testing.T) {
	for _, c := range []struct {
		group string
		paths []string
		want  []string // nil for an error
	}{
		{"dense", []string{"vars/0", "vars/1"}, []string{"kernel", "bias"}},
		{"dense_7", []string{"vars/0"}, []string{"kernel"}},
		{"dense", []string{"vars/0", "vars/1", "vars/2"}, nil},
		{"batch_normalization", []string{"vars/0", "vars/1", "vars/2", "vars/3"}, []string{"gamma", "beta", "moving_mean", "moving_variance"}},
		{"batch_normalization", []string{"vars/0", "vars/1", "vars/2"}, nil},                      // without gamma, or without beta
		{"rnn", []string{"cells/a/vars/0", "cells/b/vars/0"}, []string{"cells/a/0", "cells/b/0"}}, // around other cells
		{"my_layer", []string{"vars/0", "vars/1", "vars/2"}, []string{"0", "1", "2"}},
	} {
		shapes := make([][]int, len(c.paths))
		for i := range shapes {
			shapes[i] = []int{4}
		}
		shapes[0] = []int{4, 4}
		if c.group == "batch_normalization" {
			shapes[0] = []int{4}
		}
		got, err := InferNames(c.group, c.paths, shapes)
		if !slices.Equal(got, c.want) || (c.want == nil) != errors.Is(err, ErrConfig) {
			t.Errorf("%s %q: %q, %v; want %q", c.group, c.paths, got, err, c.want)
		}
	}
}
