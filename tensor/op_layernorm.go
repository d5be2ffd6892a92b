package tensor

import (
	"cmp"
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
	"github.com/h5dnn/h5dnn/views"
)

// LayerNorm returns gamma·(x − mean)/√(variance + eps) + beta with the mean and the
// variance of each sample: over the last axes of x, of the given shape, which is that of
// gamma and beta (Ba et al., arXiv:1607.06450). Both may be nil. An eps of 0 is 1e-5.
func LayerNorm(x *Tensor, shape []int, gamma, beta *Tensor, eps float64) *Tensor {
	in := []*Tensor{x.ToFloat32()}
	if gamma != nil && beta != nil {
		in = append(in, gamma, beta)
	} else if gamma != nil || beta != nil {
		fail("layer norm", ErrState, "one of gamma and beta is nil; want both or none")
	}
	return Apply(&layerNorm{shape: slices.Clone(shape), eps: cmp.Or(eps, 1e-5)}, in...)
}

// layerNorm is a batch norm whose channels are the samples, followed by gamma and beta.
type layerNorm struct {
	shape                   []int
	eps                     float64
	normal                  *Tensor // (x − mean)·invstd, (1, samples, elements of each)
	one, zero, mean, invstd *Tensor // (samples)
}

func (*layerNorm) Name() string { return "layer norm" }

func (op *layerNorm) Infer(in []Spec) []Spec {
	x := in[0]
	wantFloat(op.Name(), in...)
	lead := x.Rank() - len(op.shape)
	if len(op.shape) == 0 || lead < 0 || !slices.Equal(x.Shape[lead:], op.shape) {
		fail(op.Name(), ErrShape, "%v does not end in the axes %v to normalize", x.Shape, op.shape)
	}
	for _, p := range in[1:] {
		if !slices.Equal(p.Shape, op.shape) || p.Type != x.Type {
			fail(op.Name(), ErrShape, "parameters %v%v; want %v%v", p.Type, p.Shape, x.Type, op.shape)
		}
	}
	return one(x.Type, views.Of(x.Shape...))
}

// flat returns the view of x's elements as a single image whose channels are samples.
func (op *layerNorm) flat(x views.View) views.View {
	size := views.Of(op.shape...).Len()
	return views.Of(1, x.Len()/max(1, size), size)
}

func (op *layerNorm) Forward(c *Context, out, in []storage.Array) (err error) {
	if out[0].Len() == 0 {
		return nil
	}
	tight, err := c.contiguous(in[:1])
	if err != nil {
		return err
	}
	v, err := tight[0].Reshape(op.flat(out[0].View).Shape...)
	if err != nil {
		return err
	}
	x, number := tight[0].With(v), in[0].Type
	if number.Size() == 2 { // the statistics of half floats are float32
		number = dtype.Float32
	}
	for _, p := range []**Tensor{&op.one, &op.zero, &op.mean, &op.invstd} {
		if *p, err = c.Save(number, views.Of(v.Shape[1])); err != nil {
			return err
		}
	}
	normal := out[0].With(op.flat(out[0].View))
	if len(in) > 1 && c.Recording() {
		if op.normal, err = c.Save(x.Type, views.Of(v.Shape...)); err != nil {
			return err
		}
		normal = op.normal.Array
	}
	err = cmp.Or(
		c.Run(kernels.Fill, kernels.FillOptions{Value: 1}, []storage.Array{op.one.Array}),
		c.Run(kernels.Fill, kernels.FillOptions{}, []storage.Array{op.zero.Array}),
		c.Run(kernels.BatchNorm, kernels.BatchNormOptions{Epsilon: op.eps}, []storage.Array{normal, op.mean.Array, op.invstd.Array}, x, op.one.Array, op.zero.Array),
	)
	if err != nil || len(in) == 1 {
		return err
	}
	whole := normal.With(views.Of(out[0].Shape...))
	return cmp.Or(
		c.Run(kernels.Mul, nil, out, whole, broadcastTo(in[1], out[0].Shape)),
		c.Run(kernels.Add, nil, out, out[0], broadcastTo(in[2], out[0].Shape)),
	)
}

func (op *layerNorm) Backward(out, grads, in []*Tensor) []*Tensor {
	x, dy := in[0], grads[0]
	if x.Len() == 0 {
		dxs := make([]*Tensor, len(in))
		for i, p := range in {
			dxs[i] = p.zeros(p.View)
		}
		return dxs
	}
	if !dy.noGrad {
		return op.recordedBackward(x, dy, in)
	}
	flat := op.flat(x.View)
	scaled := dy
	if len(in) > 1 {
		scaled = dy.Mul(in[1])
	}
	numbers := like(op.one)
	dx := RunKernel(kernels.BatchNormGrad, kernels.BatchNormOptions{Epsilon: op.eps}, []Spec{{Type: x.Type, View: flat}, numbers, numbers},
		x.Contiguous().Reshape(flat.Shape...), op.one, scaled.Contiguous().Reshape(flat.Shape...), op.mean, op.invstd)[0].Reshape(x.Shape...)
	if len(in) == 1 {
		return []*Tensor{dx}
	}
	return []*Tensor{
		dx,
		in[1].ifNeeded(func() *Tensor { return dy.Mul(op.normal.Reshape(x.Shape...)).sumTo(op.shape) }),
		in[2].ifNeeded(func() *Tensor { return dy.sumTo(op.shape) }),
	}
}

// recordedBackward is Backward in operations that can be recorded.
func (op *layerNorm) recordedBackward(x, dy *Tensor, in []*Tensor) []*Tensor {
	axes := make([]int, len(op.shape))
	for i := range axes {
		axes[i] = x.Rank() - len(op.shape) + i
	}
	if len(in) == 1 {
		dx, _ := normGrad(x, dy, axes, op.eps)
		return []*Tensor{dx}
	}
	dx, normal := normGrad(x, dy.Mul(in[1]), axes, op.eps)
	return []*Tensor{dx, dy.Mul(normal).sumTo(op.shape), dy.sumTo(op.shape)}
}

// normGrad returns normal = (x − mean)/√(variance + eps) over axes, and the gradient of x
// for the gradient g of normal, in operations that can be recorded:
// dx = (g − mean(g) − normal·mean(g·normal))/√(variance + eps).
func normGrad(x, g *Tensor, axes []int, eps float64) (dx, normal *Tensor) {
	centered := x.Sub(x.MeanKeepDims(axes...))
	std := centered.Mul(centered).MeanKeepDims(axes...).AddScalar(eps).Sqrt()
	normal = centered.Div(std)
	return g.Sub(g.MeanKeepDims(axes...)).Sub(normal.Mul(g.Mul(normal).MeanKeepDims(axes...))).Div(std), normal
}

func init() {
	norm := func(shape ...int) func(in ...*Tensor) *Tensor {
		return func(in ...*Tensor) *Tensor { return LayerNorm(in[0], shape, optional(in, 1), optional(in, 2), 0) }
	}
	samples.Register("layer norm", norm(5), samples.In(4, 5).Rows(), samples.In(5), samples.In(5))
	samples.Register("layer norm", norm(3, 4), samples.In(2, 3, 4).Rows(), samples.In(3, 4), samples.In(3, 4))
	samples.Register("layer norm", norm(4), samples.In(2, 3, 4).Rows())
}
