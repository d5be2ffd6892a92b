package tensor

import (
	"fmt"

	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A LossScaler scales losses of low precision, so that their gradients are neither
// too small nor infinite: see kernels.UpdateScale. It is on one device.
type LossScaler struct{ storage.Array }

// growthInterval is the number of good steps after which the scale is doubled, as in PyTorch.
const growthInterval = 2000

// NewLossScaler returns a LossScaler on d, at its start.
func NewLossScaler(d storage.Device) (LossScaler, error) {
	guard := kernels.NewScalerState()
	a, err := storage.From(guard, len(guard)).To(d)
	return LossScaler{a}, err
}

// Scale returns the loss, as float32, times the scale.
func (s LossScaler) Scale(loss *Tensor) *Tensor {
	return loss.Mul(s.Factor(loss))
}

// Factor returns the scale, a single float32, in the step that x belongs to.
func (s LossScaler) Factor(x *Tensor) *Tensor {
	scale := views.Of()
	scale.Offset = s.Offset
	return x.sameStep(s.With(scale))
}

// CheckFinite sets the found-inf flag if an element of grads is infinite or NaN.
func (s LossScaler) CheckFinite(grads ...*Tensor) {
	for _, g := range grads {
		g.checkAlive("scaler")
	}
	run("flag", kernels.FindInf, nil, []storage.Array{s.Array}, arrays(grads)...)
}

// Update sets the scale for the next step by the found-inf flag, and clears the flag.
func (s LossScaler) Update() {
	run("rescale", kernels.UpdateScale, kernels.UpdateScaleOptions{GrowthInterval: growthInterval}, []storage.Array{s.Array})
}

// Err returns an error if there is no smaller scale, and gradients are still not
// finite: no later step could update the parameters.
func (s LossScaler) Err() error {
	bad, err := kernels.ScalerIsStuck(s.Array)
	if err != nil || !bad {
		return err
	}
	return &Error{"scaler", fmt.Errorf("gradients are infinite or NaN however little their loss is scaled; lower the learning rate, or train in bf16: %w", storage.ErrState)}
}
