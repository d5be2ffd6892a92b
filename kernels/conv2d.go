package kernels

import (
	"fmt"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// Conv2dOptions are the options of convolutions, down and across. A zero stride is 1.
type Conv2dOptions struct {
	Stride, Padding [2]int
	Act             Activation // of Conv2d only
}

// Conv2d is y = act(x ⋆ w + b), the cross-correlation
//
//	y[n,o,i,j] = act(b[o] + Σ_{c,p,q} w[o,c,p,q] · x[n, c, i·stride+p-padding, j·stride+q-padding])
//
// of x (N,C,H,W) and w (O,C,P,Q); b (O) may be left out. It is fast where x and
// y lie channels-last (views.ChannelsLast); otherwise elements are moved there and back.
var Conv2d = convKernel("conv2d", 1, 3, forwardRoles, referenceConv[float32], referenceConv[float64])

// Conv2dGradX is the gradient of Conv2d to x: Out dx; In dy, w.
var Conv2dGradX = convKernel("conv2d grad x", 1, 2, gradXRoles, referenceConvGradX[float32], referenceConvGradX[float64])

// Conv2dGradW is the gradients of Conv2d to w and b: Out dw and, if wanted, db; In x, dy.
var Conv2dGradW = convKernel("conv2d grad w", 2, 2, gradWRoles, referenceConvGradW[float32], referenceConvGradW[float64])

// A conv is a checked call: x, w, b, y of the convolution, or the gradients that
// lie where they do. b is nil where there is none.
type conv struct {
	op         int32
	x, w, b, y *storage.Array
	options    Conv2dOptions
}

// roles finds a call's operands.
type roles func(c *Call) conv

func forwardRoles(c *Call) conv {
	return conv{op: native.ConvOp, y: &c.Out[0], x: &c.In[0], w: &c.In[1], b: third(c.In)}
}

func gradXRoles(c *Call) conv {
	return conv{op: native.ConvGradXOp, x: &c.Out[0], y: &c.In[0], w: &c.In[1]}
}

func gradWRoles(c *Call) conv {
	g := conv{op: native.ConvGradWOp, w: &c.Out[0], x: &c.In[0], y: &c.In[1]}
	if len(c.Out) == 2 {
		g.b = &c.Out[1]
	}
	return g
}

func third(arrays []storage.Array) *storage.Array {
	if len(arrays) < 3 {
		return nil
	}
	return &arrays[2]
}

// convKernel is a kernel of so many outputs and inputs, of which the last, the
// bias or its gradient, may be missing.
func convKernel(name string, outs, ins int, find roles, f32, f64 func(g conv)) *Kernel {
	whole := func(c *Call, options Conv2dOptions) conv {
		g := find(c)
		g.options = options.withDefaults()
		return g
	}
	return withHalfFloats(define(name,
		func(c *Call, options Conv2dOptions) error {
			if err := c.real(min(max(len(c.Out), 1), outs), min(max(len(c.In), 2), ins)); err != nil {
				return err
			}
			g := whole(c, options)
			return g.check()
		},
		func(c *Call, options Conv2dOptions) error {
			if g := whole(c, options); g.x.Type == dtype.Float64 {
				f64(g)
			} else {
				f32(g)
			}
			return nil
		},
		func(c *Call, options Conv2dOptions) (bool, error) {
			g := whole(c, options)
			if g.x.Type != dtype.Float32 || g.empty() {
				return false, nil
			}
			return true, g.optimized()
		}))
}

// whole returns the options with zero strides as ones.
func (s Conv2dOptions) withDefaults() Conv2dOptions {
	for i, stride := range s.Stride {
		if stride == 0 {
			s.Stride[i] = 1
		}
	}
	return s
}

// check returns an error unless these are the shapes of one convolution.
func (g *conv) check() error {
	if err := g.options.Act.check(); err != nil {
		return err
	}
	x, w, y := g.x.Shape, g.w.Shape, g.y.Shape
	if len(x) != 4 || len(w) != 4 || len(y) != 4 {
		return fmt.Errorf("x %v, w %v, y %v; want (N,C,H,W), (O,C,P,Q), (N,O,H,W): %w", x, w, y, views.ErrShape)
	}
	if x[1] != w[1] {
		return fmt.Errorf("x %v has %d channels, w %v takes %d: %w", x, x[1], w, w[1], views.ErrShape)
	}
	want := [4]int{x[0], w[0]}
	for i := range 2 {
		n, err := windows(x[2+i], w[2+i], g.options.Stride[i], g.options.Padding[i])
		if err != nil {
			return fmt.Errorf("x %v and w %v: %w", x, w, err)
		}
		want[2+i] = n
	}
	if [4]int(y) != want {
		return fmt.Errorf("y is %v; x %v and w %v make %v: %w", y, x, w, want, views.ErrShape)
	}
	if g.b != nil && (g.b.Rank() != 1 || g.b.Shape[0] != w[0]) {
		return fmt.Errorf("bias is %v; want [%d]: %w", g.b.Shape, w[0], views.ErrShape)
	}
	return nil
}

// windows returns how many positions a window has along an axis.
func windows(size, window, stride, padding int) (int, error) {
	const most = 1 << 30 // no image has more, padding included, and sums do not overflow, of 32 bits on GPUs
	if window < 1 || stride < 1 || padding < 0 || max(size+2*padding, window, stride, padding) > most {
		return 0, fmt.Errorf("no windows of %d at a stride of %d with padding %d: %w", window, stride, padding, views.ErrShape)
	}
	if size+2*padding < window {
		return 0, fmt.Errorf("a window of %d does not fit %d elements padded by %d: %w", window, size, padding, views.ErrShape)
	}
	return (size+2*padding-window)/stride + 1, nil
}

func (g *conv) empty() bool { return g.x.Len() == 0 || g.w.Len() == 0 || g.y.Len() == 0 }

// fast runs the convolution by oneDNN. An operand that it cannot take as it
// lies passes through a copy.
func (g conv) optimized() error {
	for _, o := range []struct {
		a       **storage.Array
		written bool
		lies    bool
	}{
		{&g.x, g.op == native.ConvGradXOp, isImage(g.x)},
		{&g.w, g.op == native.ConvGradWOp, hasStrides(g.w, rowMajor(g.w.Shape))},
		{&g.b, g.op == native.ConvGradWOp, g.b == nil || g.b.Shape[0] == 1 || g.b.Stride[0] == 1},
		{&g.y, g.op == native.ConvOp, isImage(g.y)},
	} {
		if o.lies {
			continue
		}
		there := *o.a
		here, err := storage.Make(storage.CPU, there.Type, there.Shape...)
		if err != nil {
			return err
		}
		if *o.a = &here; o.written {
			defer copyElements(there, &here)
		} else {
			copyElements(&here, there)
		}
	}
	q := g.problem()
	return q.Run(fromFirst[float32](g.x), fromFirst[float32](g.w), fromFirst[float32](g.b), fromFirst[float32](g.y))
}

// problem describes the convolution to oneDNN. Weights, which are small, are copied to
// the layout it prefers; row-major images to channels-last. With a free choice it may give one
// image a layout that only its slowest implementation can combine with the other's.
func (g *conv) problem() native.Problem {
	q := native.Problem{Op: g.op, Activation: int32(g.options.Act), Moved: native.MovesW, Rank: 4}
	if g.b != nil {
		q.Bias = 1
	}
	for i := range 4 {
		q.X[i], q.W[i], q.Y[i] = int64(g.x.Shape[i]), int64(g.w.Shape[i]), int64(g.y.Shape[i])
		q.WStride[i] = int64(rowMajor(g.w.Shape)[i])
		q.XStride[i], q.YStride[i] = int64(imageStrides(g.x)[i]), int64(imageStrides(g.y)[i])
	}
	if !hasStrides(g.x, channelsLast(g.x.Shape)) {
		q.Moved |= native.MovesX
	}
	if !hasStrides(g.y, channelsLast(g.y.Shape)) {
		q.Moved |= native.MovesY
	}
	for i := range 2 {
		q.Stride[i], q.Pad[i] = int64(g.options.Stride[i]), int64(g.options.Padding[i])
	}
	return q
}

// rowMajor and channelsLast return the strides of a dense (N,C,H,W) array.
func rowMajor(s []int) [4]int     { return [4]int{s[1] * s[2] * s[3], s[2] * s[3], s[3], 1} }
func channelsLast(s []int) [4]int { return [4]int{s[1] * s[2] * s[3], 1, s[3] * s[1], s[1]} }

// hasStrides reports whether a has those strides, wherever strides matter.
func hasStrides(a *storage.Array, strides [4]int) bool {
	for axis, size := range a.Shape {
		if size != 1 && a.Stride[axis] != strides[axis] {
			return false
		}
	}
	return true
}

// isImage reports whether a lies in one of the two orders of images.
func isImage(a *storage.Array) bool {
	return hasStrides(a, channelsLast(a.Shape)) || hasStrides(a, rowMajor(a.Shape))
}

// imageStrides returns the strides of an image: where an axis of one element
// leaves the order open, channels-last.
func imageStrides(a *storage.Array) [4]int {
	if hasStrides(a, channelsLast(a.Shape)) {
		return channelsLast(a.Shape)
	}
	return rowMajor(a.Shape)
}

// copyElements copies between float32 arrays of one shape.
func copyElements(to, from *storage.Array) {
	dst, src := storage.Elements[float32](*to), storage.Elements[float32](*from)
	views.Walk(func(at, step []int, n int) {
		for k := range n {
			dst[at[0]+k*step[0]] = src[at[1]+k*step[1]]
		}
	}, to.View, from.View)
}

// taps calls visit with the positions in x, w and y of every product of the convolution's sums.
func (g *conv) taps(visit func(x, w, y int)) {
	xs, ws, ys := g.x.Shape, g.w.Shape, g.y.Shape
	for n := range ys[0] {
		for o := range ys[1] {
			for c := range xs[1] {
				g.plane(func(xi, xj, p, q, i, j int) {
					visit(at4(g.x, n, c, xi, xj), at4(g.w, o, c, p, q), at4(g.y, n, o, i, j))
				}, xs, ws, ys)
			}
		}
	}
}

// plane calls visit for every pixel of y and every tap of its window that falls on a pixel of x.
func (g *conv) plane(visit func(xi, xj, p, q, i, j int), x, w, y []int) {
	s, pad := g.options.Stride, g.options.Padding
	for i := range y[2] {
		for j := range y[3] {
			for p := range w[2] {
				for q := range w[3] {
					if xi, xj := i*s[0]+p-pad[0], j*s[1]+q-pad[1]; xi >= 0 && xi < x[2] && xj >= 0 && xj < x[3] {
						visit(xi, xj, p, q, i, j)
					}
				}
			}
		}
	}
}

func at4(a *storage.Array, i, j, k, l int) int {
	return a.Offset + i*a.Stride[0] + j*a.Stride[1] + k*a.Stride[2] + l*a.Stride[3]
}

// each calls visit with the position of every element of an (N,C,H,W) array, and its channel.
func each(a *storage.Array, visit func(at, c int)) {
	for n := range a.Shape[0] {
		for c := range a.Shape[1] {
			for i := range a.Shape[2] {
				for j := range a.Shape[3] {
					visit(at4(a, n, c, i, j), c)
				}
			}
		}
	}
}

func referenceConv[T dtype.Float](g conv) {
	x, w, y := storage.Elements[T](*g.x), storage.Elements[T](*g.w), storage.Elements[T](*g.y)
	each(g.y, func(at, c int) {
		y[at] = 0
		if g.b != nil {
			y[at] = storage.Elements[T](*g.b)[g.b.Offset+c*g.b.Stride[0]]
		}
	})
	g.taps(func(xi, wi, yi int) { y[yi] += x[xi] * w[wi] })
	each(g.y, func(at, _ int) { y[at] = T(g.options.Act.of(float64(y[at]))) })
}

func referenceConvGradX[T dtype.Float](g conv) {
	dx, w, dy := storage.Elements[T](*g.x), storage.Elements[T](*g.w), storage.Elements[T](*g.y)
	each(g.x, func(at, _ int) { dx[at] = 0 })
	g.taps(func(xi, wi, yi int) { dx[xi] += dy[yi] * w[wi] })
}

func referenceConvGradW[T dtype.Float](g conv) {
	x, dw, dy := storage.Elements[T](*g.x), storage.Elements[T](*g.w), storage.Elements[T](*g.y)
	each(g.w, func(at, _ int) { dw[at] = 0 })
	g.taps(func(xi, wi, yi int) { dw[wi] += dy[yi] * x[xi] })
	if g.b == nil {
		return
	}
	db := storage.Elements[T](*g.b)
	for o := range g.b.Shape[0] {
		db[g.b.Offset+o*g.b.Stride[0]] = 0
	}
	each(g.y, func(at, c int) { db[g.b.Offset+c*g.b.Stride[0]] += dy[at] })
}
