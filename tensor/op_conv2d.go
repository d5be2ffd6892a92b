package tensor

import (
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
	"github.com/h5dnn/h5dnn/views"
)

// A Conv2dSet is how a window moves over an image: steps and zero padding down
// and across, and what is applied to the result.
type Conv2dOptions = kernels.Conv2dOptions

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
	set   Conv2dOptions
	after epilogue
}

func (conv2d) Name() string { return "conv2d" }

func (op conv2d) Infer(in []Spec) []Spec {
	x, w := in[0], in[1]
	wantFloat("conv2d", in...)
	if x.Rank() != 4 || w.Rank() != 4 || x.Shape[1] != w.Shape[1] {
		fail("conv2d", ErrShape, "images %v and weights %v; want (N, in, H, W) and (out, in, kh, kw)", x.Shape, w.Shape)
	}
	wantBias("conv2d", w, in[2:])
	out := windows("conv2d", x, [2]int(w.Shape[2:]), op.set.Stride, op.set.Padding)
	return one(x.Type, views.ChannelsLast(x.Shape[0], w.Shape[0], out[0], out[1]))
}

// windows returns how many places a window of the given size has in the images
// of x, down and across.
func windows(op string, x Spec, size, stride, padding [2]int) (out [2]int) {
	for i, length := range x.Shape[2:] {
		room := length + 2*padding[i] - size[i]
		if size[i] < 1 || stride[i] < 1 || padding[i] < 0 || room < 0 {
			fail(op, ErrShape, "window %v, stride %v, padding %v on images %v", size, stride, padding, x.Shape)
		}
		out[i] = room/stride[i] + 1
	}
	return out
}

func (op conv2d) Forward(c *Context, out, in []storage.Array) error {
	return c.Run(kernels.Conv2d, op.set, out, in...)
}

func (op conv2d) Backward(out, grads, in []*Tensor) []*Tensor {
	x, w, b := in[0], in[1], optional(in, 2)
	bare := op.set
	bare.Act = NoActivation
	dz, db := op.after.grad(out[0], grads[0], b)
	return []*Tensor{
		x.ifNeeded(func() *Tensor { return runKernel(kernels.Conv2dGradX, bare, channelsLast(x), dz, w) }),
		w.ifNeeded(func() *Tensor { return runKernel(kernels.Conv2dGradW, bare, like(w), x, dz) }),
		db,
	}[:len(in)]
}

func (op conv2d) epilogue() epilogue { return op.after }

func (op conv2d) withEpilogue(e epilogue) Op {
	op.after = e
	return op
}

// channelsLast is the Spec of images as x that lie channels-last.
func channelsLast(x *Tensor) Spec {
	s := x.Shape
	return Spec{Type: x.Type, View: views.ChannelsLast(s[0], s[1], s[2], s[3])}
}

func init() {
	conv := func(set Conv2dOptions) func(in ...*Tensor) *Tensor {
		return func(in ...*Tensor) *Tensor { return Conv2d(in[0], in[1], optional(in, 2), set) }
	}
	one, two := [2]int{1, 1}, [2]int{2, 2}
	samples.Register("conv2d", conv(Conv2dOptions{Stride: one}), samples.In(2, 3, 5, 4).Rows(), samples.In(4, 3, 3, 2), samples.In(4))
	samples.Register("conv2d same relu", conv(Conv2dOptions{Stride: one, Padding: one, Act: ReLUActivation}), samples.In(2, 1, 5, 5).Rows(), samples.In(3, 1, 3, 3), samples.In(3))
	samples.Register("conv2d strided tanh", conv(Conv2dOptions{Stride: two, Padding: [2]int{0, 1}, Act: TanhActivation}), samples.In(2, 2, 6, 5).Rows(), samples.In(3, 2, 3, 3))
}
