package nn

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"

	"github.com/h5dnn/h5dnn/tensor"
)

// TestZeroLiteralsOfLayers: the Forward of every layer's zero literal equals the Forward of the layer
// that a configuration makes of the name alone, or an error.
func TestZeroLiteralsOfLayers(t *testing.T) {
	x := tensor.FromSlice([]float64{-3, -1, -0.25, 0, 0.25, 1, 2, 3}, 1, 2, 4)
	forward := func(m Module) (y []float64, err error) {
		SetTraining(m, false) // dropout is random in training
		err = tensor.Try(func() { y = tensor.Values[float64](m.Forward(x)) })
		return y, err
	}
	compared := 0
	for name, maker := range layers.makers {
		var literal Module
		if made := maker.goType; made.Kind() == reflect.Pointer {
			literal = reflect.New(made.Elem()).Interface().(Module)
		} else {
			literal = reflect.Zero(made).Interface().(Module)
		}
		got, err := forward(literal)
		if err != nil {
			continue
		}
		m, err := maker.build(json.RawMessage("null"), nil)
		if err != nil {
			continue // settings that must be given
		}
		want, err := forward(m)
		if err != nil || len(got) != len(want) {
			t.Errorf("%s: %v from a literal, %v, %v from its name", name, got, want, err)
			continue
		}
		for i := range want {
			if math.Float64bits(got[i]) != math.Float64bits(want[i]) {
				t.Errorf("%s of %v: %v from a literal, %v from its name", name, x, got[i], want[i])
				break
			}
		}
		compared++
	}
	if compared < 15 {
		t.Errorf("%d layers compared", compared)
	}
}
