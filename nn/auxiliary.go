package nn

import (
	"sync"

	"github.com/h5dnn/h5dnn/tensor"
)

// collectors holds the losses of layers by the step that collects them.
var collectors sync.Map // of *[]Fraction by *tensor.Tape

// CollectLosses calls f and returns the losses that layers add meanwhile in the step of x; see [AddLoss].
func CollectLosses(x *tensor.Tensor, f func()) (losses []Fraction) {
	collectors.Store(x.Tape(), &losses)
	defer collectors.Delete(x.Tape())
	f()
	return losses
}

// AddLoss adds a loss of a layer, such as a penalty of its outputs, to the loss that training minimizes. A layer calls it in Forward with
// its input x. It calls loss only in a step that collects losses: prediction does not. Within [tensor.Checkpoint] it has no effect on gradients.
func AddLoss(x *tensor.Tensor, loss func() Fraction) {
	if all, ok := collectors.Load(x.Tape()); ok {
		all, added := all.(*[]Fraction), loss()
		for _, part := range []*tensor.Tensor{added.value, added.numerator, added.denominator} {
			x.Tape().Keep(part)
		}
		*all = append(*all, added)
	}
}
