package train

import (
	"fmt"

	"github.com/h5dnn/h5dnn/config"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels/native"
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
	if low := precisions[r.Config.Precision]; r.roundsProducts() {
		t.RoundProducts()
	} else if low != dtype.Invalid {
		t.Autocast(low)
	}
}

// roundsProducts reports whether products have operands of bfloat16 and results of float32, as they do on the CPU.
func (r *Run) roundsProducts() bool {
	onCPU := r.Device == storage.CPU || r.Device == tensor.Meta && r.Config.Device == "cpu"
	return onCPU && precisions[r.Config.Precision] == dtype.BFloat16
}

// slowBF16 says that the processor does not multiply numbers of bfloat16, if it is to.
func (r *Run) slowBF16() []string {
	if !r.roundsProducts() || native.BF16() {
		return nil
	}
	return []string{"precision bf16: the processor has no products of bfloat16 (AVX512-BF16, AMX), so operands are rounded to it and multiplied in float32, which is slower than precision float32"}
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
