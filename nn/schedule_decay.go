package nn

// DecayOptions are the settings of LinearSchedule and CosineSchedule.
type DecayOptions struct {
	End float64 `json:"end,omitempty"` // factor at the end of training
}

// LinearSchedule decreases the learning rate to End times itself in equal steps.
type LinearSchedule struct{ DecayOptions }

// CosineSchedule decreases the learning rate to End times itself along half a
// cosine (Loshchilov and Hutter, arXiv:1608.03983, without restarts).
type CosineSchedule struct{ DecayOptions }

// NewLinearSchedule returns a linear schedule.
func NewLinearSchedule(o DecayOptions) LinearSchedule {
	checkRange("linear", "end", o.End, 0, infinity)
	return LinearSchedule{o}
}

// NewCosineSchedule returns a cosine schedule.
func NewCosineSchedule(o DecayOptions) CosineSchedule {
	checkRange("cosine", "end", o.End, 0, infinity)
	return CosineSchedule{o}
}

// Factor returns 1 at the beginning and End at the end.
func (s LinearSchedule) Factor(at Progress) float64 { return 1 + (s.End-1)*at.Done() }

// Factor returns 1 at the beginning and End at the end.
func (s CosineSchedule) Factor(at Progress) float64 {
	return cosineBetween(1, s.End, at.Done())
}

var (
	_ = RegisterSchedule("linear", NewLinearSchedule, DecayOptions{})
	_ = RegisterSchedule("cosine", NewCosineSchedule, DecayOptions{})
)
