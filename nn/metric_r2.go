package nn

import (
	"math"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// R2 is the coefficient of determination 1 − Σ(t − y)²/Σ(t − mean t)² of targets t and outputs y, the mean over the columns along
// axis 1.
type R2 struct {
	MetricSums
}

// r2Sums are the names of the sums of a column.
var r2Sums = []string{"weight", "targets", "squares", "errors"}

// Update adds a batch.
func (m *R2) Update(outputs, targets, weights *tensor.Tensor) {
	y, t := matchTargets("r2", outputs, targets)
	y, t = y.Cast(dtype.Float64), t.Cast(dtype.Float64)
	w := tensor.OnesLike(y.Detach())
	if weights != nil {
		w = alignWeights("r2", y, weights, dtype.Float64)
	}
	d := t.Sub(y)
	for i, x := range []*tensor.Tensor{w, t.Mul(w), t.Square().Mul(w), d.Square().Mul(w)} {
		if x = x.Contiguous(); x.Rank() == 1 {
			x = x.Unsqueeze(1)
		}
		m.Add(r2Sums[i], classRows(x).Sum(0))
	}
}

// Result returns the coefficient, NaN for columns of one value.
func (m *R2) Result() (storage.Array, error) {
	var sums [4][]float64
	for i, name := range r2Sums {
		var err error
		if sums[i], err = m.Sum(name); err != nil {
			return storage.Array{}, err
		}
	}
	total := 0.0
	for c, weight := range sums[0] {
		spread := sums[2][c] - sums[1][c]*sums[1][c]/weight
		if !(spread > 0) {
			spread = math.NaN()
		}
		total += 1 - sums[3][c]/spread
	}
	return storage.From([]float64{quotient(total, float64(len(sums[0])))}), nil
}

var (
	_ = RegisterMetric("r2", func(struct{}) *R2 { return &R2{} }, struct{}{})
	_ = metrics.aliases("r2", "r2_score")
)
