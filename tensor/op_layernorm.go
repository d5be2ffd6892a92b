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
// variance of each sample: over the last axes of x, which have the given shape, as have
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

type layerNorm struct {
	shape        []int
	eps          float64
	mean, invstd *Tensor // of each sample
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

// rows returns the view of samples as rows, in the layout of v, which is row-major.
func (op *layerNorm) rows(v views.View) views.View {
	size := views.Of(op.shape...).Len()
	samples := 1
	for _, n := range v.Shape[:v.Rank()-len(op.shape)] {
		samples *= n
	}
	return views.View{Offset: v.Offset, Shape: []int{samples, size}, Stride: []int{size, 1}}
}

// asRows returns row-major arrays as matrices, and parameters as vectors.
func (op *layerNorm) asRows(c *Context, in []storage.Array) ([]storage.Array, error) {
	in, err := c.contiguous(in)
	if err != nil {
		return nil, err
	}
	all := slices.Clone(in)
	for i := range all {
		rows := op.rows(in[i].View)
		if i > 0 {
			rows = views.View{Offset: rows.Offset, Shape: rows.Shape[1:], Stride: rows.Stride[1:]}
		}
		all[i] = in[i].With(rows)
	}
	return all, nil
}

func (op *layerNorm) Forward(c *Context, out, in []storage.Array) (err error) {
	in, err = op.asRows(c, in)
	if err != nil {
		return err
	}
	statistic := in[0].Type
	if statistic.Size() == 2 { // those of 16-bit floats are float32
		statistic = dtype.Float32
	}
	for _, p := range []**Tensor{&op.mean, &op.invstd} {
		if *p, err = c.Save(statistic, views.Of(in[0].Shape[0])); err != nil {
			return err
		}
	}
	if out[0].Len() == 0 {
		return nil
	}
	y := out[0].With(op.rows(out[0].View))
	return c.Run(kernels.LayerNorm, kernels.LayerNormOptions{Epsilon: op.eps}, []storage.Array{y, op.mean.array, op.invstd.array}, in...)
}

func (op *layerNorm) Backward(out, grads, in []*Tensor) []*Tensor {
	x, dy := in[0], grads[0]
	if x.Len() == 0 {
		dxs := make([]*Tensor, len(in))
		for i, p := range in {
			dxs[i] = p.zeros(p.array.View)
		}
		return dxs
	}
	if !dy.noGrad {
		return op.recordedBackward(x, dy, in)
	}
	rows := op.rows(views.Of(x.Shape()...))
	operands := []*Tensor{x.Contiguous().Reshape(rows.Shape...), dy.Contiguous().Reshape(rows.Shape...), op.mean, op.invstd}
	specs := []Spec{{Type: x.DType(), View: rows}}
	if len(in) > 1 {
		column := Spec{Type: x.DType(), View: views.Of(rows.Shape[1])}
		operands, specs = append(operands, in[1].Contiguous().Reshape(rows.Shape[1])), append(specs, column, column)
	}
	dxs := RunKernel(kernels.LayerNormGrad, nil, specs, operands...)
	for i := range dxs {
		dxs[i] = dxs[i].Reshape(in[i].Shape()...)
	}
	return dxs
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
	axes = append(slices.Clone(axes), KeepDims)
	centered := x.Sub(x.Mean(axes...))
	std := centered.Mul(centered).Mean(axes...).AddScalar(eps).Sqrt()
	normal = centered.Div(std)
	return g.Sub(g.Mean(axes...)).Sub(normal.Mul(g.Mul(normal).Mean(axes...))).Div(std), normal
}

func init() {
	norm := func(shape ...int) func(in ...*Tensor) *Tensor {
		return func(in ...*Tensor) *Tensor { return LayerNorm(in[0], shape, optional(in, 1), optional(in, 2), 0) }
	}
	samples.Register("layer norm", norm(5), samples.In(4, 5).Rows(), samples.In(5), samples.In(5))
	samples.Register("layer norm", norm(3, 4), samples.In(2, 3, 4).Rows(), samples.In(3, 4), samples.In(3, 4))
	samples.Register("layer norm", norm(4), samples.In(2, 3, 4).Rows())
}
