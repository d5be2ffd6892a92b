package train_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/train"
)

// spoiled multiplies the gradients of a parameter at a step.
type spoiled struct {
	step   uint64
	factor float64
}

func (h spoiled) Gradients(s *train.Step) error {
	if s.BatchInfo.Step+1 == h.step {
		s.Gradients[0].Grad = s.Gradients[0].Grad.MulScalar(h.factor)
	}
	return nil
}

// TestGuardNamesStepParameterAndSamples of a gradient that is NaN or an outlier, on a CPU and a GPU, and of a loss that is NaN.
func TestGuardNamesStepParameterAndSamples(t *testing.T) {
	text := strings.Replace(plain, "normalize:", "shuffle: none, normalize:", 1) + "batch: 4\nepochs: 1\ncallbacks: [{guard: {every: 1, factor: 100}}, {gradient_norms: {every: 1}}]\n"
	gpu := cudatest.Devices(t, cudatest.Deferred)[0]
	for _, d := range []storage.Device{storage.CPU, gpu} {
		for _, c := range []struct {
			spoiled
			want string
		}{
			{spoiled{3, math.NaN()}, "step 3, samples 8, 9, 10, 11: the gradient of 1.weight is infinite or NaN"},
			{spoiled{20, 1e5}, "step 20, samples 76, 77, 78, 79: the norm of the gradient of 1.weight is "},
			{spoiled{5, 1e5}, ""}, // too few steps before
		} {
			run, data := newRun(t, d, mode{}, text)
			err := run.Fit(context.Background(), data, train.Options{Hooks: []train.Hook{c.spoiled}})
			if c.want == "" && strings.Contains(fmt.Sprint(err), "gradient") || !strings.Contains(fmt.Sprint(err), c.want) {
				t.Errorf("%v, %v: %v; want %q", d, c.spoiled, err, c.want)
			}
		}
	}
	run, data := newRun(t, storage.CPU, mode{}, strings.Replace(text, "callbacks", "#", 1))
	err := run.Fit(context.Background(), data, train.Options{Hooks: []train.Hook{spoiled{7, math.Inf(1)}}})
	if want := "(samples 28, 29, 30, 31, and the parameter 1.weight is not finite)"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v; want %q", err, want)
	}
}

// TestGradientNormsAreInTheHistory: the norm of all parameters is that of the norms of each, and the same in fp16.
func TestGradientNormsAreInTheHistory(t *testing.T) {
	norms := map[string]float64{}
	for _, precision := range []string{"float32", "fp16"} {
		run, data := newRun(t, storage.CPU, mode{}, plain+"batch: 150\nepochs: 1\ncallbacks: [{gradient_norms: {every: 1}}]\nprecision: "+precision)
		if err := run.Fit(context.Background(), data, train.Options{}); err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for _, name := range []string{"1.weight", "1.bias", "3.weight", "3.bias"} {
			norm := run.History["gradient_norm."+name]
			sum += norm[0] * norm[0]
		}
		norm := run.History["gradient_norm"][0]
		norms[precision] = norm
		if !(norm > 0) || math.Abs(norm-math.Sqrt(sum)) > 1e-6*norm || math.Abs(norm-norms["float32"]) > 1e-2*norm {
			t.Errorf("%s: norm %v, of the parameters %v, in float32 %v", precision, norm, math.Sqrt(sum), norms["float32"])
		}
	}
}
