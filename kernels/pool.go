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

// PoolOptions describe pooling over one to three spatial axes, one entry each in the
// order of the axes. Entries beyond the number of axes must be zero.
type PoolOptions struct {
	Kernel   [3]int    // size of a window
	Stride   [3]int    // Kernel where it is 0
	Dilation [3]int    // distance between the elements of a window, of MaxPool; 1 where it is 0
	Padding  [3][2]int // before and after each axis, at most half a window
	Ceil     bool      // keep a last window that is not complete (PyTorch's ceil_mode)
	// ExcludePadding makes a mean the sum divided by the number of elements without the
	// padding (PyTorch's count_include_pad=False).
	ExcludePadding bool
}

// MaxPool is the maximum over windows of x (N,C,…): Out y and, if wanted, the index of the
// first maximum among the elements of its image, row-major, as int32. NaN is the maximum
// of a window that contains one; a window of padding only is −∞, with index −1.
var MaxPool = poolKernel("max pool", 2, 1, maxPoolOperands, (*pool).maxPool, referenceMaxPool[float32], referenceMaxPool[float64])

// MaxPoolGrad is the gradient of MaxPool with respect to x: Out dx; In dy and the index. A
// third input y, laid out as dy, is MaxPool's output where x was a ReLU's: the gradient is
// then that with respect to the ReLU's input, 0 where y is not positive.
var MaxPoolGrad = poolKernel("max pool grad", 1, 3, maxPoolGradOperands, (*pool).maxPoolGrad, referenceMaxPoolGrad[float32], referenceMaxPoolGrad[float64])

// AvgPool is the mean over windows of x (N,C,…), in which padding counts as zeros.
var AvgPool = poolKernel("average pool", 1, 1, avgPoolOperands, (*pool).avgPool, referenceAvgPool[float32], referenceAvgPool[float64])

// AvgPoolGrad is the gradient of AvgPool with respect to x: Out dx; In dy.
var AvgPoolGrad = poolKernel("average pool grad", 1, 1, avgPoolGradOperands, (*pool).avgPoolGrad, referenceAvgPoolGrad[float32], referenceAvgPoolGrad[float64])

// A pool is a checked call: x and y or their gradients, and the index, or nil.
type pool struct {
	x, y, at *storage.Array
	relu     *storage.Array // nil, or the pooled output of a ReLU
	window
	exclude bool
	max     bool
}

func maxPoolOperands(c *Call) pool {
	p := pool{x: &c.In[0], y: &c.Out[0], max: true}
	if len(c.Out) == 2 {
		p.at = &c.Out[1]
	}
	return p
}

func maxPoolGradOperands(c *Call) pool {
	return pool{x: &c.Out[0], y: &c.In[0], at: &c.In[1], relu: third(c.In), max: true}
}

func avgPoolOperands(c *Call) pool     { return pool{x: &c.In[0], y: &c.Out[0]} }
func avgPoolGradOperands(c *Call) pool { return pool{x: &c.Out[0], y: &c.In[0]} }

func poolKernel(name string, outs, ins int, operands func(c *Call) pool, optimized func(p *pool, g *native.Windows, real native.ComputeType), f32, f64 func(p *pool)) *Kernel {
	return withHalfFloats(define(name,
		func(c *Call, o PoolOptions) error {
			if err := c.checkOperands(min(max(len(c.Out), 1), outs), min(max(len(c.In), ins/2+ins%2), ins)); err != nil {
				return err
			}
			p := operands(c)
			return p.set(o)
		},
		func(c *Call, o PoolOptions) error {
			p := operands(c)
			must(p.set(o))
			if p.x.Type == dtype.Float64 {
				f64(&p)
			} else {
				f32(&p)
			}
			return nil
		},
		func(c *Call, o PoolOptions) (bool, error) {
			p := operands(c)
			must(p.set(o))
			if p.x.Len() > 0 && p.y.Len() > 0 {
				g, real := p.windows()
				optimized(&p, &g, real)
				return true, nil
			}
			return false, nil
		}), byFirst(ins))
}

