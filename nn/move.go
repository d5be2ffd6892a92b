package nn

import (
	"fmt"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// To replaces the parameters and buffers of model by copies on device d. The old
// ones are not changed. Layers that are not built yet will be built there. If
// something cannot be moved, nothing is.
func To(model any, d storage.Device) error {
	params, buffers := map[*Parameter]*Parameter{}, map[*Buffer]*Buffer{}
	if err := moveTo(model, d, func(p *Parameter, a storage.Array) {
		params[p] = &Parameter{Tensor: leafLike(p, a), fill: p.fill}
	}, func(b *Buffer, a storage.Array) { buffers[b] = NewBuffer(a) }); err != nil {
		return err
	}
	walk(model, visitor{
		every:  true,
		param:  func(name string, s reference[*Parameter]) bool { rebind(name, s, params[s.value]); return true },
		buffer: func(name string, s reference[*Buffer]) bool { rebind(name, s, buffers[s.value]); return true },
	})
	setDevice(model, d)
	return nil
}

// ToInPlace moves the parameters and buffers of model to device d and keeps their
// identity: pointers to them stay valid. Expressions computed from them before
// can no longer be differentiated. If something cannot be moved, nothing is.
func ToInPlace(model any, d storage.Device) error {
	var moves []func()
	if err := moveTo(model, d, func(p *Parameter, a storage.Array) {
		moves = append(moves, func() { p.SetArray(a) })
	}, func(b *Buffer, a storage.Array) { moves = append(moves, func() { b.Array = a }) }); err != nil {
		return err
	}
	for _, move := range moves {
		move()
	}
	setDevice(model, d)
	return nil
}

// moveTo calls param and buffer with a copy on d of each parameter and buffer.
func moveTo(model any, d storage.Device, param func(*Parameter, storage.Array), buffer func(*Buffer, storage.Array)) error {
	for name, p := range Parameters(model) {
		a, err := p.Array().To(d)
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

func leafLike(p *Parameter, a storage.Array) *tensor.Tensor {
	if p.RequiresGrad() {
		return tensor.Leaf(a)
	}
	return tensor.FromArray(a)
}

// rebind makes the model refer to another parameter or buffer.
func rebind[T any](name string, s reference[T], to T) {
	if !s.set(to) {
		tensor.Fail("move", storage.ErrState, "%s cannot be replaced in a model passed by value; pass a pointer, or use ToInPlace", name)
	}
}

// setDevice makes lazy layers build their parameters on d.
func setDevice(model any, d storage.Device) {
	for _, m := range Modules(model) {
		if l, ok := m.(Lazy); ok {
			l.SetDevice(d)
		}
	}
}
