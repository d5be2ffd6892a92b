package nn

// DiceLoss is the mean over samples and classes of 1 − (2·TP + s)/(2·TP + FP + FN + s), as TverskyLoss with α = β = 1/2 and sums of twice the size.
type DiceLoss struct{ overlapLoss }

// NewDiceLoss returns a Dice loss.
func NewDiceLoss(o OverlapLossOptions) *DiceLoss { return newDice(withDefaults(o, overlapDefaults)) }

func newDice(o OverlapLossOptions) *DiceLoss {
	return &DiceLoss{newOverlap("dice", o, 0.5, 0.5, 2)}
}

func (l *DiceLoss) ignoring(label int) Loss {
	o := l.OverlapLossOptions
	o.IgnoreIndex = &label
	return newDice(o)
}

var overlapDefaults = OverlapLossOptions{Smooth: 1}

var (
	_ = RegisterLoss("dice", newDice, overlapDefaults)
	_ = losses.aliases("dice", "dice_loss")
)