// set applies the options, and returns an error unless types and shapes agree for one pooling.
func (p *pool) set(o PoolOptions) error {
	if err := allFloats(*p.x, *p.y); err != nil {
		return err
	}
	x, y := p.x.Shape, p.y.Shape
	want, window, err := o.apply(x)
	if err != nil {
		return err
	}
	if p.window, p.exclude = window, o.ExcludePadding; !p.max && p.dilation != [3]int{1, 1, 1} {
		return fmt.Errorf("average pooling has no dilation: %w", views.ErrShape)
	}
	if len(y) != len(x) || want != shapeOf(y) {
		return fmt.Errorf("%v makes %v, not %v: %w", x, firstOf(want, len(x)), y, views.ErrShape)
	}
	if p.x.Len() == 0 && p.y.Len() > 0 {
		return fmt.Errorf("windows of %v contain padding only: %w", x, views.ErrShape)
	}
	return p.checkIndex()
}

// apply returns the shape of the result for x of that shape, and the window.
func (o PoolOptions) apply(x []int) (y [5]int, window window, err error) {
	axes := len(x) - 2
	if axes < 1 || axes > 3 {
		return y, window, fmt.Errorf("shape %v; want (N,C,…) with one to three spatial axes: %w", x, views.ErrShape)
	}
	if window, err = windowOf(o.Kernel, o.Stride, o.Dilation, o.Padding, axes, o.Kernel[:axes]); err != nil {
		return y, window, err
	}
	y = [5]int{x[0], x[1]}
	for i, size := range x[2:] {
		axis := i + 3 - axes
		if y[2+i], err = window.count(axis, size, o.Ceil); err != nil {
			return y, window, fmt.Errorf("%v: %w", x, err)
		}
		if pad := window.padding[axis]; 2*max(pad[0], pad[1]) > window.size[axis] {
			return y, window, fmt.Errorf("padding %v is more than half of a window of %d: %w", pad, window.size[axis], views.ErrShape)
		}
	}
	return y, window, nil
}

// Shape returns the shape of the result of pooling x of that shape.
func (o PoolOptions) Shape(x []int) ([]int, error) {
	y, _, err := o.apply(x)
	return firstOf(y, min(len(x), 5)), err
}

func (p *pool) checkIndex() error {
	if r := p.relu; r != nil && (r.Type != p.y.Type || r.Offset != p.y.Offset || !slices.Equal(r.Shape, p.y.Shape) || !slices.Equal(r.Stride, p.y.Stride)) {
		return fmt.Errorf("the ReLU's %v is not laid out as %v is: %w", *r, *p.y, views.ErrShape)
	}
	switch {
	case p.at == nil:
		return nil
	case p.at.Type != dtype.Int32:
		return fmt.Errorf("index is %v; want int32: %w", p.at.Type, dtype.ErrType)
	case !slices.Equal(p.at.Shape, p.y.Shape):
		return fmt.Errorf("index is %v; want %v: %w", p.at.Shape, p.y.Shape, views.ErrShape)
	case p.x.Len() > 0 && p.x.Len()/p.x.Shape[0]/p.x.Shape[1] > math.MaxInt32:
		return fmt.Errorf("%v has images of more elements than an int32 counts: %w", p.x.Shape, views.ErrShape)
	}
	return nil
}

// windows describes the pooling to C.
func (p *pool) windows() (g native.Windows, real native.ComputeType) {
	g.N, g.C = int64(p.x.Shape[0]), int64(p.x.Shape[1])
	g.X, g.Y = spatialStrides(p.x), spatialStrides(p.y)
	if p.at != nil {
		g.At = spatialStrides(p.at)
	}
	g.Size, g.Out, g.Apart = [3]int64{1, 1, 1}, [3]int64{1, 1, 1}, 1
	for i := range 3 {
		if axis := i + p.x.Rank() - 3; axis >= 2 {
			g.Size[i], g.Out[i] = int64(p.x.Shape[axis]), int64(p.y.Shape[axis])
		}
		g.End[i] = g.Size[i] + int64(p.padding[i][1])
		g.Kernel[i], g.Stride[i], g.Dilation[i], g.Pad[i] = int64(p.size[i]), int64(p.stride[i]), int64(p.dilation[i]), int64(p.padding[i][0])
		if p.stride[i] < p.extent(i) {
			g.Apart = 0
		}
	}
	if p.exclude {
		g.Exclude = 1
	}
	real, _ = native.ComputeTypeOf(p.x.Type)
	return g, real
}

