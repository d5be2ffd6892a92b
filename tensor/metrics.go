package tensor

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
	"github.com/h5dnn/h5dnn/views"
)

// The elements of an array of running totals: see AddMetrics.
const (
	MetricLoss           = kernels.MetricLossSum
	MetricCorrect        = kernels.MetricCorrect
	MetricSteps          = kernels.MetricSteps
	MetricFirstNonFinite = kernels.MetricFirstNonFinite
	MetricIgnored        = kernels.MetricIgnored
	MetricCount          = kernels.MetricsSize
)

// AddMetrics adds a step of n samples to the running totals sums, float64 (MetricCount):
// n times its mean loss, its number of correct predictions unless that is nil, its number of
// ignored samples unless that is nil, and 1 to the number of steps, which it also stores as the first non-finite step if the loss is
// the first that is infinite or NaN. The host does not wait for the loss.
func AddMetrics(sums storage.Array, n int, loss, correct, ignored *Tensor) {
	in := arrays(inMemory("add metrics", []*Tensor{loss}))
	for _, count := range []*Tensor{correct, ignored} {
		if count == nil {
			break
		}
		in = append(in, count.array)
	}
	run("add metrics", kernels.AddMetrics, kernels.MetricsOptions{Samples: n}, []storage.Array{sums}, in...)
}

// TakeScaled is IndexSelect of rows of x followed by CastScaled.
func TakeScaled(x, rows *Tensor, scale, offset float64) *Tensor {
	if x.DType() != dtype.Uint8 || x.Rank() == 0 || rows.Rank() != 1 || scale == 0 {
		return x.IndexSelect(0, rows).CastScaled(scale, offset)
	}
	return runKernel(kernels.GatherCast, kernels.ScaleOffsetOptions{Scale: scale, Offset: offset}, Spec{Type: dtype.Float32, View: taken(x, rows)}, x, rows)
}

// taken returns the layout of the rows.
func taken(x, rows *Tensor) views.View {
	return views.Of(append([]int{rows.Len()}, x.Shape()[1:]...)...)
}

var (
	_ = samples.Register("take scaled", func(in ...*Tensor) *Tensor { return TakeScaled(in[0], in[1].Cast(dtype.Int64), 0.25, -1) },
		samples.Input{Shape: []int{5, 3}, Kind: samples.Labels, Count: 200}, places([]int{4}, 5))
	_ = samples.Register("add metrics", unary(func(x *Tensor) *Tensor {
		sums := x.Cast(dtype.Float64).zeros(views.Of(MetricCount))
		AddMetrics(sums.array, 3, x.Cast(dtype.Float32), nil, nil)
		return sums
	}), places(nil, 9))
)
