package nn

// Recall is the share of true positives among the labels of a class, for outputs (N, classes, …) and labels (N, …), or masks of the shape of
// the outputs. It is 0 where nothing is divided by nothing.
type Recall struct{ classScore }

// NewRecall returns a recall.
func NewRecall(o ClassScoreOptions) *Recall {
	o.validate("recall")
	return &Recall{classScore{ClassScoreOptions: o, name: "recall", ratio: func(both, predicted, actual float64) (float64, float64) {
		return both, actual
	}}}
}

var (
	_ = RegisterMetric("recall", NewRecall, ClassScoreOptions{})
)
