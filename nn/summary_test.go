package nn_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/h5dnn/h5dnn/nn"
)

// TestMultiplyAdds compares the multiply-adds of presets with the numbers of torchvision's
// documentation of their weights, and of layers with the formulas of their products.
func TestMultiplyAdds(t *testing.T) {
	summary := func(m nn.Module, err error, sample ...int) *nn.Summary {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		s, err := nn.Summarize(m, sample)
		if err != nil {
			t.Fatal(err)
		}
		sum := 0
		for _, r := range s.Rows {
			sum += r.MultiplyAdds
		}
		if sum != s.MultiplyAdds {
			t.Errorf("the rows add up to %d multiply-adds; want %d", sum, s.MultiplyAdds)
		}
		return s
	}
	for name, want := range map[string]float64{"resnet18": 1.814e9, "mobilenet_v2": 0.301e9} {
		m, err := nn.Preset(name, 1000)
		if got := float64(summary(m, err, 3, 224, 224).MultiplyAdds); math.Abs(got/want-1) > 2e-3 {
			t.Errorf("%s: %g multiply-adds; want %g", name, got, want)
		}
	}
	const steps, in, hidden, layers = 7, 5, 8, 2
	m, err := nn.FromConfig(json.RawMessage(`{"lstm": {"hidden_size": 8, "num_layers": 2}}`))
	if got, want := summary(m, err, steps, in).MultiplyAdds, steps*4*hidden*(in+hidden+hidden+hidden); got != want {
		t.Errorf("LSTM: %d multiply-adds; want %d", got, want)
	}
	const width, wide = 16, 32 // in each layer four projections, two products of attention, two dense layers
	m, err = nn.FromConfig(json.RawMessage(`{"transformer_encoder": {"num_layers": 2, "d_model": 16, "nhead": 4, "dim_feedforward": 32}}`))
	s := summary(m, err, steps, width)
	if got, want := s.MultiplyAdds, layers*(steps*4*width*width+2*steps*steps*width+2*steps*width*wide); got != want {
		t.Errorf("transformer encoder: %d multiply-adds; want %d\n%v", got, want, s)
	}
}
