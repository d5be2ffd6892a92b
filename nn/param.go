package nn

import (
	"hash/fnv"
	"reflect"
	"sync/atomic"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// A Param is a tensor that training changes. A field of type *Param makes what
// it points to a parameter of its struct.
type Param struct {
	*tensor.Tensor
	fill Fill // what it started as; nil if that came from outside
}

// NewParam makes a a parameter. It shares a's elements.
func NewParam(a storage.Array) *Param { return &Param{Tensor: tensor.Leaf(a)} }

// A Buffer is an array that belongs to a model's state but is not trained, such
// as a running mean. It is saved, loaded and moved with the parameters.
type Buffer struct{ storage.Array }

// NewBuffer makes a a buffer. It shares a's elements.
func NewBuffer(a storage.Array) *Buffer { return &Buffer{a} }

// tensorOf is p's tensor, nil for a parameter that a layer does without.
func (p *Param) tensorOf() *tensor.Tensor {
	if p == nil {
		return nil
	}
	return p.Tensor
}

// maxElements is how many elements a parameter may have, so that a mistake in a
// configuration is an error and not the end of the machine's memory.
const maxElements = 1 << 31

// make returns an uninitialised array for a layer.
func (at place) make(shape ...int) storage.Array {
	count := 1
	for _, size := range shape {
		if size < 1 || size > maxElements/count {
			tensor.Fail(at.layer, views.ErrShape, "a parameter of shape %v; want positive sizes and at most %d elements", shape, maxElements)
		}
		count *= size
	}
	a, err := storage.Make(at.device, at.dtype, shape...)
	if err != nil {
		tensor.Fail(at.layer, err, "parameter %v: %v", shape, err)
	}
	return a
}

// A place is where and as what type a layer keeps what it makes.
type place struct {
	layer  string
	device storage.Device
	dtype  dtype.Type
}

// placeOf returns a place for layer, on the CPU and of float32 unless said otherwise.
func placeOf(layer string, d storage.Device, t dtype.Type) place {
	if d == nil {
		d = storage.CPU
	}
	if t == dtype.Invalid {
		t = dtype.Float32
	}
	if t != dtype.Float32 && t != dtype.Float64 {
		tensor.Fail(layer, dtype.ErrType, "parameters of %v; want float32 or float64", t)
	}
	return place{layer, d, t}
}

func (at place) param(fill Fill, key tensor.Key, shape ...int) *Param {
	p := NewParam(at.make(shape...))
	p.fill = fill
	fill(p.Array, key)
	return p
}

func (at place) buffer(fill Fill, shape ...int) *Buffer {
	b := NewBuffer(at.make(shape...))
	fill(b.Array, tensor.Key{})
	return b
}

// An origin is where the first values of a layer's parameters are drawn from.
type origin struct {
	seed uint64
	name string // of the layer in its model
	set  bool
}

// key returns the random stream of the parameter called name.
func (o origin) key(name string) tensor.Key {
	if !o.set {
		return tensor.Key{Stream: made.Add(1)}
	}
	return keyOf(o.seed, join(o.name, name))
}

// made counts the parameters that were made without a seed of their own.
var made atomic.Uint64

// keyOf returns the random stream of the parameter of that full name.
func keyOf(seed uint64, name string) tensor.Key {
	h := fnv.New64a()
	h.Write([]byte(name))
	return tensor.Key{Seed: seed, Stream: h.Sum64()}
}

// Init draws the parameters of model anew, those of layers still to be built
// included. Each follows from seed and its name alone: equal seeds give equal
// models, however they were built. Parameters made by NewParam stay as they are.
func Init(model any, seed uint64) {
	for name, p := range Params(model) {
		if p.fill != nil {
			p.fill(p.Array, keyOf(seed, name))
		}
	}
	for name, m := range Modules(model) {
		if l, ok := m.(lazy); ok {
			l.plant(origin{seed, name, true})
		}
	}
}

// isNil reports whether m holds no module, typed or not.
func isNil(m Module) bool {
	v := reflect.ValueOf(m)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}
