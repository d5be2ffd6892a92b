package nn_test

import (
	"math"
	"testing"

	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/tensor"
)

// TestGaussianSample compares the divergence with its formula, its gradients with x/N and (v − 1)/2N, and the moments of the numbers drawn with those asked for.
func TestGaussianSample(t *testing.T) {
	const n, c, weight, mean, logVariance = 2000, 2, 0.5, 0.75, -1.5
	variance := math.Exp(logVariance)
	layer := nn.NewGaussianSample(nn.GaussianSampleOptions{KLWeight: weight})
	near := func(what string, got, want, most float64) {
		t.Helper()
		if math.Abs(got-want) > most {
			t.Errorf("%s: %v; want %v", what, got, want)
		}
	}
	for _, training := range []bool{true, false} {
		nn.SetTraining(layer, training)
		step := tensor.Step
		if !training {
			step = tensor.Infer
		}
		if err := step(func(tape *tensor.Tape) error {
			tape.Seed(3, 1)
			x := tape.Input(tensor.Cat(1, tensor.Full(tensor.Float64, mean, n, c), tensor.Full(tensor.Float64, logVariance, n, c)).Array()).RequireGrad()
			var y *tensor.Tensor
			losses := nn.CollectLosses(x, func() { y = nn.Sequential{layer, nn.Identity{}}.Forward(x) })
			if len(losses) != 1 || !losses[0].IsMean() {
				t.Fatalf("%d losses", len(losses))
			}
			near("loss", losses[0].Value().Item(), weight*c*(mean*mean+variance-1-logVariance)/2, 1e-12)
			drawn := tensor.Values[float64](y)
			sum, squares := 0.0, 0.0
			for _, v := range drawn {
				sum += v / n / c
				squares += (v - mean) * (v - mean) / n / c
			}
			if !training {
				variance = 0
			}
			near("mean", sum, mean, 1e-9+4*math.Sqrt(variance/n/c)) // of four standard errors
			near("variance", squares, variance, 1e-9+4*variance*math.Sqrt(2.0/n/c))
			if training {
				g := tensor.Values[float64](tensor.Gradients(losses[0].Value())[x])
				near("gradient of a mean", g[0], weight*mean/n, 1e-12)
				near("gradient of a logarithm", g[c], weight*(variance-1)/2/n, 1e-12)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if losses := nn.CollectLosses(tensor.Zeros(tensor.Float32, 1, 4), func() {}); losses != nil {
		t.Errorf("%d losses of no layer", len(losses))
	}
}
