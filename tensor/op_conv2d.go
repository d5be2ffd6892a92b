package tensor

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A Conv2dSet is how a window moves over an image: steps and zero padding down
// and across, and what is applied to the result.
type Conv2dOptions = kernels.Conv2dSet

// Conv2d returns the cross-correlation of images x (N, in, H, W) with weights
// w (out, in, kh, kw), plus bias b (out), which may be nil:
// (N, out, (H + 2·padding − kh)/stride + 1, …). The result lies channels-last.
func Conv2d(x, w, b *Tensor, set Conv2dOptions) *Tensor {
	if b == nil {
		return Apply(conv2d{set, epilogue{act: set.Act}}, autocast(x, w)...)
	}
	return Apply(conv2d{set, epilogue{act: set.Act}}, autocast(x, w, b)...)
}

type conv2d struct {
	set Conv2dOptions
	epilogue
}

func (conv2d) Name() string { return "conv2d" }

func (op conv2d) Infer(in ...*Tensor) (dtype.Type, views.View) {
	x, w := in[0], in[1]
	wantFloat("conv2d", in...)
	if x.Rank() != 4 || w.Rank() != 4 || x.Shape[1] != w.Shape[1] {
		fail("conv2d", ErrShape, "images %v and weights %v; want (N, in, H, W) and (out, in, kh, kw)", x.Shape, w.Shape)
	}
	wantBias("conv2d", w, in[2:])
	out := windows("conv2d", x, [2]int(w.Shape[2:]), op.set.Stride, op.set.Padding)
	return x.Type, views.ChannelsLast(x.Shape[0], w.Shape[0], out[0], out[1])
}

// windows returns how many places a window of the given size has in the images
// of x, down and across.
func windows(op string, x *Tensor, size, stride, padding [2]int) (out [2]int) {
	for i, length := range x.Shape[2:] {
		room := length + 2*padding[i] - size[i]
		if size[i] < 1 || stride[i] < 1 || padding[i] < 0 || room < 0 {
			fail(op, ErrShape, "window %v, stride %v, padding %v on images %v", size, stride, padding, x.Shape)
		}
		out[i] = room/stride[i] + 1
	}
	return out
}

func (op conv2d) Forward(w *Context, y storage.Array, in ...storage.Array) error {
	return w.Run(kernels.Conv2d, op.set, []storage.Array{y}, in...)
}

func (op conv2d) Backward(y, dy *Tensor, in ...*Tensor) []*Tensor {
	x, w, b := in[0], in[1], optional(in, 2)
	bare := op.set
	bare.Act = NoActivation
	dz, db := op.grad(y, dy, b)
	return []*Tensor{
		x.ifNeeded(func() *Tensor { return runKernel(kernels.Conv2dGradX, bare, channelsLast(x), dz, w) }),
		w.ifNeeded(func() *Tensor { return runKernel(kernels.Conv2dGradW, bare, like(w), x, dz) }),
		db,
	}[:len(in)]
}

// dropping is the operation with a dropout behind it.
func (op conv2d) withDropout(p float64) Op {
	op.dropProbability = p
	return op
}

// channelsLast is the Spec of images as x that lie channels-last.
func channelsLast(x *Tensor) Spec {
	s := x.Shape
	return Spec{x.Type, views.ChannelsLast(s[0], s[1], s[2], s[3])}
}

func init() {
	conv := func(set Conv2dOptions) func(in ...*Tensor) *Tensor {
		return func(in ...*Tensor) *Tensor { return Conv2d(in[0], in[1], optional(in, 2), set) }
	}
	one, two := [2]int{1, 1}, [2]int{2, 2}
	Register("conv2d", conv(Conv2dOptions{Stride: one}), In(2, 3, 5, 4).Rows(), In(4, 3, 3, 2), In(4))
	Register("conv2d same relu", conv(Conv2dOptions{Stride: one, Padding: one, Act: ReLUActivation}), In(2, 1, 5, 5).Rows(), In(3, 1, 3, 3), In(3))
	Register("conv2d strided tanh", conv(Conv2dOptions{Stride: two, Padding: [2]int{0, 1}, Act: TanhActivation}), In(2, 2, 6, 5).Rows(), In(3, 2, 3, 3))
}
