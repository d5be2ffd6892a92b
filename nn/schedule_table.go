package nn

import (
	"cmp"
	"slices"

	"github.com/h5dnn/h5dnn/tensor"
)

// TableOptions are the settings of a TableSchedule.
type TableOptions struct {
	Factors [][]float64 `json:"factors"`          // rows of an epoch and a factor, in ascending order of epochs; required
	Linear  bool        `json:"linear,omitempty"` // straight lines between the rows, instead of steps
}

// TableSchedule takes the factors of the learning rate from a table. Before its first row and after its last one these hold.
type TableSchedule struct{ TableOptions }

// NewTableSchedule returns a schedule from a table.
func NewTableSchedule(o TableOptions) TableSchedule {
	byEpoch := func(a, b []float64) int { return cmp.Compare(a[0], b[0]) }
	notTwo := func(row []float64) bool { return len(row) != 2 }
	if len(o.Factors) == 0 || slices.ContainsFunc(o.Factors, notTwo) || !slices.IsSortedFunc(o.Factors, byEpoch) {
		tensor.Fail("table", ErrConfig, "factors %v; want rows of an epoch and a factor, in ascending order of epochs", o.Factors)
	}
	for _, row := range o.Factors {
		checkRange("table", "epoch", row[0], 0, infinity)
		checkRange("table", "factor", row[1], 0, infinity)
	}
	return TableSchedule{o}
}

// Factor returns the factor of the last row that is not after at.
func (s TableSchedule) Factor(at Progress) float64 {
	next := slices.IndexFunc(s.Factors, func(row []float64) bool { return row[0] > at.Epoch })
	switch {
	case next < 0:
		return s.Factors[len(s.Factors)-1][1]
	case next == 0:
		return s.Factors[0][1]
	}
	a, b := s.Factors[next-1], s.Factors[next]
	if !s.Linear {
		return a[1]
	}
	return a[1] + (b[1]-a[1])*(at.Epoch-a[0])/(b[0]-a[0])
}

var _ = RegisterSchedule("table", NewTableSchedule, TableOptions{})
