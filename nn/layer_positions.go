package nn

import (
	"math"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// PositionsOptions are the settings of Positions.
type PositionsOptions struct {
	MaxLen       int            `json:"max_len"`                 // steps of the longest sequence; required
	EmbeddingDim int            `json:"embedding_dim,omitempty"` // features of a step; taken from the first input if 0
	Kind         string         `json:"kind,omitempty"`          // learnt (or empty) or sinusoidal
	DType        dtype.Type     `json:"dtype,omitzero"`          // the first input's if absent; float32 if embedding_dim is given
	Device       storage.Device `json:"-" nn:"-"`                // the first input's if nil; the CPU if embedding_dim is given
}

// Positions adds to each step of x (N, T, features) a vector that says where it is: a row of Weight, which is trained, or, if they are
// sinusoidal, sin(t/10000^(2i/D)) and cos(t/10000^(2i/D)) in the features 2i and 2i+1 (Vaswani et al., arXiv:1706.03762, section 3.5).
type Positions struct {
	PositionsOptions
	deferred
	Weight *Parameter // MaxLen × EmbeddingDim; nil if the positions are sinusoidal

	cache  *Cache
	tables constants
}

// NewPositions returns Positions, built if EmbeddingDim is given. MaxLen is required.
func NewPositions(o PositionsOptions) *Positions {
	switch {
	case o.MaxLen < 1 || o.EmbeddingDim < 0:
		tensor.Fail("positions", views.ErrShape, "max_len %d, embedding_dim %d; want at least 1 of each", o.MaxLen, o.EmbeddingDim)
	case o.Kind != "" && o.Kind != "learnt" && o.Kind != "sinusoidal":
		tensor.Fail("positions", ErrConfig, "kind %q; want learnt or sinusoidal", o.Kind)
	}
	p := &Positions{PositionsOptions: o}
	p.prepare("positions", o.EmbeddingDim > 0, deferral{
		p, &p.Device, &p.DType, func(x *tensor.Tensor) { p.EmbeddingDim = features(x) },
		func(alloc Allocator) {
			if p.Kind != "sinusoidal" {
				p.Weight = alloc.Param(NormalFill(0.02), p.MaxLen, p.EmbeddingDim)
			}
		},
	})
	return p
}

// Forward returns x with its positions added.
func (p *Positions) Forward(x *tensor.Tensor) *tensor.Tensor {
	p.buildFor("positions", x)
	first := p.cache.Len()
	if x.Rank() != 3 || x.Shape()[2] != p.EmbeddingDim || first+x.Shape()[1] > p.MaxLen {
		tensor.Fail("positions", views.ErrShape, "input %v after %d steps; want (samples, steps, %d) and at most %d steps", x.Shape(), first, p.EmbeddingDim, p.MaxLen)
	}
	var table *tensor.Tensor
	if p.Weight != nil {
		checkDevice("positions", x, p.Weight.Device())
		table = p.Weight.Tensor
	} else {
		table = p.tables.on(x, "", p.sinusoids)
	}
	return x.Add(table.Narrow(0, first, x.Shape()[1]))
}

// sinusoids returns the table of sinusoidal positions.
func (p *Positions) sinusoids() *tensor.Tensor {
	pairs := (p.EmbeddingDim + 1) / 2
	a := angles(p.MaxLen, pairs, 10000, p.EmbeddingDim)
	return tensor.Stack(-1, a.Sin(), a.Cos()).Reshape(p.MaxLen, 2*pairs).Narrow(1, 0, p.EmbeddingDim).Cast(p.DType).Contiguous()
}

// angles returns t/base^(2i/dim) for t below steps and i below pairs, in float64.
func angles(steps, pairs int, base float64, dim int) *tensor.Tensor {
	a := make([]float64, steps*pairs)
	for t := range steps {
		for i := range pairs {
			a[t*pairs+i] = float64(t) / math.Pow(base, float64(2*i)/float64(dim))
		}
	}
	return tensor.FromSlice(a, steps, pairs)
}

func (p *Positions) setCache(c *Cache) { p.cache = c }

var _ = RegisterLayer("positions", NewPositions, PositionsOptions{})
