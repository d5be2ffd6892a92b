package kernels

import (
	"fmt"
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// ConvOptions describe a convolution over one to three spatial axes, one entry each in
// the order of the axes. Entries beyond the number of axes must be zero.
type ConvOptions struct {
	Stride   [3]int     // 1 where it is 0
	Dilation [3]int     // distance between the elements of a window; 1 where it is 0
	Padding  [3][2]int  // zeros before and after each axis
	Groups   int        // channels are connected within groups only; 1 if it is 0
	Act      Activation // of Conv only
}

// Pad returns a Padding with the same number of elements before and after each axis.
func Pad(sizes ...int) (padding [3][2]int) {
	for axis, n := range sizes {
		padding[axis] = [2]int{n, n}
	}
	return padding
}

// Conv is y = act(x ⋆ w + b), the cross-correlation
//
//	y[n,o,i,…] = act(b[o] + Σ_{c,p,…} w[o,c,p,…] · x[n, c', i·stride+p·dilation-padding, …])
//
// of x (N,C,…), w (O,C/groups,…) and b (O), which may be left out; c' is channel c of o's group.
// Out y and, if wanted, z, for which y is act(z). The spatial axes are those after the first two. It is fast for float32, where x and y
// are channels-last (views.ChannelsLast) or row-major.
var Conv = convKernel("conv", 2, 3, convOperands, byFirst(1), referenceConv[float32], referenceConv[float64])

// ConvGradX is the gradient of Conv with respect to x: Out dx; In dy, w. It is also the
// transposed convolution of dy.
var ConvGradX = convKernel("conv grad x", 1, 2, convGradXOperands, byFirst(1), referenceConvGradX[float32], referenceConvGradX[float64])

// ConvGradW is the gradients of Conv with respect to w and b: Out dw and, if wanted, db; In x, dy.
var ConvGradW = convKernel("conv grad w", 2, 2, convGradWOperands, divideConvGradW, referenceConvGradW[float32], referenceConvGradW[float64])

// divideConvGradW divides the images, whose gradients are added.
func divideConvGradW(c *Call) division {
	d := byFirst(2)(c)
	for i := range d.out {
		d.out[i] = summed
	}
	return d
}

// A conv is a checked call: the operands x, w, b and y of the convolution, or their
// gradients. b is nil without a bias. z is y unless both are outputs.
type conv struct {
	op            int32
	x, w, b, y, z *storage.Array
	window
	groups int
	act    Activation
	bf16   bool // lets operands be rounded
}

func convOperands(c *Call) conv {
	return conv{op: native.ConvOp, y: &c.Out[0], z: &c.Out[len(c.Out)-1], x: &c.In[0], w: &c.In[1], b: third(c.In)}
}

func convGradXOperands(c *Call) conv {
	return conv{op: native.ConvGradXOp, x: &c.Out[0], y: &c.In[0], w: &c.In[1]}
}

func convGradWOperands(c *Call) conv {
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

// convKernel returns a kernel with the given maximum numbers of outputs and inputs. A second output and a
// third input are optional.
func convKernel(name string, outs, ins int, operands func(c *Call) conv, divide func(c *Call) division, f32, f64 func(g *conv)) *Kernel {
	return withHalfFloats(define(name,
		func(c *Call, o ConvOptions) error {
			if err := c.real(min(max(len(c.Out), 1), outs), min(max(len(c.In), 2), ins)); err != nil {
				return err
			}
			g := operands(c)
			return g.set(o)
		},
		func(c *Call, o ConvOptions) error {
			g := operands(c)
			must(g.set(o))
			if g.x.Type == dtype.Float64 {
				f64(&g)
			} else {
				f32(&g)
			}
			return nil
		},
		func(c *Call, o ConvOptions) (bool, error) {
			g := operands(c)
			must(g.set(o))
			if g.x.Type != dtype.Float32 || g.empty() {
				return false, nil
			}
			g.bf16 = c.BF16
			return true, g.optimized()
		}), divide)
}

// set applies the options, and returns an error unless the operands have the shapes of
// one convolution.
func (g *conv) set(o ConvOptions) error {
	if err := o.Act.check(); err != nil {
		return err
	}
	x, w, y := g.x.Shape, g.w.Shape, g.y.Shape
	want, window, err := o.apply(x, w)
	if err != nil {
		return err
	}
	if g.window, g.groups, g.act = window, max(o.Groups, 1), o.Act; len(y) != len(x) || want != shapeOf(y) {
		return fmt.Errorf("y is %v; x %v and w %v make %v: %w", y, x, w, firstOf(want, len(x)), views.ErrShape)
	}
	if g.z != nil && !slices.Equal(g.z.Shape, y) {
		return fmt.Errorf("the operand of the activation is %v; want %v: %w", g.z.Shape, y, views.ErrShape)
	}
	if g.b != nil && (g.b.Rank() != 1 || g.b.Shape[0] != w[0]) {
		return fmt.Errorf("bias is %v; want [%d]: %w", g.b.Shape, w[0], views.ErrShape)
	}
	return nil
}

// apply returns the shape of the result for x and w of those shapes, and the window.
func (o ConvOptions) apply(x, w []int) (y [5]int, window window, err error) {
	groups := max(o.Groups, 1)
	if rank := len(x); rank < 3 || rank > 5 || len(w) != rank {
		return y, window, fmt.Errorf("x %v and w %v; want (N,C,…) and (O,C,…) with one to three spatial axes: %w", x, w, views.ErrShape)
	}
	if o.Groups < 0 || w[0]%groups != 0 || x[1] != w[1]*groups {
		return y, window, fmt.Errorf("x %v has %d channels, w %v takes %d in each of %d groups: %w", x, x[1], w, w[1], groups, views.ErrShape)
	}
	if window, err = windowOf([3]int{}, o.Stride, o.Dilation, o.Padding, len(x)-2, w[2:]); err != nil {
		return y, window, err
	}
	y = [5]int{x[0], w[0]}
	for i, size := range x[2:] {
		if y[2+i], err = window.count(i+5-len(x), size, false); err != nil {
			return y, window, fmt.Errorf("x %v and w %v: %w", x, w, err)
		}
	}
	return y, window, nil
}

// shapeOf returns a shape of at most five axes.
func shapeOf(shape []int) (s [5]int) {
	copy(s[:], shape)
	return s
}

// firstOf returns the first n sizes.
func firstOf(shape [5]int, n int) []int { return append([]int(nil), shape[:n]...) }

// Shape returns the shape of Conv's result for x and w of those shapes.
func (o ConvOptions) Shape(x, w []int) ([]int, error) {
	y, _, err := o.apply(x, w)
	return firstOf(y, min(len(x), 5)), err
}

// TransposedShape returns the shape of x for which Conv's result has the shape of y, with
// additional elements at the end of each axis, fewer than the stride: the output shape of the
// transposed convolution of y.
func (o ConvOptions) TransposedShape(y, w []int, more [3]int) ([]int, error) {
	rank := len(y)
	if rank < 3 || rank > 5 || len(w) != rank || y[1] != w[0] {
		return nil, fmt.Errorf("y %v and w %v; want (N,O,…) and (O,C,…) with one to three spatial axes: %w", y, w, views.ErrShape)
	}
	window, err := windowOf([3]int{}, o.Stride, o.Dilation, o.Padding, rank-2, w[2:])
	if err != nil {
		return nil, err
	}
	x := []int{y[0], w[1] * max(o.Groups, 1)}
	for i, size := range y[2:] {
		axis := i + 5 - rank
		if more[i] < 0 || more[i] >= window.stride[axis] {
			return nil, fmt.Errorf("output padding %d; want less than the stride %d: %w", more[i], window.stride[axis], views.ErrShape)
		}
		x = append(x, (size-1)*window.stride[axis]-window.padding[axis][0]-window.padding[axis][1]+window.extent(axis)+more[i])
	}
	for _, n := range more[rank-2:] {
		if n != 0 {
			return nil, fmt.Errorf("output padding %v for %d spatial axes: %w", more, rank-2, views.ErrShape)
		}
	}
	if back, err := o.Shape(x, w); err != nil || !slices.Equal(back, y) {
		return nil, fmt.Errorf("y %v and w %v make x %v, which has no windows: %w", y, w, x, views.ErrShape)
	}
	return x, nil
}

func (g *conv) empty() bool { return g.x.Len() == 0 || g.w.Len() == 0 || g.y.Len() == 0 }

// optimized runs the convolution by Winograd's algorithm where that is faster, else by oneDNN.
// An operand whose layout neither takes is copied.
func (g conv) optimized() error {
	f, ok := g.winograd()
	takes, stores := isImage, g.stores()
	if ok {
		takes = isChannelsLast
	}
	if stores && !(ok && g.act != NoActivation && takes(g.z)) {
		before := g
		before.y, before.act = g.z, NoActivation
		if err := before.optimized(); err != nil {
			return err
		}
		return g.act.apply(g.y, g.z)
	}
	for _, o := range []struct {
		a       **storage.Array
		written bool
		ok      bool
	}{
		{&g.x, g.op == native.ConvGradXOp, takes(g.x)},
		{&g.w, g.op == native.ConvGradWOp, hasStrides(g.w, rowMajor(g.w.Shape))},
		{&g.b, g.op == native.ConvGradWOp, g.b == nil || g.b.Shape[0] == 1 || g.b.Stride[0] == 1},
		{&g.y, g.op == native.ConvOp, takes(g.y)},
	} {
		if o.ok {
			continue
		}
		there := *o.a
		here, err := storage.Make(storage.CPU, there.Type, there.Shape...)
		if err != nil {
			return err
		}
		if here.Rank() > 2 && o.a != &g.w {
			here = here.With(views.ChannelsLast(here.Shape...))
		}
		if *o.a = &here; o.written {
			defer copyElements(there, &here)
		} else {
			copyElements(&here, there)
		}
	}
	x, w, b, y := fromFirst[float32](g.x), fromFirst[float32](g.w), fromFirst[float32](g.b), fromFirst[float32](g.y)
	switch {
	case !ok:
		q := g.problem()
		return q.Run(x, w, b, y)
	case g.op == native.ConvGradXOp:
		return f.GradX(x, y, w)
	case g.op == native.ConvGradWOp:
		return f.GradW(w, b, x, y)
	case stores:
		return f.Conv(fromFirst[float32](g.z), x, w, b, activationOps[g.act], y)
	case g.act == ReLUActivation:
		f.ReLU = 1
		return f.Conv(y, x, w, b, native.NoOp, nil)
	}
	return f.Conv(y, x, w, b, activationOps[g.act], y)
}

// stores reports whether the operand of the activation is wanted too.
func (g *conv) stores() bool { return g.op == native.ConvOp && g.z != g.y }

// winograd describes the convolution to Winograd's algorithm, and reports whether that is to compute it:
// windows of 3x3, or of 3 to 7 elements along one of at most two axes, with stride 1, over images that are or become
// channels-last.
func (g *conv) winograd() (f native.Winograd, ok bool) {
	rank := g.x.Rank()
	if rank > 4 || g.groups != 1 || g.stride != [3]int{1, 1, 1} || g.dilation != [3]int{1, 1, 1} {
		return f, false
	}
	x, y := channelsLast(g.x.Shape), channelsLast(g.y.Shape)
	f = native.Winograd{N: int64(g.x.Shape[0]), C: int64(g.x.Shape[1]), O: int64(g.y.Shape[1]),
		XSize: [2]int64{1, 1}, YSize: [2]int64{1, 1}, Window: [2]int64{1, 1}}
	f.X[0], f.Y[0] = int64(x[0]), int64(y[0])
	for axis := 2; axis < rank; axis++ {
		i := axis + 2 - rank // in the description
		if rank == 4 && g.w.Shape[3] == 1 {
			i = 1 - i // a window along the first axis is one along the second of transposed images
		}
		f.XSize[i], f.YSize[i], f.Window[i] = int64(g.x.Shape[axis]), int64(g.y.Shape[axis]), int64(g.w.Shape[axis])
		f.Pad[i] = int64(g.padding[axis+3-rank][0])
		f.X[1+i], f.Y[1+i] = int64(x[axis]), int64(y[axis])
	}
	return f, f.Faster()
}

// problem describes the convolution to oneDNN. Weights, which are small, are copied to
// the layout it prefers; row-major images to channels-last. With a free choice it may give
// one image a layout that only its slowest implementation can combine with the other's.
func (g *conv) problem() native.Problem {
	rank := g.x.Rank()
	q := native.Problem{Op: g.op, Activation: int32(g.act), Reordered: native.ReordersW, Rank: int32(rank), Groups: int64(g.groups)}
	if g.b != nil {
		q.Bias = 1
	}
	if least := 16 * g.groups; g.bf16 && g.x.Shape[1] >= least && g.y.Shape[1] >= least { // fewer channels gain nothing
		q.BF16 = 1
	}
	w, x, y := rowMajor(g.w.Shape), imageStrides(g.x), imageStrides(g.y)
	for i := range rank {
		q.X[i], q.W[i], q.Y[i] = int64(g.x.Shape[i]), int64(g.w.Shape[i]), int64(g.y.Shape[i])
		q.XStride[i], q.WStride[i], q.YStride[i] = int64(x[i]), int64(w[i]), int64(y[i])
	}
	if !isChannelsLast(g.x) {
		q.Reordered |= native.ReordersX
	}
	if !isChannelsLast(g.y) {
		q.Reordered |= native.ReordersY
	}
	for i := range rank - 2 {
		axis := i + 5 - rank
		q.Stride[i], q.Dilation[i], q.Pad[i] = int64(g.stride[axis]), int64(g.dilation[axis]), int64(g.padding[axis][0])
	}
	return q
}

// rowMajor and channelsLast return the strides of a dense (N,C,…) array.
func rowMajor(shape []int) (strides [5]int) {
	step := 1
	for i := len(shape) - 1; i >= 0; i-- {
		strides[i] = step
		step *= shape[i]
	}
	return strides
}

func channelsLast(shape []int) (strides [5]int) {
	step := shape[1]
	for i := len(shape) - 1; i > 1; i-- {
		strides[i] = step
		step *= shape[i]
	}
	strides[0], strides[1] = step, 1
	return strides
}

// hasStrides reports whether a has those strides, except along axes of size 1.
func hasStrides(a *storage.Array, strides [5]int) bool {
	for axis, size := range a.Shape {
		if size != 1 && a.Stride[axis] != strides[axis] {
			return false
		}
	}
	return true
}

// isImage reports whether a is dense in one of the two layouts of images.
func isImage(a *storage.Array) bool {
	return isChannelsLast(a) || hasStrides(a, rowMajor(a.Shape))
}

func isChannelsLast(a *storage.Array) bool { return hasStrides(a, channelsLast(a.Shape)) }

// imageStrides returns the strides of an image. An image that is both row-major and
// channels-last, because of axes of size 1, counts as channels-last.
func imageStrides(a *storage.Array) [5]int {
	if isChannelsLast(a) {
		return channelsLast(a.Shape)
	}
	return rowMajor(a.Shape)
}

// copyElements copies between arrays of one shape and type.
func copyElements(to, from *storage.Array) {
	if !optimizedCopy(to, from) {
		referenceCopy(to, from)
	}
}

// taps calls visit with the positions in x, w and y of every product of the convolution's sums.
func (g *conv) taps(visit func(x, w, y int)) {
	x, w, y := spatial(g.x), spatial(g.w), spatial(g.y)
	inputs, outputs := w.Shape[1], w.Shape[0]/g.groups
	for n := range y.Shape[0] {
		for o := range y.Shape[1] {
			for c := range inputs {
				xn := x.Offset + n*x.Stride[0] + (o/outputs*inputs+c)*x.Stride[1]
				wn := w.Offset + o*w.Stride[0] + c*w.Stride[1]
				yn := y.Offset + n*y.Stride[0] + o*y.Stride[1]
				eachPosition([3]int(y.Shape[2:]), func(i [3]int) {
					yi := yn + along(y, i)
					g.taken([3]int(x.Shape[2:]), i, func(at, tap [3]int) { visit(xn+along(x, at), wn+along(w, tap), yi) })
				})
			}
		}
	}
}

func referenceConv[T dtype.Float](g *conv) {
	x, w, y := storage.Elements[T](*g.x), storage.Elements[T](*g.w), storage.Elements[T](*g.y)
	each(g.y, func(at, c int) {
		y[at] = 0
		if g.b != nil {
			y[at] = storage.Elements[T](*g.b)[g.b.Offset+c*g.b.Stride[0]]
		}
	})
	g.taps(func(xi, wi, yi int) { y[yi] += x[xi] * w[wi] })
	if g.z != g.y {
		referenceMap(func(y float64) float64 { return y }, *g.z, *g.y)
	}
	each(g.y, func(at, _ int) { y[at] = T(g.act.of(float64(y[at]))) })
}

func referenceConvGradX[T dtype.Float](g *conv) {
	dx, w, dy := storage.Elements[T](*g.x), storage.Elements[T](*g.w), storage.Elements[T](*g.y)
	each(g.x, func(at, _ int) { dx[at] = 0 })
	g.taps(func(xi, wi, yi int) { dx[xi] += dy[yi] * w[wi] })
}

func referenceConvGradW[T dtype.Float](g *conv) {
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
