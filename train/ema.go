package train

import (
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/tensor"
)

// newEMA makes the moving averages that the configuration asks for.
func (r *Run) newEMA() error {
	if r.Config.EMA == 0 {
		return nil
	}
	return tensor.Try(func() { r.ema = nn.NewEMA(nn.EMAOptions{Decay: r.Config.EMA}) })
}

// useAverages puts the moving averages in the place of the parameters, or the
// parameters back, if the run keeps averages.
func (r *Run) useAverages(on bool) error {
	if r.ema == nil || r.averaged == on {
		return nil
	}
	if err := r.ema.Swap(nn.Parameters(r.Model)); err != nil {
		return err
	}
	r.averaged = on
	return nil
}

// beginAverages begins the averages with the parameters, unless they have begun.
func (r *Run) beginAverages() error {
	if r.ema == nil {
		return nil
	}
	for range r.ema.State() {
		return nil
	}
	return r.ema.Update(nil, nn.Parameters(r.Model))
}
