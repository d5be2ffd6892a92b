package torch

import (
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/pickle"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
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
		a, err := storage.Make(storage.CPU, c.typ, 1)
		if err != nil {
			t.Fatal(err)
		}
		var written any = tensorOfKind(serialize.NewPlan([]serialize.Entry{{Name: "w", Array: a}}), 0, c.noted)
		if got := kindOf(written.(*pickle.Object)); got != c.want {
			t.Errorf("%s of %v: %q; want %q", c.noted, c.typ, got, c.want)
		}
	}
}
