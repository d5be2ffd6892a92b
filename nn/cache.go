package nn

import (
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// A Cache holds the keys and values of the tokens that a model of causal attention has seen, so that the next token needs the
// products of its own row alone. The inputs of the model are the tokens after those.
type Cache struct {
	length int // tokens seen
	max    int // tokens that there is room for
	parts  map[*MultiHeadAttention]*keyValues
}

// keyValues are the arrays of one layer: (N, heads, max, size).
type keyValues struct{ keys, values storage.Array }

// cached is implemented by layers that need to know of earlier tokens.
type cached interface{ setCache(c *Cache) }

// UseCache makes the layers of model keep up to max tokens in a cache, and Reset forgets them. Each batch continues the one
// before. A nil cache ends that. The model must not be used by several goroutines meanwhile.
func UseCache(model any, max int) *Cache {
	c := &Cache{max: max, parts: map[*MultiHeadAttention]*keyValues{}}
	setCache(model, c)
	return c
}

// EndCache makes the layers of model take whole sequences again.
func EndCache(model any) { setCache(model, nil) }

func setCache(model any, c *Cache) {
	for _, m := range Modules(model) {
		if layer, ok := m.(cached); ok {
			layer.setCache(c)
		}
	}
}

// Reset forgets all tokens.
func (c *Cache) Reset() { c.length = 0 }

// Advance counts n tokens, which the model has taken.
func (c *Cache) Advance(n int) { c.length += n }

// Len returns the number of tokens counted.
func (c *Cache) Len() int {
	if c == nil {
		return 0
	}
	return c.length
}

// extend writes keys and values (N, heads, T, size) behind those of layer m, and returns all.
func (c *Cache) extend(m *MultiHeadAttention, k, v *tensor.Tensor) (keys, values *tensor.Tensor) {
	last := c.length + k.Shape()[2]
	if last > c.max {
		tensor.Fail("attention", views.ErrShape, "%d tokens for a cache of %d", last, c.max)
	}
	part := c.parts[m]
	if part == nil {
		part = &keyValues{c.room(k), c.room(v)}
		c.parts[m] = part
	}
	write := func(all storage.Array, x *tensor.Tensor) *tensor.Tensor {
		if err := x.CopyTo(all.With(all.Narrow(2, c.length, last))); err != nil {
			tensor.Fail("attention", err, "cache: %v", err)
		}
		return tensor.FromArray(all.With(all.Narrow(2, 0, last)))
	}
	return write(part.keys, k), write(part.values, v)
}

// room returns an array for max tokens like those of x.
func (c *Cache) room(x *tensor.Tensor) storage.Array {
	shape := x.Shape()
	a, err := storage.Make(x.Device(), x.DType(), shape[0], shape[1], c.max, shape[3])
	if err != nil {
		tensor.Fail("attention", err, "cache: %v", err)
	}
	return a
}
