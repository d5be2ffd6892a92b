package tensor

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// What an array of sums adds up, step by step: see AddTally.
const (
	TallyLoss  = kernels.TallyLoss
	TallyHits  = kernels.TallyHits
	TallySteps = kernels.TallySteps
	TallyBad   = kernels.TallyBad
	TallySize  = kernels.TallySize
)

// AddTally adds a step of n samples to sums, float64 (TallySize): n times its mean loss, its
// hits unless they are nil, the step itself, and its number if it is the first
// whose loss is not finite. Nothing has to wait for the loss.
func AddTally(sums storage.Array, n int, loss, hits *Tensor) {
	in := []storage.Array{loss.Array}
	if hits != nil {
		in = append(in, hits.Array)
	}
	run("tally", kernels.Tally, kernels.TallySet{Samples: n}, []storage.Array{sums}, in...)
	touch(sums)
}

// TakeNormalized is Take of x, and Normalize of that.
func TakeNormalized(x, rows *Tensor, scale, shift float64) *Tensor {
	if x.Type != dtype.Uint8 || x.Rank() == 0 || rows.Rank() != 1 {
		return Take(x, rows).Normalize(scale, shift)
	}
	return compute(kernels.TakeBytes, kernels.AffineSet{Scale: scale, Shift: shift}, Spec{dtype.Float32, taken(x, rows)}, x, rows)
}

// Take returns the rows of x (N, …) that rows (n), of int64, names: (n, …).
func Take(x, rows *Tensor) *Tensor {
	if x.Rank() == 0 || rows.Rank() != 1 {
		fail("take", ErrShape, "rows %v of %v; want (n) of (N, …)", rows.Shape, x.Shape)
	}
	return compute(kernels.Take, nil, Spec{x.Type, taken(x, rows)}, x, rows)
}

// taken is how rows of x lie.
func taken(x, rows *Tensor) views.View {
	return views.Of(append([]int{rows.Len()}, x.Shape[1:]...)...)
}
