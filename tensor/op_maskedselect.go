package tensor

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
	"github.com/h5dnn/h5dnn/views"
)

// MaskedSelect returns the elements of x where mask, of bools, is true, in row-major order; x and mask are broadcast
// together. Their number depends on the values of mask, so this waits for the device: see [DynamicOp].
func (x *Tensor) MaskedSelect(mask *Tensor) *Tensor {
	x, mask = broadcastTogether("masked select", x, mask)
	return x.Flatten(0).IndexSelect(0, mask.Flatten(0).Nonzero().Flatten(0))
}

// MaskedFill returns x with value, a Go number, where mask, of bools, is true; x and mask are broadcast together.
func (x *Tensor) MaskedFill(mask *Tensor, value any) *Tensor {
	return Where(mask, x.number("masked fill", x.DType(), numberOf("masked fill", value)).first(), x)
}

// broadcastTogether returns x and a mask in their common shape.
func broadcastTogether(act string, x, mask *Tensor) (*Tensor, *Tensor) {
	checkGiven(act, x, mask)
	x.checkFormat(act, &nonzero{})
	if mask.DType() != dtype.Bool {
		fail(act, ErrType, "mask of %v; want bool", mask.DType())
	}
	shape, ok := views.BroadcastShape(x.Shape(), mask.Shape())
	if !ok {
		fail(act, ErrShape, "mask %v for %v; they do not broadcast together", mask.Shape(), x.Shape())
	}
	return x.Expand(shape...), mask.Expand(shape...)
}

// Nonzero returns the places of the elements of x that are not 0, or true, as int64 (n, rank), in row-major order. Their
// number depends on the values of x, so this waits for the device: see [DynamicOp].
func (x *Tensor) Nonzero() *Tensor {
	checkGiven("nonzero", x)
	if x.DType() != dtype.Bool {
		x = x.NeScalar(0)
	}
	return Apply(&nonzero{}, x)
}

type nonzero struct{ places []int64 }

func (*nonzero) Name() string { return "nonzero" }

func (*nonzero) Infer(in []Spec) []Spec {
	return one(dtype.Int64, views.View{Shape: []int{-1, in[0].Rank()}, Stride: []int{in[0].Rank(), 1}})
}

// Measure reads the elements on the host.
func (op *nonzero) Measure(c *Context, in []storage.Array) ([]Spec, error) {
	elems, err := storage.Read[bool](in[0])
	if err != nil {
		return nil, err
	}
	place, n := make([]int64, in[0].Rank()), 0
	for _, yes := range elems {
		if yes {
			op.places = append(op.places, place...)
			n++
		}
		for axis := len(place) - 1; axis >= 0; axis-- {
			if place[axis]++; place[axis] < int64(in[0].Shape[axis]) {
				break
			}
			place[axis] = 0
		}
	}
	return one(dtype.Int64, views.Of(n, len(place))), nil
}

func (op *nonzero) Forward(c *Context, out, in []storage.Array) error {
	places, err := storage.From(op.places, out[0].Shape...).To(c.device)
	if err != nil {
		return err
	}
	return c.Run(kernels.Copy, nil, out, places)
}

func (op *nonzero) Backward(out, grads, in []*Tensor) []*Tensor { return []*Tensor{nil} }

var (
	_ = samples.Register("masked select", func(in ...*Tensor) *Tensor { return in[0].MaskedSelect(in[1]) }, samples.In(3, 4), samples.In(3, 4).Of(samples.Bools))
	_ = samples.Register("masked fill", func(in ...*Tensor) *Tensor { return in[0].MaskedFill(in[1], -1.5) }, samples.In(3, 4).Rows(), samples.In(4).Of(samples.Bools))
	_ = samples.Register("nonzero", unary((*Tensor).Nonzero), samples.In(3, 4).Of(samples.Bools).Rows())
)
