package tensor

import (
	"fmt"

	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A Scaler scales losses of low precision, so that their gradients are neither
// too small nor infinite: see kernels.Rescale. It lies on one device.
type Scaler struct{ storage.Array }

// patience is after how many good steps the scale is doubled, as in PyTorch.
const patience = 2000

// NewScaler returns a Scaler on d, at its start.
func NewScaler(d storage.Device) (Scaler, error) {
	guard := kernels.NewGuard()
	a, err := storage.From(guard, len(guard)).To(d)
	return Scaler{a}, err
}

// Scale returns the loss, as float32, times the scale.
func (s Scaler) Scale(loss *Tensor) *Tensor {
	scale := views.Of()
	scale.Offset = s.Offset
	return loss.Mul(loss.with(s.With(scale)))
}

// Check notes whether gradients of what was scaled are finite.
func (s Scaler) Check(grads ...*Tensor) {
	for _, g := range grads {
		g.live("scaler")
	}
	run("flag", kernels.Flag, nil, []storage.Array{s.Array}, arrays(grads)...)
}

// Step ends a step: it sets the scale for the next by what was checked.
func (s Scaler) Step() {
	run("rescale", kernels.Rescale, kernels.RescaleSet{Patience: patience}, []storage.Array{s.Array})
}

// Err returns an error if there is no smaller scale, and gradients are still not
// finite: then nothing is learned any more.
func (s Scaler) Err() error {
	bad, err := kernels.GuardIsStuck(s.Array)
	if err != nil || !bad {
		return err
	}
	return &Error{"scaler", fmt.Errorf("gradients are infinite or NaN however little their loss is scaled; lower the learning rate, or train in bf16: %w", storage.ErrState)}
}
