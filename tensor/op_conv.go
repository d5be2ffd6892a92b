package tensor

import (
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
	"github.com/h5dnn/h5dnn/views"
)

// ConvOptions describe a convolution over one to three spatial axes; zero values are the
// defaults.
type ConvOptions = kernels.ConvOptions

// Pad returns a Padding with the same number of elements before and after each axis.
func Pad(sizes ...int) [3][2]int {
	if len(sizes) > 3 {
		fail("pad", ErrShape, "%d sizes %v; want at most 3, one for each spatial axis", len(sizes), sizes)
	}
	return kernels.Pad(sizes...)
}

// Conv returns the cross-correlation of x (N, in, …) with weights w (out, in/groups, …)
// over its one to three spatial axes, plus bias b (out), which may be nil. The result,
// (N, out, (size + padding − dilation·(k − 1) − 1)/stride + 1, …), is channels-last.
func Conv(x, w, b *Tensor, o ConvOptions) *Tensor {
	return withActivation(func(e epilogue) Op { return conv{o, e} }, o.Act, autocast(withBias(x, w, b)...))
}

// ConvTransposeOptions describe a transposed convolution.
type ConvTransposeOptions struct {
	ConvOptions
	OutputPadding [3]int // elements added at the end of each axis, fewer than the stride
}

// ConvTranspose returns the transposed convolution of x (N, in, …) with weights
// w (in, out/groups, …), plus bias b (out), which may be nil: the gradient of Conv with
// respect to its operand. The result, (N, out, (size − 1)·stride − padding +
// dilation·(k − 1) + output padding + 1, …), is channels-last.
func ConvTranspose(x, w, b *Tensor, o ConvTransposeOptions) *Tensor {
	shape, err := o.TransposedShape(x.Shape(), w.Shape(), o.OutputPadding)
	check("conv transpose", err)
	return withActivation(func(e epilogue) Op { return convTranspose{o.ConvOptions, e, shape} }, o.Act, autocast(withBias(x, w, b)...))
}

func withBias(x, w, b *Tensor) []*Tensor {
	if b == nil {
		return []*Tensor{x, w}
	}
	return []*Tensor{x, w, b}
}

// conv, convTranspose and convWeights are y, x and w of a convolution from the two
// others. The derivatives of each are the others, so that all can be differentiated
// any number of times.
type (
	conv struct {
		ConvOptions
		after epilogue
	}

	convTranspose struct {
		ConvOptions
		after epilogue
		shape []int // of the result
	}

	convWeights struct {
		ConvOptions
		w Spec
	}
)

func (conv) Name() string          { return "conv" }
func (convTranspose) Name() string { return "conv transpose" }
func (convWeights) Name() string   { return "conv weights" }

func (op conv) Infer(in []Spec) []Spec {
	wantFloat(op.Name(), in...)
	shape, err := op.Shape(in[0].Shape, in[1].Shape)
	check(op.Name(), err)
	wantBias(op.Name(), in[1], in[2:])
	return op.after.results(in[0].Type, views.ChannelsLast(shape...))
}

func (op convTranspose) Infer(in []Spec) []Spec {
	wantFloat(op.Name(), in...)
	for _, b := range in[2:] {
		if b.Rank() != 1 || b.Shape[0] != op.shape[1] {
			fail(op.Name(), ErrShape, "bias %v; want (%d)", b.Shape, op.shape[1])
		}
	}
	return op.after.results(in[0].Type, views.ChannelsLast(op.shape...))
}

func (op convWeights) Infer(in []Spec) []Spec {
	return []Spec{{Type: op.w.Type, View: views.Like(op.w.View)}}
}

func (op conv) Forward(c *Context, out, in []storage.Array) error {
	return c.Run(kernels.Conv, op.ConvOptions, out, in...)
}

func (op convTranspose) Forward(c *Context, out, in []storage.Array) error {
	z := out[len(out)-1:]
	err := c.Run(kernels.ConvGradX, op.bare(), z, in[:2]...)
	if err != nil || len(in) < 3 && op.Act == NoActivation {
		return err
	}
	if len(in) < 3 {
		return c.Run(op.Act.Kernel(), nil, out[:1], z...)
	}
	return c.Run(kernels.BiasAct, kernels.ActOptions{Act: op.Act}, out, z[0], in[2])
}

func (op convWeights) Forward(c *Context, out, in []storage.Array) error {
	return c.Run(kernels.ConvGradW, op.ConvOptions, out, in...)
}

func (op conv) Backward(out, grads, in []*Tensor) []*Tensor {
	x, w, bare := in[0], in[1], bare(op.ConvOptions)
	dz, db := op.after.grad(out, grads, optional(in, 2))
	return []*Tensor{
		x.ifNeeded(func() *Tensor { return Apply(convTranspose{ConvOptions: bare, shape: x.Shape()}, dz, w) }),
		w.ifNeeded(func() *Tensor { return Apply(convWeights{bare, w.Spec()}, x, dz) }),
		db,
	}[:len(in)]
}

