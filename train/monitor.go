package train

import (
	"fmt"
	"math"

	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// A monitor follows a number of the epochs.
type monitor struct{ name, mode string }

// newMonitor returns a monitor for a callback. An empty name stands for the loss, an empty mode for the one that the name has.
func newMonitor(callback, name, mode string) monitor {
	if mode != "" && mode != "min" && mode != "max" {
		tensor.Fail(callback, nn.ErrConfig, "mode %q; want min or max", mode)
	}
	return monitor{name, mode}
}

// value returns the number of an epoch.
func (m *monitor) value(e Epoch) (float64, error) {
	if m.name == "" {
		if m.name = "loss"; e.Val != nil {
			m.name = "val_loss"
		}
	}
	if x, ok := e.Numbers[m.name]; ok {
		return x, nil
	}
	h := e.Plan.Training.Run().History
	if all := h[m.name]; len(all) == e.Number {
		return all[e.Number-1], nil
	}
	return 0, fmt.Errorf("the epoch has no number %s to monitor; it has %v: %w", m.name, h.Metrics(), storage.ErrState)
}

// better reports whether a is better than b, by more than delta. A number is better than NaN.
func (m *monitor) better(a, b, delta float64) bool {
	if math.IsNaN(a) || math.IsNaN(b) {
		return !math.IsNaN(a)
	}
	if m.mode == "max" || m.mode == "" && Rises(m.name) {
		return a > b+delta
	}
	return a < b-delta
}
