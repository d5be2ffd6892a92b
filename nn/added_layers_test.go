package nn_test

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// TestShapingLayersMoveElements holds layers that move, repeat, add or leave out elements,
// and activations with limits, on (1, 1, 2, 3).
func TestShapingLayersMoveElements(t *testing.T) {
	x := []float64{-3, -0.5, 0, 1, 4, 9}
	cases := []struct {
		description string
		shape       []int
		want        []float64
	}{
		{`{"permute": {"axes": [3, 1, 2]}}`, []int{1, 3, 1, 2}, []float64{-3, 1, -0.5, 4, 0, 9}},
		{`{"reshape": {"shape": [3, -1]}}`, []int{1, 3, 2}, x},
		{`[{"permute": {"axes": [3, 1, 2]}}, {"reshape": {"shape": [6]}}]`, []int{1, 6}, []float64{-3, 1, -0.5, 4, 0, 9}},
		{`[{"permute": {"axes": [3, 1, 2]}}, "flatten"]`, []int{1, 6}, []float64{-3, 1, -0.5, 4, 0, 9}},
		{`{"zeropad": {"before": [1, 0], "after": [0, 1]}}`, []int{1, 1, 3, 4}, []float64{0, 0, 0, 0, -3, -0.5, 0, 0, 1, 4, 9, 0}},
		{`{"crop": {"before": [1, 0], "after": [0, 1]}}`, []int{1, 1, 1, 2}, []float64{1, 4}},
		{`{"upsample": {"scale": [1, 2]}}`, []int{1, 1, 2, 6}, []float64{-3, -3, -0.5, -0.5, 0, 0, 1, 1, 4, 4, 9, 9}},
		{`{"rescale": {"scale": 2, "offset": 1}}`, []int{1, 1, 2, 3}, []float64{-5, 0, 1, 3, 9, 19}},
		{`{"hardtanh": {"min": 0, "max": 6}}`, []int{1, 1, 2, 3}, []float64{0, 0, 0, 1, 4, 6}},
		{`{"elu": {"alpha": 2}}`, []int{1, 1, 2, 3}, []float64{2 * math.Expm1(-3), 2 * math.Expm1(-0.5), 0, 1, 4, 9}},
		{`"softsign"`, []int{1, 1, 2, 3}, []float64{-0.75, -1.0 / 3, 0, 0.5, 0.8, 0.9}},
		{`"softplus"`, []int{1, 1, 2, 3}, []float64{math.Log1p(math.Exp(-3)), math.Log1p(math.Exp(-0.5)), math.Ln2, 1 + math.Log1p(math.Exp(-1)), 4 + math.Log1p(math.Exp(-4)), 9 + math.Log1p(math.Exp(-9))}},
		{`"exponential"`, []int{1, 1, 2, 3}, []float64{math.Exp(-3), math.Exp(-0.5), 1, math.E, math.Exp(4), math.Exp(9)}},
		{`"selu"`, []int{1, 1, 2, 3}, []float64{1.0507009873554805 * 1.6732632423543772 * math.Expm1(-3), 1.0507009873554805 * 1.6732632423543772 * math.Expm1(-0.5), 0, 1.0507009873554805, 4 * 1.0507009873554805, 9 * 1.0507009873554805}},
	}
	for _, c := range cases {
		m, err := nn.FromConfig(json.RawMessage(c.description))
		if err != nil {
			t.Errorf("%s: %v", c.description, err)
			continue
		}
		y := m.Forward(tensor.FromSlice(x, 1, 1, 2, 3))
		if !slices.Equal(y.Shape(), c.shape) || !slices.EqualFunc(tensor.Values[float64](y), c.want, almost) {
			t.Errorf("%s: %v%v; want %v%v", c.description, y.Shape(), tensor.Values[float64](y), c.shape, c.want)
		}
		checkGradient(t, c.description, m, x)
	}
}

func almost(a, b float64) bool { return math.Abs(a-b) <= 1e-12*max(1, math.Abs(b)) }

// checkGradient compares the gradient of Σ m(x)² with finite differences, away from edges.
func checkGradient(t *testing.T, name string, m nn.Module, x []float64) {
	t.Helper()
	loss := func(x []float64) float64 {
		y := m.Forward(tensor.FromSlice(x, 1, 1, 2, 3))
		return y.Mul(y).Sum().Item()
	}
	leaf := tensor.Leaf(storage.From(slices.Clone(x), 1, 1, 2, 3))
	leaf.RequireGrad()
	y := m.Forward(leaf)
	grads := tensor.Gradients(y.Mul(y).Sum())
	got := tensor.Values[float64](grads[leaf])
	for i := range x {
		if x[i] == 0 { // an edge of relu, elu and hardtanh
			continue
		}
		const h = 1e-5
		low, high := slices.Clone(x), slices.Clone(x)
		low[i], high[i] = x[i]-h, x[i]+h
		if want := (loss(high) - loss(low)) / (2 * h); math.Abs(got[i]-want) > 1e-5*max(1, math.Abs(want))+1e-11*loss(x) {
			t.Errorf("%s: derivative %v by element %d; finite differences %v", name, got[i], i, want)
		}
	}
}

// TestCombiningLayers holds the layers of several inputs.
func TestCombiningLayers(t *testing.T) {
	a, b := tensor.FromSlice([]float64{1, 5, -2}, 1, 3), tensor.FromSlice([]float64{4, 3, -2}, 1, 3)
	for name, want := range map[string][]float64{
		"subtract": {-3, 2, 0}, "average": {2.5, 4, -2}, "maximum": {4, 5, -2}, "minimum": {1, 3, -2},
	} {
		m, err := nn.FromConfig(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := tensor.Values[float64](nn.Call("", m, a, b)[0]); !slices.Equal(got, want) {
			t.Errorf("%s: %v; want %v", name, got, want)
		}
	}
}
