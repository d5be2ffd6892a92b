package nn

import (
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/h5dnn/h5dnn/internal/errkind"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// EMAOptions are the settings of an EMA.
type EMAOptions struct {
	Decay float64 `json:"decay"` // weight of the average in each update; 0.999 if 0
}

// EMA keeps exponential moving averages of parameters, which often generalise better
// than the parameters themselves: average = decay·average + (1 − decay)·parameter.
type EMA struct {
	EMAOptions
	averages map[string]storage.Array // by parameter name
}

// NewEMA returns averages that begin with the parameters at the first Update.
func NewEMA(o EMAOptions) *EMA {
	o = withDefaults(o, EMAOptions{Decay: 0.999})
	checkRange("ema", "decay", o.Decay, 0, 1)
	return &EMA{EMAOptions: o, averages: map[string]storage.Array{}}
}

// Update adds the parameters as they are to the averages, on the parameters' device,
// in the memory of the step of tape, or if tape is nil outside any step. It does not
// wait for the device.
func (e *EMA) Update(tape *tensor.Tape, params iter.Seq2[string, *Parameter]) error {
	if e.averages == nil {
		*e = *NewEMA(e.EMAOptions)
	}
	return tensor.Try(func() {
		for name, p := range params {
			average, ok := e.averages[name]
			switch {
			case !ok:
				e.averages[name] = p.CloneDetached().Array()
				continue
			case average.Data.Device() != p.Device():
				moved, err := average.To(p.Device())
				if err != nil {
					tensor.Fail("ema", err, "move the average of %s: %v", name, err)
				}
				e.averages[name], average = moved, moved
			}
			a, x := tensor.FromArray(average), p.Detach()
			if tape != nil {
				x = tape.Input(p.Array())
			}
			a.AddInPlace(x.Sub(a).MulScalar(1 - e.Decay))
		}
	})
}

// Swap exchanges the parameters with their averages, for evaluation, and then again
// to go on training. It exchanges arrays, so nothing is copied. Captured steps must
// not run in between.
func (e *EMA) Swap(params iter.Seq2[string, *Parameter]) error {
	swapped := map[string]storage.Array{}
	all := maps.Collect(params)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		p := all[name]
		average, ok := e.averages[name]
		if !ok || !slices.Equal(average.Shape, p.Shape()) || average.Data.Device() != p.Device() {
			return errkind.Errorf(storage.ErrState, "ema: no average of %s like the parameter; Update first", name)
		}
		swapped[name] = average
	}
	for name, p := range all {
		e.averages[name] = p.Array()
		p.SetArray(swapped[name])
	}
	return nil
}

// State yields the averages.
func (e *EMA) State() iter.Seq2[string, storage.Array] {
	return byName(e.averages)
}

// Load replaces the averages by copies of state, for params. On an error nothing
// changes.
func (e *EMA) Load(params iter.Seq2[string, *Parameter], state iter.Seq2[string, storage.Array]) error {
	loaded, known := map[string]storage.Array{}, maps.Collect(params)
	for name, a := range state {
		p, ok := known[name]
		if !ok {
			return errkind.Errorf(storage.ErrState, "load ema: no parameter %s", name)
		}
		if !slices.Equal(a.Shape, p.Shape()) {
			return errkind.Errorf(views.ErrShape, "load ema: %s is %v; want %v", name, a.Shape, p.Shape())
		}
		own, err := storage.Make(p.Device(), p.DType(), p.Shape()...)
		if err == nil {
			err = a.CopyTo(own)
		}
		if err != nil {
			return fmt.Errorf("load ema: %s: %w", name, err)
		}
		loaded[name] = own
	}
	e.averages = loaded
	return nil
}
