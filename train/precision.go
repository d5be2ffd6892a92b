package train

import (
	"fmt"

	"github.com/h5dnn/h5dnn/config"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// precisions are what products may be computed as; weights, and what their
// updates add up, are float32. What tf32 allows is up to the device.
var precisions = map[string]dtype.Type{"": dtype.Invalid, "float32": dtype.Invalid, "tf32": dtype.Invalid, "bf16": dtype.BFloat16, "fp16": dtype.Float16}

// checkPrecision refuses a precision that there is not.
func checkPrecision(name string) error {
	if _, ok := precisions[name]; !ok {
		return fmt.Errorf("no precision %q; want float32, tf32, bf16 or fp16", name)
	}
	return nil
}

// A rounder is a device whose libraries may round the factors of float32 products.
type tf32Device interface{ AllowTF32(allow bool) }

// round tells the device whether it may, which other runs may have told otherwise.
func (r *Run) setTF32() {
	if d, ok := r.Device.(tf32Device); ok {
		d.AllowTF32(r.Config.Precision == "tf32")
	}
}

// lower has t compute products as the run wants them.
func (r *Run) autocast(t *tensor.Tape) {
	if low := precisions[r.Config.Precision]; low != dtype.Invalid {
		t.Autocast(low)
	}
}

// scale gives r what scales its losses, where products are float16.
func (r *Run) scale() error {
	if precisions[r.Config.Precision] != dtype.Float16 {
		return nil
	}
	if _, ok := r.Optimizer.(nn.Capturable); !ok {
		return config.At(fmt.Errorf("%T cannot leave steps out, as fp16 asks of it; take bf16: %w", r.Optimizer, storage.ErrState), "precision")
	}
	s, err := tensor.NewLossScaler(r.Device)
	r.scaler = &s
	return err
}
