package tensor

import (
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
	"github.com/h5dnn/h5dnn/views"
)

// PoolOptions describe pooling over one to three spatial axes.
type PoolOptions = kernels.PoolOptions

// MaxPool returns the maximum of each window of x (N, C, …) over its one to three spatial
// axes. Padding counts as −∞; the gradient goes to the first of equal maxima.
func (x *Tensor) MaxPool(o PoolOptions) *Tensor { return Apply(&maxPool{PoolOptions: o}, x) }

// MaxPoolWithIndices is MaxPool that also returns, as int32, the index of each maximum
// among the elements of its image, row-major.
func (x *Tensor) MaxPoolWithIndices(o PoolOptions) (values, indices *Tensor) {
	both := ApplyAll(&maxPool{PoolOptions: o, returnIndices: true}, x)
	return both[0], both[1]
}

// AvgPool returns the mean of each window of x (N, C, …) over its one to three spatial
// axes. Padding counts as zeros.
func (x *Tensor) AvgPool(o PoolOptions) *Tensor { return Apply(avgPool{o}, x) }

// GlobalMaxPool returns the maximum of each channel of x (N, C, …): (N, C, 1, …).
func (x *Tensor) GlobalMaxPool() *Tensor {
	checkImages("global max pool", x)
	var o PoolOptions
	copy(o.Kernel[:], x.Shape()[2:])
	return x.MaxPool(o)
}

// GlobalAvgPool returns the mean of each channel of x (N, C, …): (N, C, 1, …).
func (x *Tensor) GlobalAvgPool() *Tensor {
	checkImages("global average pool", x)
	return x.Mean(append(without(0, x.Rank())[1:], KeepDims)...)
}

func checkImages(op string, x *Tensor) {
	if x.Rank() < 3 || x.Rank() > 5 {
		fail(op, ErrShape, "of %v; want (N, C, …) with one to three spatial axes", x.Shape())
	}
}

type maxPool struct {
	PoolOptions
	returnIndices bool
	indices       *Tensor // saved for Backward, if they are not a result
	ofReLU        bool    // the gradient is passed on through the ReLU that computed the operand
}

func (*maxPool) Name() string { return "max pool" }

func (op *maxPool) Infer(in []Spec) []Spec {
	out := pooled(op.Name(), op.PoolOptions, in[0])
	if op.returnIndices {
		out = append(out, Spec{Type: dtype.Int32, View: views.Like(out[0].View)})
	}
	return out
}

// pooled describes the result of pooling x; it has the layout of x, or is row-major.
func pooled(op string, o PoolOptions, x Spec) []Spec {
	wantFloat(op, x)
	shape, err := o.Shape(x.Shape)
	check(op, err)
	if like := views.Like(x.View); like.Stride[1] == 1 && !x.PreferRowMajor {
		return one(x.Type, views.ChannelsLast(shape...))
	}
	return one(x.Type, views.Of(shape...))
}

func (op *maxPool) Forward(c *Context, out, in []storage.Array) (err error) {
	if !op.returnIndices && c.Recording() {
		if op.indices, err = c.Save(dtype.Int32, views.Like(out[0].View)); err != nil {
			return err
		}
		return c.Run(kernels.MaxPool, op.PoolOptions, []storage.Array{out[0], op.indices.array}, in...)
	}
	return c.Run(kernels.MaxPool, op.PoolOptions, out, in...)
}

func (op *maxPool) Backward(out, grads, in []*Tensor) []*Tensor {
	indices := op.indices
	if op.returnIndices {
		indices = out[1]
	}
	all := []*Tensor{grads[0], indices}
	if op.ofReLU {
		all = append(all, out[0])
	}
	return []*Tensor{runKernel(kernels.MaxPoolGrad, op.PoolOptions, like(in[0]), all...)}
}

