package nn

import (
	"fmt"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// To puts parameters and buffers on device d in the place of model's own, which
// stay as they are for whoever holds them. Layers not built yet will be built
// there. If something cannot move, nothing has.
func To(model any, d storage.Device) error {
	params, buffers := map[*Param]*Param{}, map[*Buffer]*Buffer{}
	if err := moved(model, d, func(p *Param, a storage.Array) {
		params[p] = &Param{Tensor: leafLike(p, a), fill: p.fill}
	}, func(b *Buffer, a storage.Array) { buffers[b] = NewBuffer(a) }); err != nil {
		return err
	}
	walk(model, visitor{
		every:  true,
		param:  func(name string, s slot[*Param]) bool { rebind(name, s, params[s.held]); return true },
		buffer: func(name string, s slot[*Buffer]) bool { rebind(name, s, buffers[s.held]); return true },
	})
	settle(model, d)
	return nil
}

// ToInPlace moves model's parameters and buffers to device d and keeps their
// identity: whoever holds one finds it moved. What was computed from them
// before cannot be differentiated any more. If something cannot move, nothing has.
func ToInPlace(model any, d storage.Device) error {
	var moves []func()
	if err := moved(model, d, func(p *Param, a storage.Array) {
		moves = append(moves, func() { p.Array = a })
	}, func(b *Buffer, a storage.Array) { moves = append(moves, func() { b.Array = a }) }); err != nil {
		return err
	}
	for _, move := range moves {
		move()
	}
	settle(model, d)
	return nil
}

// moved hands out what each parameter and buffer of model is on d.
func moved(model any, d storage.Device, param func(*Param, storage.Array), buffer func(*Buffer, storage.Array)) error {
	for name, p := range Params(model) {
		a, err := p.To(d)
		if err != nil {
			return fmt.Errorf("move %s to %v: %w", name, d, err)
		}
		param(p, a)
	}
	for name, b := range Buffers(model) {
		a, err := b.To(d)
		if err != nil {
			return fmt.Errorf("move %s to %v: %w", name, d, err)
		}
		buffer(b, a)
	}
	return nil
}

func leafLike(p *Param, a storage.Array) *tensor.Tensor {
	if p.RequiresGrad() {
		return tensor.Leaf(a)
	}
	return tensor.Of(a)
}

func rebind[T any](name string, s slot[T], to T) {
	if !s.set(to) {
		tensor.Fail("move", storage.ErrState, "%s is held by value and cannot be replaced; hand the model over by pointer, or use ToInPlace", name)
	}
}

// settle tells layers that build themselves later where to.
func settle(model any, d storage.Device) {
	for _, m := range Modules(model) {
		if l, ok := m.(lazy); ok {
			l.settle(d)
		}
	}
}