func (op convTranspose) Backward(out, grads, in []*Tensor) []*Tensor {
	x, w, bare := in[0], in[1], op.bare()
	dz, db := op.after.grad(out, grads, optional(in, 2))
	return []*Tensor{
		x.ifNeeded(func() *Tensor { return Apply(conv{ConvOptions: bare}, dz, w) }),
		w.ifNeeded(func() *Tensor { return Apply(convWeights{bare, w.Spec()}, dz, x) }),
		db,
	}[:len(in)]
}

func (op convWeights) Backward(_, grads, in []*Tensor) []*Tensor {
	x, dy, dw := in[0], in[1], grads[0]
	return []*Tensor{
		x.ifNeeded(func() *Tensor { return Apply(convTranspose{ConvOptions: op.ConvOptions, shape: x.Shape()}, dy, dw) }),
		dy.ifNeeded(func() *Tensor { return Apply(conv{ConvOptions: op.ConvOptions}, x, dw) }),
	}
}

// bare returns the options without the activation.
func bare(o ConvOptions) ConvOptions {
	o.Act = NoActivation
	return o
}

func (op convTranspose) bare() ConvOptions { return bare(op.ConvOptions) }

func (op conv) epilogue() epilogue          { return op.after }
func (op convTranspose) epilogue() epilogue { return op.after }

func (op conv) withEpilogue(e epilogue) Op {
	op.after = e
	return op
}

func (op convTranspose) withEpilogue(e epilogue) Op {
	op.after = e
	return op
}

func init() {
	for _, s := range []struct {
		name string
		o    ConvOptions
		x, w []int
		bias bool
	}{
		{"conv 1d", ConvOptions{Stride: [3]int{2}, Padding: [3][2]int{{2, 1}}}, []int{2, 3, 6}, []int{4, 3, 3}, true},
		{"conv 2d", ConvOptions{}, []int{2, 3, 5, 4}, []int{4, 3, 3, 2}, true},
		{"conv 2d same relu", ConvOptions{Padding: Pad(1, 1), Act: ReLUActivation}, []int{2, 1, 5, 5}, []int{3, 1, 3, 3}, true},
		{"conv 2d gelu", ConvOptions{Padding: Pad(1, 1), Act: GELUActivation}, []int{2, 1, 5, 4}, []int{3, 1, 3, 3}, true},
		{"conv 2d silu", ConvOptions{Act: SiLUActivation}, []int{2, 2, 4, 4}, []int{3, 2, 3, 3}, false},
		{"conv 2d strided tanh", ConvOptions{Stride: [3]int{2, 2}, Padding: Pad(0, 1), Act: TanhActivation}, []int{2, 2, 6, 5}, []int{3, 2, 3, 3}, false},
		{"conv 2d dilated groups", ConvOptions{Dilation: [3]int{2, 1}, Groups: 2, Padding: [3][2]int{{1, 0}, {0, 1}}}, []int{1, 4, 5, 4}, []int{4, 2, 2, 3}, true},
		{"conv 2d depthwise", ConvOptions{Groups: 8, Padding: Pad(1, 1)}, []int{1, 8, 3, 3}, []int{8, 1, 3, 3}, true},
		{"conv 3d", ConvOptions{Stride: [3]int{1, 2, 1}, Padding: Pad(0, 1, 0)}, []int{1, 2, 3, 4, 3}, []int{2, 2, 2, 3, 2}, true},
	} {
		in := []samples.Input{samples.In(s.x...).Rows(), samples.In(s.w...)}
		if s.bias {
			in = append(in, samples.In(s.w[0]))
		}
		samples.Register(s.name, func(in ...*Tensor) *Tensor { return Conv(in[0], in[1], optional(in, 2), s.o) }, in...)
	}
	for _, s := range []struct {
		name string
		o    ConvTransposeOptions
		x, w []int
		bias int
	}{
		{"conv transpose 1d", ConvTransposeOptions{ConvOptions{Stride: [3]int{3}, Padding: [3][2]int{{1, 0}}}, [3]int{2}}, []int{2, 3, 3}, []int{3, 2, 4}, 2},
		{"conv transpose 2d", ConvTransposeOptions{ConvOptions{Stride: [3]int{2, 3}, Padding: Pad(1, 0), Act: ReLUActivation}, [3]int{1, 2}}, []int{2, 3, 3, 2}, []int{3, 2, 3, 3}, 2},
		{"conv transpose 2d dilated groups", ConvTransposeOptions{ConvOptions{Dilation: [3]int{1, 2}, Groups: 2, Act: TanhActivation}, [3]int{}}, []int{1, 4, 2, 3}, []int{4, 1, 2, 2}, 0},
		{"conv transpose 3d", ConvTransposeOptions{ConvOptions{Stride: [3]int{1, 2, 1}}, [3]int{0, 1}}, []int{1, 2, 2, 2, 2}, []int{2, 2, 2, 2, 1}, 2},
	} {
		in := []samples.Input{samples.In(s.x...).Rows(), samples.In(s.w...)}
		if s.bias > 0 {
			in = append(in, samples.In(s.bias))
		}
		samples.Register(s.name, func(in ...*Tensor) *Tensor { return ConvTranspose(in[0], in[1], optional(in, 2), s.o) }, in...)
	}
}
