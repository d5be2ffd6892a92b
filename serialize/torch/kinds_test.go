package torch

import (
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
)

// TestOnlyFloatsHaveGradients: PyTorch refuses a parameter of integers that requires gradients, which
// cast makes of one of floats.
func TestOnlyFloatsHaveGradients(t *testing.T) {
	for _, c := range []struct {
		noted string
		typ   dtype.Type
		want  string
	}{
		{kindParameter, dtype.Float16, kindParameter}, {kindParameter, dtype.Complex64, kindParameter}, {kindParameter, dtype.Int8, kindFrozen},
		{kindGradient, dtype.Float32, kindGradient}, {kindGradient, dtype.Bool, ""}, {kindFrozen, dtype.Uint8, kindFrozen},
	} {
		tree := treeWriter{types: map[string]string{"w": c.noted}}
		if got := tree.kind("w", c.typ); got != c.want {
			t.Errorf("%s of %v: %q; want %q", c.noted, c.typ, got, c.want)
		}
	}
}
