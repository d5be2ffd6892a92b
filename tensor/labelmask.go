package tensor

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
	"github.com/h5dnn/h5dnn/views"
)

// LabelMask returns 1 for each of N integer labels from 0 to classes−1 and, unless ignore
// is nil, 0 for that label, as floats of type t. Any other label is an error that names its
// row: at once on the CPU, and on a GPU where the host next waits for it.
func LabelMask(labels *Tensor, t dtype.Type, classes int, ignore *int) *Tensor {
	const act = "label mask"
	if !labels.DType().IsInt() || labels.Rank() != 1 {
		fail(act, ErrShape, "labels %v of %v; want (N) integers", labels.Shape(), labels.DType())
	}
	o := kernels.LabelMaskOptions{Classes: classes}
	if ignore != nil {
		o.Ignore, o.Ignores = int64(*ignore), true
	}
	return runKernel(kernels.LabelMask, o, Spec{Type: t, View: views.Of(labels.Shape()...)}, labels)
}

var _ = samples.Register("label mask", func(in ...*Tensor) *Tensor {
	ignore := 2
	return LabelMask(in[0], dtype.Float32, 5, &ignore)
}, samples.Classes(5, 4))