func (p *pool) maxPool(g *native.Windows, real native.ComputeType) {
	g.MaxPool(real, start(p.y), fromFirst[int32](p.at), start(p.x))
}

func (p *pool) maxPoolGrad(g *native.Windows, real native.ComputeType) {
	g.MaxPoolGrad(real, start(p.x), start(p.y), fromFirst[int32](p.at), start(p.relu))
}

func (p *pool) avgPool(g *native.Windows, real native.ComputeType) {
	g.AvgPool(real, start(p.y), start(p.x))
}

func (p *pool) avgPoolGrad(g *native.Windows, real native.ComputeType) {
	g.AvgPoolGrad(real, start(p.x), start(p.y))
}

// An aperture is one position of the window: the positions in memory of its result, of its
// index and of its elements, without the padding, and these elements' indices in their image.
type aperture struct {
	y, at   int
	x, i    []int
	counted float64 // the number of elements that its mean counts
}

// each calls visit with every window.
func (p *pool) each(visit func(a *aperture)) {
	x, y, at := spatial(p.x), spatial(p.y), storage.Array{}
	if p.at != nil {
		at = spatial(p.at)
	}
	size := [3]int(x.Shape[2:])
	var a aperture
	for n := range y.Shape[0] {
		for c := range y.Shape[1] {
			eachPosition([3]int(y.Shape[2:]), func(i [3]int) {
				a.y = y.Offset + n*y.Stride[0] + c*y.Stride[1] + along(y, i)
				if p.at != nil {
					a.at = at.Offset + n*at.Stride[0] + c*at.Stride[1] + along(at, i)
				}
				a.x, a.i = a.x[:0], a.i[:0]
				p.taken(size, i, func(tap, _ [3]int) {
					a.x = append(a.x, x.Offset+n*x.Stride[0]+c*x.Stride[1]+along(x, tap))
					a.i = append(a.i, (tap[0]*size[1]+tap[1])*size[2]+tap[2])
				})
				a.counted = p.counted(size, i)
				visit(&a)
			})
		}
	}
}

// counted returns the number of elements that the mean of the window at i counts: those
// of the padding too, but not those beyond.
func (p *pool) counted(size, i [3]int) float64 {
	n := 1
	for axis := range i {
		from := i[axis]*p.stride[axis] - p.padding[axis][0]
		to := min(from+p.size[axis], size[axis]+p.padding[axis][1])
		if p.exclude {
			from, to = max(from, 0), min(to, size[axis])
		}
		n *= to - from
	}
	return float64(n)
}

func referenceMaxPool[T dtype.Float](p *pool) {
	xs, ys := storage.Elements[T](*p.x), storage.Elements[T](*p.y)
	var index []int32
	if p.at != nil {
		index = storage.Elements[int32](*p.at)
	}
	p.each(func(a *aperture) {
		best, at := T(math.Inf(-1)), -1
		for k, x := range a.x {
			if v := xs[x]; v > best || v != v || k == 0 {
				best, at = v, a.i[k]
			}
		}
		if ys[a.y] = best; index != nil {
			index[a.at] = int32(at)
		}
	})
}

func referenceMaxPoolGrad[T dtype.Float](p *pool) {
	dx, dy, index := storage.Elements[T](*p.x), storage.Elements[T](*p.y), storage.Elements[int32](*p.at)
	each(p.x, func(at, _ int) { dx[at] = 0 })
	p.each(func(a *aperture) {
		for k, x := range a.x {
			if a.i[k] == int(index[a.at]) && !(p.relu != nil && storage.Elements[T](*p.relu)[a.y] <= 0) {
				dx[x] += dy[a.y]
			}
		}
	})
}

func referenceAvgPool[T dtype.Float](p *pool) {
	xs, ys := storage.Elements[T](*p.x), storage.Elements[T](*p.y)
	p.each(func(a *aperture) {
		ys[a.y] = 0
		for _, x := range a.x {
			ys[a.y] += xs[x] / T(a.counted)
		}
	})
}

func referenceAvgPoolGrad[T dtype.Float](p *pool) {
	dx, dy := storage.Elements[T](*p.x), storage.Elements[T](*p.y)
	each(p.x, func(at, _ int) { dx[at] = 0 })
	p.each(func(a *aperture) {
		for _, x := range a.x {
			dx[x] += dy[a.y] / T(a.counted)
		}
	})
}
