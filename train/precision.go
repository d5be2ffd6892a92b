package train

import (
	"fmt"

	"github.com/h5dnn/h5dnn/config"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// precisions are the types that products are computed in, Invalid for that of their
// operands. Weights and their updates are float32. tf32 is a mode of the device.
var precisions = map[string]dtype.Type{"": dtype.Invalid, "float32": dtype.Invalid, "tf32": dtype.Invalid, "bf16": dtype.BFloat16, "fp16": dtype.Float16}

// checkPrecision refuses an unknown precision.
func checkPrecision(name string) error {
	if _, ok := precisions[name]; !ok {
		return fmt.Errorf("no precision %q; want float32, tf32, bf16 or fp16", name)
	}
	return nil
}

// A tf32Device may round the operands of float32 products to TF32.
type tf32Device interface{ AllowTF32(allow bool) }

// setTF32 sets the mode of the device, which other runs may have changed.
func (r *Run) setTF32() {
	if d, ok := r.Device.(tf32Device); ok {
		d.AllowTF32(r.Config.Precision == "tf32")
	}
}

// autocast sets the type that t computes products in.
func (r *Run) autocast(t *tensor.Tape) {
	if low := precisions[r.Config.Precision]; low != dtype.Invalid {
		t.Autocast(low)
	}
}

// newLossScaler gives r a loss scaler, if products are float16.
func (r *Run) newLossScaler() error {
	if precisions[r.Config.Precision] != dtype.Float16 {
		return nil
	}
	if _, ok := r.Optimizer.(nn.Capturable); !ok {
		return config.At(fmt.Errorf("%T cannot skip steps, which fp16 needs; use bf16: %w", r.Optimizer, storage.ErrState), "precision")
	}
	s, err := tensor.NewLossScaler(r.Device)
	r.scaler = &s
	return err
}
