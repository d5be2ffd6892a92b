package nn

// IoULoss is the mean over samples and classes of 1 − (TP + s)/(TP + FP + FN + s), as TverskyLoss with α = β = 1.
type IoULoss struct{ overlapLoss }

// NewIoULoss returns an IoU loss.
func NewIoULoss(o OverlapLossOptions) *IoULoss { return newIoU(withDefaults(o, overlapDefaults)) }

func newIoU(o OverlapLossOptions) *IoULoss {
	return &IoULoss{newOverlap("iou", o, 1, 1, 1)}
}

func (l *IoULoss) ignoring(label int) Loss {
	o := l.OverlapLossOptions
	o.IgnoreIndex = &label
	return newIoU(o)
}

var (
	_ = RegisterLoss("iou", newIoU, overlapDefaults)
	_ = losses.aliases("iou", "jaccard", "iou_loss", "jaccard_loss")
)
