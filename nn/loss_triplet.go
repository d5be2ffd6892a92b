package nn

import (
	"cmp"
	"math"

	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// TripletLossOptions are the settings of a TripletLoss.
type TripletLossOptions struct {
	Margin    float64 `json:"margin"`              // by which the negative is to be farther away; 1 if 0
	P         float64 `json:"p"`                   // of the norm; 2 if 0
	Swap      bool    `json:"swap,omitempty"`      // the negative is compared with the nearer of anchor and positive
	Reduction string  `json:"reduction,omitempty"` // mean (or empty) or sum
}

// TripletLoss is the mean over samples of max(0, |a − p| − |a − n| + margin), for outputs (N, 3, features): anchor a,
// positive p and negative n. The targets do not count. It is PyTorch's TripletMarginLoss.
type TripletLoss struct{ TripletLossOptions }

var tripletDefaults = TripletLossOptions{Margin: 1, P: 2}

// NewTripletLoss returns a triplet loss.
func NewTripletLoss(o TripletLossOptions) TripletLoss {
	return newTriplet(withDefaults(o, tripletDefaults))
}

func newTriplet(o TripletLossOptions) TripletLoss {
	checkRange("triplet", "margin", o.Margin, math.SmallestNonzeroFloat64, infinity)
	checkRange("triplet", "p", o.P, math.SmallestNonzeroFloat64, infinity)
	checkReduction("triplet", o.Reduction)
	return TripletLoss{o}
}

// distanceEps is added to differences, as in PyTorch's pairwise_distance.
const distanceEps = 1e-6

// Forward returns the triplet loss.
func (l TripletLoss) Forward(outputs, _, weights *tensor.Tensor) Fraction {
	if outputs.Rank() != 3 || outputs.Shape()[1] != 3 {
		tensor.Fail("triplet", views.ErrShape, "outputs %v; want (N, 3, features)", outputs.Shape())
	}
	x := outputs.ToFloat32()
	part := func(i int) *tensor.Tensor { return x.Select(1, i) }
	distance := func(i, k int) *tensor.Tensor {
		return part(i).Sub(part(k)).AddScalar(distanceEps).Norm(cmp.Or(l.P, tripletDefaults.P), 1)
	}
	negative := distance(0, 2)
	if l.Swap {
		negative = negative.Minimum(distance(1, 2))
	}
	margin := cmp.Or(l.Margin, tripletDefaults.Margin)
	return reduceLoss("triplet", l.Reduction, distance(0, 1).Sub(negative).AddScalar(margin).ReLU(), weights)
}

var (
	_ = RegisterLoss("triplet", newTriplet, tripletDefaults)
	_ = losses.aliases("triplet", "triplet_margin", "triplet_margin_loss")
)
