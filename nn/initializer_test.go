package nn_test

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/tensor"
)

// weightOf returns the weight (out, in) of a linear layer with that initializer, and its bias.
func weightOf(t *testing.T, initializer string, in, out int) (weight, bias []float64) {
	t.Helper()
	text := `{"linear": {"in_features": ` + literal(in) + `, "out_features": ` + literal(out) + `, "dtype": "float64", "initializer": ` + initializer + `}}`
	m, err := nn.FromConfig(json.RawMessage(text))
	if err != nil {
		t.Fatalf("%s: %v", initializer, err)
	}
	nn.Init(m, 3)
	l := m.(*nn.Linear)
	return tensor.Values[float64](l.Weight.Tensor), tensor.Values[float64](l.Bias.Tensor)
}

func literal(v any) string {
	text, _ := json.Marshal(v)
	return string(text)
}

// TestInitializersHaveTheirMoments compares mean and standard deviation of 120,000 weights (300 inputs, 400 outputs) with
// the formulas of PyTorch's and Keras's documentation, at 4 standard errors, and the largest value with its bound.
func TestInitializersHaveTheirMoments(t *testing.T) {
	const in, out, truncated = 300.0, 400.0, 0.87962566103423978
	uniform := func(std float64) float64 { return std * math.Sqrt(3) }
	he, lecun, glorot := math.Sqrt(2/in), math.Sqrt(1/in), math.Sqrt(2/(in+out))
	for _, c := range []struct {
		initializer    string
		mean, std, max float64 // no max where it is 0
	}{
		{`"kaiming"`, 0, math.Sqrt(1 / in / 3), math.Sqrt(1 / in)},
		{`"kaiming_uniform"`, 0, he, uniform(he)},
		{`{"kaiming_normal": {"a": 1, "mode": "fan_out"}}`, 0, math.Sqrt(1 / out), 0},
		{`{"kaiming_normal": {"nonlinearity": "tanh"}}`, 0, 5. / 3 * lecun, 0},
		{`"he_uniform"`, 0, he, uniform(he)},
		{`"HeNormal"`, 0, he, 2 * he / truncated},
		{`"xavier"`, 0, glorot, uniform(glorot)},
		{`{"xavier_normal": 2}`, 0, 2 * glorot, 0},
		{`"GlorotUniform"`, 0, glorot, uniform(glorot)},
		{`"glorot_normal"`, 0, glorot, 2 * glorot / truncated},
		{`"lecun_uniform"`, 0, lecun, uniform(lecun)},
		{`"lecun_normal"`, 0, lecun, 2 * lecun / truncated},
		{`{"variance_scaling": {"scale": 3, "mode": "fan_out", "distribution": "untruncated_normal"}}`, 0, math.Sqrt(3 / out), 0},
		{`"normal"`, 0, 1, 0},
		{`{"normal": {"mean": 2, "std": 0.5}}`, 2, 0.5, 0},
		{`"random_normal"`, 0, 0.05, 0},
		{`"truncated_normal"`, 0, 0.05 * truncated, 0.1},
		{`"trunc_normal"`, 0, truncated, 2},
		{`"uniform"`, 0.5, math.Sqrt(1. / 12), 1},
		{`"random_uniform"`, 0, uniform(0.05) / 3, 0.05},
		{`{"constant": 0.3}`, 0.3, 0, 0.3},
		{`"zeros"`, 0, 0, 0},
		{`"ones"`, 1, 0, 1},
	} {
		w, bias := weightOf(t, c.initializer, int(in), int(out))
		n, sum, squares := float64(len(w)), 0.0, 0.0
		for _, x := range w {
			sum += x
		}
		for _, x := range w {
			squares += (x - sum/n) * (x - sum/n)
		}
		mean, std, largest := sum/n, math.Sqrt(squares/n), slices.Max(w)
		if math.Abs(mean-c.mean) > 4*c.std/math.Sqrt(n)+1e-12 || math.Abs(std-c.std) > 4*c.std/math.Sqrt(2*n)+1e-12 {
			t.Errorf("%s: mean %v, standard deviation %v; want %v, %v", c.initializer, mean, std, c.mean, c.std)
		}
		if c.max > 0 && (largest > c.max || largest < 0.99*c.max) {
			t.Errorf("%s: the largest weight is %v; want at most %v, and close to it", c.initializer, largest, c.max)
		}
		if drawn := slices.ContainsFunc(bias, func(x float64) bool { return x != 0 }); drawn != (c.initializer == `"kaiming"`) {
			t.Errorf("%s: a bias of %v", c.initializer, bias[:3])
		}
	}
}

// TestOrthogonalWeightsAre holds rows, or columns where there are fewer, to be orthogonal with length gain, also of windows.
func TestOrthogonalWeightsAre(t *testing.T) {
	for _, c := range []struct{ in, out int }{{5, 5}, {7, 3}, {3, 7}} {
		flat, _ := weightOf(t, `{"orthogonal": {"gain": 1.5}}`, c.in, c.out)
		w := tensor.FromSlice(flat, c.out, c.in)
		if c.out > c.in {
			w = w.T()
		}
		if d := w.MatMul(w.T()).Sub(tensor.Eye(dtype.Float64, w.Shape()[0]).MulScalar(2.25)).Abs().Max().Item(); d > 1e-14 {
			t.Errorf("%d inputs, %d outputs: w·wᵀ differs from 2.25 times the identity by %v", c.in, c.out, d)
		}
	}
	conv := nn.NewConv2d(nn.ConvOptions{InChannels: 2, OutChannels: 4, KernelSize: nn.Sizes{3, 3}, Initializer: "orthogonal", DType: dtype.Float64})
	w := conv.Weight.Reshape(4, 18)
	if d := w.MatMul(w.T()).Sub(tensor.Eye(dtype.Float64, 4)).Abs().Max().Item(); d > 1e-14 {
		t.Errorf("a convolution: w·wᵀ differs from the identity by %v", d)
	}
}

// TestIdentityPassesItsInput holds a convolution with the initializer identity to give its input's first channels.
func TestIdentityPassesItsInput(t *testing.T) {
	m, err := nn.FromConfig(json.RawMessage(`{"conv2d": {"out_channels": 3, "in_channels": 2, "kernel_size": [3, 5], "padding": "same", "initializer": "dirac"}}`))
	if err != nil {
		t.Fatal(err)
	}
	x := tensor.Rand(dtype.Float32, 1, 2, 4, 4)
	y := m.Forward(x)
	if d := y.Narrow(1, 0, 2).Sub(x).Abs().Max().Item() + y.Narrow(1, 2, 1).Abs().Max().Item(); d != 0 {
		t.Errorf("outputs differ from inputs, and a third channel from 0, by %v", d)
	}
}
