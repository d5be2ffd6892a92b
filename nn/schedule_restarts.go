package nn

import (
	"math"

	"github.com/h5dnn/h5dnn/tensor"
)

// CosineRestartsOptions are the settings of a CosineRestartsSchedule.
type CosineRestartsOptions struct {
	T0    float64 `json:"t_0"`           // epochs of the first period; required
	TMult float64 `json:"t_mult"`        // each period is as many times as long as the one before; 1 if 0
	End   float64 `json:"end,omitempty"` // factor at the end of a period
}

// CosineRestartsSchedule decreases the learning rate to End times itself along half a cosine, again and again (Loshchilov and
// Hutter, arXiv:1608.03983).
type CosineRestartsSchedule struct{ CosineRestartsOptions }

var cosineRestartsDefaults = CosineRestartsOptions{TMult: 1}

// NewCosineRestartsSchedule returns a cosine schedule with restarts. T0 is required.
func NewCosineRestartsSchedule(o CosineRestartsOptions) CosineRestartsSchedule {
	return newCosineRestartsSchedule(withDefaults(o, cosineRestartsDefaults))
}

func newCosineRestartsSchedule(o CosineRestartsOptions) CosineRestartsSchedule {
	if !(o.T0 > 0) {
		tensor.Fail("cosine_restarts", ErrConfig, "t_0 %v; want more than 0 epochs", o.T0)
	}
	checkRange("cosine_restarts", "t_mult", o.TMult, 1, infinity)
	checkRange("cosine_restarts", "end", o.End, 0, infinity)
	return CosineRestartsSchedule{o}
}

// Factor returns 1 at the beginning of a period and approaches End at its end.
func (s CosineRestartsSchedule) Factor(at Progress) float64 {
	epoch, period := at.Epoch, s.T0
	if s.TMult == 1 {
		epoch = math.Mod(epoch, period)
	}
	for s.TMult > 1 && epoch >= period {
		epoch -= period
		period *= s.TMult
	}
	return cosineBetween(1, s.End, epoch/period)
}

var _ = RegisterSchedule("cosine_restarts", newCosineRestartsSchedule, cosineRestartsDefaults)
