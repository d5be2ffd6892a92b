package nn

// F1 is the harmonic mean of the precision and the recall of a class, 2·TP/(2·TP + FP + FN), for outputs (N, classes, …) and labels (N, …), or masks of the shape of
// the outputs. It is 0 where nothing is divided by nothing.
type F1 struct{ classScore }

// NewF1 returns an F1 score.
func NewF1(o ClassScoreOptions) *F1 {
	o.validate("f1")
	return &F1{classScore{ClassScoreOptions: o, name: "f1", ratio: func(both, predicted, actual float64) (float64, float64) {
		return 2 * both, predicted + actual
	}}}
}

var (
	_ = RegisterMetric("f1", NewF1, ClassScoreOptions{})
	_ = metrics.aliases("f1", "f1_score", "dice", "dice_score")
)