// through returns op with the gradient of the ReLU before it: y is positive where the maximum was. On a GPU it returns nil, as the
// kernel of a ReLU's gradient sums that of the bias too, which would take launches of its own.
func (op *maxPool) through(before fusable, out, grads []*Tensor) Op {
	y, dy := out[0], grads[0]
	if y.Device() != storage.CPU || before.epilogue() != (epilogue{act: ReLUActivation}) || dy == nil || !dy.noGrad || !slices.Equal(y.Strides(), dy.Strides()) || y.StorageOffset() != dy.StorageOffset() {
		return nil
	}
	after := *op
	after.ofReLU = true
	return &after
}

// avgPool and avgPoolGrad are each the other's derivative.
type (
	avgPool     struct{ PoolOptions }
	avgPoolGrad struct {
		PoolOptions
		x Spec
	}
)

func (avgPool) Name() string     { return "average pool" }
func (avgPoolGrad) Name() string { return "average pool gradient" }

func (op avgPool) Infer(in []Spec) []Spec { return pooled(op.Name(), op.PoolOptions, in[0]) }

func (op avgPoolGrad) Infer([]Spec) []Spec { return one(op.x.Type, views.Like(op.x.View)) }

func (op avgPool) Forward(c *Context, out, in []storage.Array) error {
	return c.Run(kernels.AvgPool, op.PoolOptions, out, in...)
}

func (op avgPoolGrad) Forward(c *Context, out, in []storage.Array) error {
	return c.Run(kernels.AvgPoolGrad, op.PoolOptions, out, in...)
}

func (op avgPool) Backward(_, grads, in []*Tensor) []*Tensor {
	return []*Tensor{Apply(avgPoolGrad{op.PoolOptions, in[0].Spec()}, grads[0])}
}

func (op avgPoolGrad) Backward(_, grads, _ []*Tensor) []*Tensor {
	return []*Tensor{Apply(avgPool{op.PoolOptions}, grads[0])}
}

func init() {
	for _, s := range []struct {
		axes string
		o    PoolOptions
		x    []int
	}{
		{"2d", PoolOptions{Kernel: [3]int{2, 2}}, []int{2, 3, 5, 4}},
		{"2d", PoolOptions{Kernel: [3]int{3, 2}, Stride: [3]int{2, 1}, Padding: Pad(1, 0)}, []int{2, 3, 5, 4}},
		{"1d", PoolOptions{Kernel: [3]int{3}, Stride: [3]int{2}, Padding: Pad(1), Ceil: true, ExcludePadding: true}, []int{2, 2, 6}},
		{"3d", PoolOptions{Kernel: [3]int{2, 2, 3}, Stride: [3]int{1, 2, 2}, Padding: [3][2]int{{0, 0}, {1, 0}, {0, 1}}}, []int{1, 2, 3, 3, 4}},
	} {
		samples.Register("max pool "+s.axes, unary(func(x *Tensor) *Tensor { return x.MaxPool(s.o) }), samples.In(s.x...).Of(samples.Distinct).Rows())
		samples.Register("average pool "+s.axes, unary(func(x *Tensor) *Tensor { return x.AvgPool(s.o) }), samples.In(s.x...).Rows())
	}
	dilated := PoolOptions{Kernel: [3]int{2, 2}, Stride: [3]int{1, 1}, Dilation: [3]int{2, 1}}
	samples.Register("indices of max pool", unary(func(x *Tensor) *Tensor { _, indices := x.MaxPoolWithIndices(dilated); return indices }), samples.In(2, 3, 5, 4).Of(samples.Distinct).Rows())
	samples.Register("max pool dilated", unary(func(x *Tensor) *Tensor { values, _ := x.MaxPoolWithIndices(dilated); return values }), samples.In(2, 3, 5, 4).Of(samples.Distinct).Rows())
	samples.Register("max pool global", unary((*Tensor).GlobalMaxPool), samples.In(2, 3, 4, 3).Of(samples.Distinct).Rows())
	samples.Register("average pool global", unary((*Tensor).GlobalAvgPool), samples.In(2, 3, 4).Rows())
}
