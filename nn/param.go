package nn

import (
	"hash/fnv"
	"reflect"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// A Parameter is a trainable tensor. A field of type *Parameter is a parameter of the
// module that holds it.
type Parameter struct {
	*tensor.Tensor
	fill Fill // sets the initial values; nil if NewParameter was given them
}

// NewParameter returns a parameter that shares the elements of a.
func NewParameter(a storage.Array) *Parameter { return &Parameter{Tensor: tensor.Leaf(a)} }

// A Buffer is an array of a model's state that is not trained, such as a running
// mean. It is saved, loaded and moved with the parameters.
type Buffer struct{ storage.Array }

// NewBuffer returns a buffer that shares the elements of a.
func NewBuffer(a storage.Array) *Buffer { return &Buffer{a} }

// tensorOf returns the tensor of p, nil if p is nil.
func (p *Parameter) tensorOf() *tensor.Tensor {
	if p == nil {
		return nil
	}
	return p.Tensor
}

// maxElements bounds the elements of a parameter, so that a mistake in a
// configuration is an error instead of exhausting memory.
const maxElements = 1 << 31

// make returns an uninitialised array for a layer.
func (al Allocator) make(shape ...int) storage.Array {
	count := 1
	for _, size := range shape {
		if size < 1 || size > maxElements/count {
			tensor.Fail(al.Layer, views.ErrShape, "a parameter of shape %v; want positive sizes and at most %d elements", shape, maxElements)
		}
		count *= size
	}
	a, err := storage.Make(al.Device, al.DType, shape...)
	if err != nil {
		tensor.Fail(al.Layer, err, "parameter %v: %v", shape, err)
	}
	return a
}

// An Allocator makes the parameters and buffers of a layer.
type Allocator struct {
	Layer  string // name for failures
	Device storage.Device
	DType  dtype.Type
}

// NewAllocator returns an allocator for layer, on the CPU if d is nil, of float32
// if t is Invalid.
func NewAllocator(layer string, d storage.Device, t dtype.Type) Allocator {
	if d == nil {
		d = storage.CPU
	}
	if t == dtype.Invalid {
		t = dtype.Float32
	}
	if t != dtype.Float32 && t != dtype.Float64 {
		tensor.Fail(layer, dtype.ErrType, "parameters of %v; want float32 or float64", t)
	}
	return Allocator{layer, d, t}
}

// Param returns a parameter of that shape with initial values from fill, which
// Init draws anew.
func (al Allocator) Param(fill Fill, shape ...int) *Parameter {
	return al.param(fill, InitSource{}.key(""), shape...)
}

func (al Allocator) param(fill Fill, key tensor.Key, shape ...int) *Parameter {
	p := NewParameter(al.make(shape...))
	p.fill = fill
	fill(p.Array(), key)
	return p
}

// Buffer returns a buffer of that shape with values from fill.
func (al Allocator) Buffer(fill Fill, shape ...int) *Buffer {
	b := NewBuffer(al.make(shape...))
	fill(b.Array, tensor.Key{})
	return b
}

// An InitSource is the random source of a layer's initial parameters.
type InitSource struct {
	seed uint64
	name string // of the layer in its model
	set  bool
}

// key returns the random stream of the parameter called name.
func (o InitSource) key(name string) tensor.Key {
	if !o.set {
		return tensor.NextInitialKey()
	}
	return keyOf(o.seed, join(o.name, name))
}

// keyOf returns the random stream of the parameter with that full name.
func keyOf(seed uint64, name string) tensor.Key {
	h := fnv.New64a()
	h.Write([]byte(name))
	return tensor.Key{Seed: seed, Stream: h.Sum64()}
}

// Init sets the parameters of model to random initial values, also in
// layers that are built later. Each follows from seed and the parameter's name
// alone, so equal seeds give equal models. Parameters made by NewParameter are not
// changed.
func Init(model any, seed uint64) {
	for name, p := range Parameters(model) {
		if p.fill != nil {
			p.fill(p.Array(), keyOf(seed, name))
		}
	}
	for name, m := range Modules(model) {
		if l, ok := m.(Lazy); ok {
			l.SetInit(InitSource{seed, name, true})
		}
	}
}

// isNil reports whether m is nil or holds a nil pointer.
func isNil(m Module) bool {
	v := reflect.ValueOf(m)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}
