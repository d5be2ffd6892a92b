package tensor

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
	"github.com/h5dnn/h5dnn/views"
)

// MaskedSelect returns the elements of x where mask, of bools and x's shape, is true, in
// row-major order. Their number depends on the values of mask, so this waits for the
// device: see [DynamicOp].
func (x *Tensor) MaskedSelect(mask *Tensor) *Tensor {
	return Apply(&maskedSelect{}, x.Contiguous(), mask)
}

type maskedSelect struct {
	rows   storage.Array // positions of the selected elements
	counts storage.Array // for each element, the number of selected ones before it
}

func (*maskedSelect) Name() string { return "masked select" }

func (op *maskedSelect) Infer(in []Spec) []Spec {
	x, mask := in[0], in[1]
	if mask.Type != dtype.Bool {
		fail(op.Name(), ErrType, "mask of %v; want bool", mask.Type)
	}
	if _, ok := mask.Broadcast(x.Shape...); !ok || mask.Rank() != x.Rank() || mask.Len() != x.Len() {
		fail(op.Name(), ErrShape, "mask %v for %v; want one shape", mask.Shape, x.Shape)
	}
	return one(x.Type, views.View{Shape: []int{-1}, Stride: []int{1}})
}

// Measure reads the mask on the host.
func (op *maskedSelect) Measure(c *Context, in []storage.Array) ([]Spec, error) {
	selected, err := storage.Read[bool](in[1])
	if err != nil {
		return nil, err
	}
	rows, counts := []int64{}, make([]int64, len(selected))
	for i, yes := range selected {
		counts[i] = int64(len(rows))
		if yes {
			rows = append(rows, int64(i))
		}
	}
	for i := range counts { // elements that are not selected need a row that exists
		counts[i] = min(counts[i], int64(max(0, len(rows)-1)))
	}
	if op.rows, err = storage.From(rows, len(rows)).To(in[0].Data.Device()); err != nil {
		return nil, err
	}
	op.counts, err = storage.From(counts, len(counts)).To(in[0].Data.Device())
	return one(in[0].Type, views.Of(len(rows))), err
}

func (op *maskedSelect) Forward(c *Context, out, in []storage.Array) error {
	if out[0].Len() == 0 {
		return nil
	}
	flat, err := in[0].Reshape(in[0].Len())
	if err != nil {
		return err
	}
	return c.Run(kernels.Take, nil, out, in[0].With(flat), op.rows)
}

// Backward takes, for each element, the gradient of the selected one that it may be.
func (op *maskedSelect) Backward(out, grads, in []*Tensor) []*Tensor {
	x, mask, dy := in[0], in[1], grads[0]
	if dy.Len() == 0 {
		return []*Tensor{dy.zeros(x.array.View), nil}
	}
	all := Take(dy, dy.sameStep(op.counts)).Reshape(x.Shape()...)
	return []*Tensor{Where(mask, all, all.constant(0)), nil}
}

var _ = samples.Register("masked select", func(in ...*Tensor) *Tensor { return in[0].MaskedSelect(in[1]) }, samples.In(3, 4), samples.In(3, 4).Of(samples.Bools))
