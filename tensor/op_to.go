package tensor

import (
	"time"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
	"github.com/h5dnn/h5dnn/views"
)

// To returns x on a device, as a type, or both: each target is a storage.Device, its name
// such as "cpu" or "cuda:0" (see [storage.DeviceNamed]), or a dtype.Type, as [Tensor.Cast]
// converts. It returns x itself if there is nothing to do; a copy on another device is
// row-major. Gradients flow through it, back to the device of x.
func (x *Tensor) To(targets ...any) *Tensor {
	d, t := x.Device(), x.DType()
	for _, target := range targets {
		switch target := target.(type) {
		case storage.Device:
			d = target
		case string:
			var err error
			d, err = storage.DeviceNamed(target)
			check("to", err)
		case dtype.Type:
			t = target
		default:
			fail("to", storage.ErrDevice, "%T; want a device, the name of one, or a type", target)
		}
	}
	if t.Size() < x.DType().Size() {
		return x.Cast(t).moved(d)
	}
	return x.moved(d).Cast(t)
}

// CPU returns x in memory of the host: x itself if it is there.
func (x *Tensor) CPU() *Tensor { return x.moved(storage.CPU) }

func (x *Tensor) moved(d storage.Device) *Tensor {
	if d == x.Device() {
		return x
	}
	return applyOn(d, nil, &move{from: x.Device()}, []*Tensor{x})[0]
}

// move is the identity, from one device to another.
type move struct{ from storage.Device }

func (move) Name() string { return "to" }

func (move) Infer(in []Spec) []Spec {
	return []Spec{{Type: in[0].Type, View: views.Of(in[0].Shape...), Format: in[0].Format}}
}

func (move) Forward(c *Context, out, in []storage.Array) error {
	if c.device == Meta {
		return nil
	}
	defer countRead(in[0], time.Now())
	return in[0].CopyTo(out[0])
}

func (op move) Backward(out, grads, in []*Tensor) []*Tensor {
	return []*Tensor{grads[0].moved(op.from)}
}

var _ = samples.Register("to", unary(func(x *Tensor) *Tensor { return x.To(dtype.Float64).To(x.DType(), x.Device()) }), samples.In(3, 4))
