package nn

// IoU is the intersection of predictions and labels of a class over their union, TP/(TP + FP + FN), for outputs (N, classes, …) and labels (N, …), or masks of the shape of
// the outputs. It is 0 where nothing is divided by nothing. The
// mean over classes leaves out the ignored label.
type IoU struct{ classScore }

// NewIoU returns an intersection over union.
func NewIoU(o ClassScoreOptions) *IoU {
	o.validate("iou")
	return &IoU{classScore{ClassScoreOptions: o, name: "iou", leavesOut: true, ratio: func(both, predicted, actual float64) (float64, float64) {
		return both, predicted + actual - both
	}}}
}

var (
	_ = RegisterMetric("iou", NewIoU, ClassScoreOptions{})
	_ = metrics.aliases("iou", "jaccard", "jaccard_index", "mean_iou")
)
