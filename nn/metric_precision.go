package nn

// Precision is the share of true positives among the predictions of a class, for outputs (N, classes, …) and labels (N, …), or masks of the shape of
// the outputs. It is 0 where nothing is divided by nothing.
type Precision struct{ classScore }

// NewPrecision returns a precision.
func NewPrecision(o ClassScoreOptions) *Precision {
	o.validate("precision")
	return &Precision{classScore{ClassScoreOptions: o, name: "precision", ratio: func(both, predicted, actual float64) (float64, float64) {
		return both, predicted
	}}}
}

var (
	_ = RegisterMetric("precision", NewPrecision, ClassScoreOptions{})
)
