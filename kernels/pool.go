package kernels

import (
	"fmt"
	"math"
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// Pool2dOptions are the options of pooling, down and across. A zero stride is the
// kernel's size. Padding is less than that.
type Pool2dOptions struct{ Kernel, Stride, Padding [2]int }

// MaxPool2d is the maximum over windows of x (N,C,H,W): Out y and, if wanted,
// where in its window (row by row from its corner, padding included) the first
// maximum stands, as uint8 or int32. A NaN is more than anything.
var MaxPool2d = poolKernel("max pool", 2, 1, findMaxPool, (*pool).maxPool, referenceMaxPool[float32], referenceMaxPool[float64])

// MaxPool2dGrad is the gradient of MaxPool2d to x: Out dx; In dy and the index. A
// third input y, laid out as dy, is MaxPool2d's output where x was a relu's: the
// gradient is then that to the relu's input, 0 where y is not positive.
var MaxPool2dGrad = poolKernel("max pool grad", 1, 3, findMaxPoolGrad, (*pool).maxPoolGrad, referenceMaxPoolGrad[float32], referenceMaxPoolGrad[float64])

// AvgPool2d is the mean over windows of x (N,C,H,W), in which padding counts as zeros.
var AvgPool2d = poolKernel("average pool", 1, 1, findAvgPool, (*pool).avgPool, referenceAvgPool[float32], referenceAvgPool[float64])

// AvgPool2dGrad is the gradient of AvgPool2d to x: Out dx; In dy.
var AvgPool2dGrad = poolKernel("average pool grad", 1, 1, findAvgPoolGrad, (*pool).avgPoolGrad, referenceAvgPoolGrad[float32], referenceAvgPoolGrad[float64])

// A pool is a checked call: x and y or the gradients that lie where they do, and
// the winners, nil where there are none.
type pool struct {
	x, y, at *storage.Array
	relu     *storage.Array // nil, or the output of a relu that was pooled
	options  Pool2dOptions
}

func findMaxPool(c *Call) pool {
	p := pool{x: &c.In[0], y: &c.Out[0]}
	if len(c.Out) == 2 {
		p.at = &c.Out[1]
	}
	return p
}
func findMaxPoolGrad(c *Call) pool {
	return pool{x: &c.Out[0], y: &c.In[0], at: &c.In[1], relu: third(c.In)}
}
func findAvgPool(c *Call) pool     { return pool{x: &c.In[0], y: &c.Out[0]} }
func findAvgPoolGrad(c *Call) pool { return pool{x: &c.Out[0], y: &c.In[0]} }

func poolKernel(name string, outs, ins int, find func(c *Call) pool, optimized func(p *pool, g *native.Windows, real native.Real), f32, f64 func(p *pool)) *Kernel {
	whole := func(c *Call, options Pool2dOptions) pool {
		p := find(c)
		p.options = options.withDefaults()
		return p
	}
	return withHalfFloats(define(name,
		func(c *Call, options Pool2dOptions) error {
			if err := c.holds(min(max(len(c.Out), 1), outs), min(max(len(c.In), ins/2+ins%2), ins)); err != nil {
				return err
			}
			p := whole(c, options)
			return p.check()
		},
		func(c *Call, options Pool2dOptions) error {
			if p := whole(c, options); p.x.Type == dtype.Float64 {
				f64(&p)
			} else {
				f32(&p)
			}
			return nil
		},
		func(c *Call, options Pool2dOptions) (bool, error) {
			p := whole(c, options)
			if p.x.Len() > 0 && p.y.Len() > 0 {
				g, real := p.windows()
				optimized(&p, &g, real)
				return true, nil
			}
			return false, nil
		}))
}

// whole returns the options with zero strides as the kernel's size.
func (s Pool2dOptions) withDefaults() Pool2dOptions {
	for i, stride := range s.Stride {
		if stride == 0 {
			s.Stride[i] = s.Kernel[i]
		}
	}
	return s
}

// check returns an error unless types and shapes are those of one pooling.
func (p *pool) check() error {
	if err := allFloats(*p.x, *p.y); err != nil {
		return err
	}
	x, y := p.x.Shape, p.y.Shape
	if len(x) != 4 || len(y) != 4 {
		return fmt.Errorf("shapes %v and %v; want (N,C,H,W): %w", x, y, views.ErrShape)
	}
	want := [4]int{x[0], x[1]}
	for i := range 2 {
		if p.options.Padding[i] >= max(p.options.Kernel[i], 1) {
			return fmt.Errorf("padding %d is not less than the window's %d: %w", p.options.Padding[i], p.options.Kernel[i], views.ErrShape)
		}
		n, err := windows(x[2+i], p.options.Kernel[i], p.options.Stride[i], p.options.Padding[i])
		if err != nil {
			return fmt.Errorf("%v: %w", x, err)
		}
		want[2+i] = n
	}
	if [4]int(y) != want {
		return fmt.Errorf("%v makes %v, not %v: %w", x, want, y, views.ErrShape)
	}
	if p.x.Len() == 0 && p.y.Len() > 0 {
		return fmt.Errorf("windows of %v hold padding only: %w", x, views.ErrShape)
	}
	return p.checkIndex(want)
}

func (p *pool) checkIndex(want [4]int) error {
	if r := p.relu; r != nil && (r.Type != p.y.Type || r.Offset != p.y.Offset || !slices.Equal(r.Shape, p.y.Shape) || !slices.Equal(r.Stride, p.y.Stride)) {
		return fmt.Errorf("the relu's %v does not lie as %v does: %w", *r, *p.y, views.ErrShape)
	}
	if p.at == nil {
		return nil
	}
	if p.at.Type != dtype.Uint8 && p.at.Type != dtype.Int32 {
		return fmt.Errorf("index is %v; want uint8 or int32: %w", p.at.Type, dtype.ErrType)
	}
	if taps := p.options.Kernel[0] * p.options.Kernel[1]; p.at.Type == dtype.Uint8 && taps > 256 || taps > math.MaxInt32 {
		return fmt.Errorf("an index of %v cannot tell %d places apart; use int32: %w", p.at.Type, taps, dtype.ErrType)
	}
	if p.at.Rank() != 4 || [4]int(p.at.Shape) != want {
		return fmt.Errorf("index is %v; want %v: %w", p.at.Shape, want, views.ErrShape)
	}
	return nil
}

// windows describes the pooling to C.
func (p *pool) windows() (g native.Windows, real native.Real) {
	g.N, g.C = int64(p.x.Shape[0]), int64(p.x.Shape[1])
	for i := range 2 {
		g.Size[i], g.Out[i] = int64(p.x.Shape[2+i]), int64(p.y.Shape[2+i])
		g.Kernel[i], g.Stride[i], g.Pad[i] = int64(p.options.Kernel[i]), int64(p.options.Stride[i]), int64(p.options.Padding[i])
	}
	for i := range 4 {
		g.X[i], g.Y[i] = int64(p.x.Stride[i]), int64(p.y.Stride[i])
		if p.at != nil {
			g.At[i] = int64(p.at.Stride[i])
		}
	}
	if p.at != nil {
		g.AtSize = int64(p.at.Type.Size())
	}
	if p.options.Stride[0] >= p.options.Kernel[0] && p.options.Stride[1] >= p.options.Kernel[1] {
		g.Apart = 1
	}
	real, _ = native.RealOf(p.x.Type)
	return g, real
}

func (p *pool) maxPool(g *native.Windows, real native.Real) {
	g.MaxPool(real, start(p.y), start(p.at), start(p.x))
}

func (p *pool) maxPoolGrad(g *native.Windows, real native.Real) {
	g.MaxPoolGrad(real, start(p.x), start(p.y), start(p.at), start(p.relu))
}

func (p *pool) avgPool(g *native.Windows, real native.Real) {
	g.AvgPool(real, start(p.y), start(p.x))
}

func (p *pool) avgPoolGrad(g *native.Windows, real native.Real) {
	g.AvgPoolGrad(real, start(p.x), start(p.y))
}

// each calls visit with the position of every element of y, of its window's
// taps in x, of which those that fall on padding are left out, and of the winner.
func (p *pool) each(visit func(y, at int, x, tap []int)) {
	k, s, pad := p.options.Kernel, p.options.Stride, p.options.Padding
	var x, tap []int
	for i := range p.y.Len() {
		w := p.y.Shape[3]
		h := p.y.Shape[2]
		n, c, i, j := i/(w*h)/p.y.Shape[1], i/(w*h)%p.y.Shape[1], i/w%h, i%w
		x, tap = x[:0], tap[:0]
		for t := range k[0] * k[1] {
			if a, b := i*s[0]-pad[0]+t/k[1], j*s[1]-pad[1]+t%k[1]; a >= 0 && a < p.x.Shape[2] && b >= 0 && b < p.x.Shape[3] {
				x, tap = append(x, at4(p.x, n, c, a, b)), append(tap, t)
			}
		}
		at := 0
		if p.at != nil {
			at = at4(p.at, n, c, i, j)
		}
		visit(at4(p.y, n, c, i, j), at, x, tap)
	}
}

func referenceMaxPool[T dtype.Float](p *pool) {
	xs, ys := storage.Elements[T](*p.x), storage.Elements[T](*p.y)
	p.each(func(y, at int, x, tap []int) {
		best := 0
		for i := range x {
			if v := xs[x[i]]; v > xs[x[best]] || v != v {
				best = i
			}
		}
		ys[y] = xs[x[best]]
		p.setIndex(at, tap[best])
	})
}

func referenceMaxPoolGrad[T dtype.Float](p *pool) {
	dx, dy := storage.Elements[T](*p.x), storage.Elements[T](*p.y)
	each(p.x, func(at, _ int) { dx[at] = 0 })
	p.each(func(y, at int, x, tap []int) {
		for i := range x {
			if tap[i] == p.index(at) && !(p.relu != nil && storage.Elements[T](*p.relu)[y] <= 0) {
				dx[x[i]] += dy[y]
			}
		}
	})
}

func referenceAvgPool[T dtype.Float](p *pool) {
	xs, ys := storage.Elements[T](*p.x), storage.Elements[T](*p.y)
	p.each(func(y, _ int, x, _ []int) {
		ys[y] = 0
		for i := range x {
			ys[y] += xs[x[i]] / T(p.options.Kernel[0]*p.options.Kernel[1])
		}
	})
}

func referenceAvgPoolGrad[T dtype.Float](p *pool) {
	dx, dy := storage.Elements[T](*p.x), storage.Elements[T](*p.y)
	each(p.x, func(at, _ int) { dx[at] = 0 })
	p.each(func(y, _ int, x, _ []int) {
		for i := range x {
			dx[x[i]] += dy[y] / T(p.options.Kernel[0]*p.options.Kernel[1])
		}
	})
}

func (p *pool) setIndex(at, tap int) {
	switch {
	case p.at == nil:
	case p.at.Type == dtype.Uint8:
		storage.Elements[uint8](*p.at)[at] = uint8(tap)
	default:
		storage.Elements[int32](*p.at)[at] = int32(tap)
	}
}

func (p *pool) index(at int) int {
	if p.at.Type == dtype.Uint8 {
		return int(storage.Elements[uint8](*p.at)[at])
	}
	return int(storage.Elements[int32](*p.at)[at])
}
