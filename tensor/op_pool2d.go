package tensor

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
	"github.com/h5dnn/h5dnn/views"
)

// A Pool2dSet is a window, its steps and its padding, down and across.
type Pool2dOptions = kernels.Pool2dOptions

// MaxPool2d returns the largest element in each window of images x (N, C, H, W).
// Padding counts as −∞; the gradient goes to the first of the largest.
func (x *Tensor) MaxPool2d(set Pool2dOptions) *Tensor { return Apply(&maxPool2d{set: set}, x) }

// AvgPool2d returns the mean of each window of images x (N, C, H, W). Padding
// counts as zeros.
func (x *Tensor) AvgPool2d(set Pool2dOptions) *Tensor { return Apply(avgPool2d{set}, x) }

type maxPool2d struct {
	set     Pool2dOptions
	indices *Tensor // where in its window each result was found
}

func (*maxPool2d) Name() string { return "max pool2d" }

func (op *maxPool2d) Infer(in []Spec) []Spec {
	for i := range 2 {
		if 2*op.set.Padding[i] > op.set.Kernel[i] {
			fail("max pool2d", ErrShape, "padding %v is more than half of window %v, and some windows would be empty", op.set.Padding, op.set.Kernel)
		}
	}
	return pooled(op.Name(), op.set, in[0])
}

// pooled is the result of moving a window over the images of x; it lies as x does,
// or in rows.
func pooled(op string, set Pool2dOptions, x Spec) []Spec {
	wantFloat(op, x)
	if x.Rank() != 4 {
		fail(op, ErrShape, "of %v; want images (N, C, H, W)", x.Shape)
	}
	out := windows(op, x, set.Kernel, set.Stride, set.Padding)
	if like := views.Like(x.View); like.Stride[1] == 1 && !x.PreferRowMajor {
		return one(x.Type, views.ChannelsLast(x.Shape[0], x.Shape[1], out[0], out[1]))
	}
	return one(x.Type, views.Of(x.Shape[0], x.Shape[1], out[0], out[1]))
}

func (op *maxPool2d) Forward(c *Context, out, in []storage.Array) (err error) {
	if op.indices, err = c.Save(dtype.Int32, views.Like(out[0].View)); err != nil {
		return err
	}
	return c.Run(kernels.MaxPool2d, op.set, []storage.Array{out[0], op.indices.Array}, in...)
}

func (op *maxPool2d) Backward(out, grads, in []*Tensor) []*Tensor {
	return []*Tensor{runKernel(kernels.MaxPool2dGrad, op.set, like(in[0]), grads[0], op.indices)}
}

type avgPool2d struct{ set Pool2dOptions }

func (avgPool2d) Name() string { return "avg pool2d" }

func (op avgPool2d) Infer(in []Spec) []Spec {
	return pooled(op.Name(), op.set, in[0])
}

func (op avgPool2d) Forward(c *Context, out, in []storage.Array) error {
	return c.Run(kernels.AvgPool2d, op.set, out, in...)
}

func (op avgPool2d) Backward(out, grads, in []*Tensor) []*Tensor {
	return []*Tensor{runKernel(kernels.AvgPool2dGrad, op.set, like(in[0]), grads[0])}
}

func init() {
	plain := Pool2dOptions{Kernel: [2]int{2, 2}, Stride: [2]int{2, 2}}
	odd := Pool2dOptions{Kernel: [2]int{3, 2}, Stride: [2]int{2, 1}, Padding: [2]int{1, 0}}
	for _, set := range []Pool2dOptions{plain, odd} {
		samples.Register("max pool2d", unary(func(x *Tensor) *Tensor { return x.MaxPool2d(set) }), samples.In(2, 3, 5, 4).Of(samples.Distinct).Rows())
		samples.Register("avg pool2d", unary(func(x *Tensor) *Tensor { return x.AvgPool2d(set) }), samples.In(2, 3, 5, 4).Rows())
	}
}
