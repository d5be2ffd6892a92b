package kernels

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// BatchNormOptions are the options of batch normalization. Momentum is the weight of a new
// batch in the running statistics.
type BatchNormOptions struct {
	Epsilon, Momentum float64
	// ReLU is whether the result is relu of the normalized x. A gradient takes y as a last
	// input instead, and is 0 where that is not positive.
	ReLU bool
}

// BatchNorm is, for each channel c of x (N,C,…), with mean and variance over
// all other axes (Ioffe and Szegedy, arXiv:1502.03167),
//
//	y = gamma[c]·(x-mean[c])·invstd[c] + beta[c],  invstd = 1/√(variance+Epsilon)
//
// In x, gamma, beta; Out y, mean, invstd and, optionally, the running mean and variance, which
// it updates: r ← (1-Momentum)·r + Momentum·new, where the new variance is the unbiased one.
var BatchNorm = normKernel("batch norm", 3, trainNorm, 3, 5)

// BatchNormEval is BatchNorm with statistics that are given: Out y; In x, gamma, beta, mean, variance.
var BatchNormEval = normKernel("batch norm eval", 5, evalNorm, 1)

// BatchNormGrad is the gradients of BatchNorm: Out dx, dgamma, dbeta; In x, gamma, dy, mean, invstd and,
// after a relu, y.
var BatchNormGrad = normKernel("batch norm grad", 5, trainNormGrad, 3)

// BatchNormEvalGrad is the gradients of BatchNormEval: Out dx, dgamma, dbeta; In x, gamma, dy, mean, variance
// and, after a relu, y.
var BatchNormEvalGrad = normKernel("batch norm eval grad", 5, evalNormGrad, 3)

// A channelLoop implements the two loops of batch normalization.
type channelLoop interface {
	// sums sets s to Σ a and t to Σ a·(x-pivot), where a is dy, or x-pivot if dy is nil.
	sums(s, t []float64, dy, mask, x *storage.Array, pivot []float64) error
	// apply sets y to a·(x-pivot) + b·dy + k; dy may be nil.
	apply(y, x, dy, mask *storage.Array, by *channelSet) error
}

// A channelSet holds the coefficients of every channel.
type channelSet struct {
	pivot, a, b, k []float64
	s, t           []float64
	all            []float64 // pivot, a, b and k, one after the other
}

var channelSets = sync.Pool{New: func() any { return new(channelSet) }}

func newChannelSet(channels int) *channelSet {
	m := channelSets.Get().(*channelSet)
	m.all = slices.Grow(m.all[:0], 6*channels)[:6*channels]
	clear(m.all)
	for i, part := range []*[]float64{&m.pivot, &m.a, &m.b, &m.k, &m.s, &m.t} {
		*part = m.all[i*channels : (i+1)*channels]
	}
	return m
}

// normKernel is a kernel of images: input 0, output 0 and, of a gradient, input 2. The other
// operands have one number for each channel, of the images' type or, with images of 16-bit
// floats, all float32.
func normKernel(name string, ins int, formula func(c *Call, options BatchNormOptions, loop channelLoop, by *channelSet) error, outs ...int) *Kernel {
	with := func(c *Call, options BatchNormOptions, loop channelLoop) error {
		by := newChannelSet(c.In[0].Shape[1])
		defer channelSets.Put(by)
		return formula(c, options, loop, by)
	}
	grad := len(outs) == 1 && outs[0] == 3
	return withHalfFloats(define(name,
		func(c *Call, options BatchNormOptions) error {
			return checkNorm(c, ins, outs, grad)
		},
		func(c *Call, options BatchNormOptions) error {
			return with(c, options, referenceLoop{options.ReLU && !grad})
		},
		func(c *Call, options BatchNormOptions) (bool, error) {
			loop, ok := nativeLoopOf(c)
			if options.ReLU && !grad {
				loop.g.ReLU = 1
			}
			if !ok {
				return false, nil
			}
			return true, with(c, options, loop)
		}), func(c *Call) division { return divideChannels(c, grad) })
}

// divideChannels divides the channels, of which those of images whose channels are adjacent are not read alone.
func divideChannels(c *Call, grad bool) division {
	d := byFirst(len(c.In))(c)
	d.out[0], d.in[0], d.reads = 1, 1, len(c.Out) == 5
	if c.In[0].Stride[1] == 1 {
		d.least = 32
	}
	if grad {
		d.in[2] = 1
		if len(c.In) > 5 {
			d.in[5] = 1
		}
	}
	return d
}

func checkNorm(c *Call, ins int, outs []int, grad bool) error {
	if !slices.Contains(outs, len(c.Out)) {
		return fmt.Errorf("%d outputs; want one of %v: %w", len(c.Out), outs, views.ErrShape)
	}
	if grad && len(c.In) == ins+1 {
		ins++
	}
	if err := c.checkOperands(len(c.Out), ins); err != nil {
		return err
	}
	x := &c.In[0]
	if x.Rank() < 2 {
		return fmt.Errorf("%v has no channels; want (N,C,…): %w", x.Shape, views.ErrShape)
	}
	if err := allFloats(*x); err != nil {
		return err
	}
	number := c.In[1].Type
	if !isHalf(x.Type) || number != dtype.Float32 {
		number = x.Type
	}
	for _, list := range [][]storage.Array{c.In, c.Out} {
		for i := range list {
			want, t := x.Shape[1:2], number
			if i == 0 || grad && (i == 2 || i == 5) && &list[0] == x {
				want, t = x.Shape, x.Type
			}
			if !slices.Equal(list[i].Shape, want) {
				return fmt.Errorf("an operand is %v; beside %v it should be %v: %w", list[i].Shape, x.Shape, want, views.ErrShape)
			}
			if err := oneType(t, list[i]); err != nil {
				return err
			}
		}
	}
	if mask := reluOf(c); mask != nil && (mask.Offset != c.In[2].Offset || !slices.Equal(mask.Stride, c.In[2].Stride)) {
		return fmt.Errorf("the relu's %v and its gradient %v differ in layout: %w", *mask, c.In[2], views.ErrShape)
	}
	return nil
}

// trainNorm is BatchNorm. Sums are taken about each channel's first element, so
// that large means do not cancel the variance.
func trainNorm(c *Call, options BatchNormOptions, loop channelLoop, by *channelSet) error {
	x, m := &c.In[0], float64(population(&c.In[0]))
	if m < 2 {
		return fmt.Errorf("%v has %g values in each channel, which have no variance: %w", x.Shape, m, views.ErrShape)
	}
	for ch := range by.pivot {
		by.pivot[ch] = number(x, x.Offset+ch*x.Stride[1])
	}
	if err := loop.sums(by.s, by.t, nil, nil, x, by.pivot); err != nil {
		return err
	}
	for ch := range by.pivot {
		mean := by.s[ch] / m
		variance := max(by.t[ch]/m-mean*mean, 0)
		mean += by.pivot[ch]
		setNumber(&c.Out[1], ch, mean)
		setNumber(&c.Out[2], ch, 1/math.Sqrt(variance+options.Epsilon))
		if len(c.Out) == 5 {
			blend(&c.Out[3], ch, mean, options.Momentum)
			blend(&c.Out[4], ch, variance*m/(m-1), options.Momentum)
		}
		by.pivot[ch], by.a[ch], by.k[ch] = mean, channel(&c.In[1], ch)/math.Sqrt(variance+options.Epsilon), channel(&c.In[2], ch)
	}
	return loop.apply(&c.Out[0], x, nil, nil, by)
}

// evalNorm is BatchNormEval.
func evalNorm(c *Call, options BatchNormOptions, loop channelLoop, by *channelSet) error {
	for ch := range by.pivot {
		by.pivot[ch] = channel(&c.In[3], ch)
		by.a[ch] = channel(&c.In[1], ch) / math.Sqrt(channel(&c.In[4], ch)+options.Epsilon)
		by.k[ch] = channel(&c.In[2], ch)
	}
	return loop.apply(&c.Out[0], &c.In[0], nil, nil, by)
}

// trainNormGrad is BatchNormGrad: with X = (x-mean)·invstd, and means over a channel,
//
//	dx = gamma·invstd·(dy - mean(dy) - X·mean(dy·X)),  dgamma = Σ dy·X,  dbeta = Σ dy
func trainNormGrad(c *Call, _ BatchNormOptions, loop channelLoop, by *channelSet) error {
	m := float64(population(&c.In[0]))
	return normGrad(c, loop, by, func(ch int) float64 { return channel(&c.In[4], ch) }, func(ch int, invstd float64) {
		by.a[ch] = -by.b[ch] * invstd * invstd * by.t[ch] / m
		by.k[ch] = -by.b[ch] * by.s[ch] / m
	})
}

// evalNormGrad is BatchNormEvalGrad, whose statistics do not depend on x.
func evalNormGrad(c *Call, options BatchNormOptions, loop channelLoop, by *channelSet) error {
	return normGrad(c, loop, by, func(ch int) float64 { return 1 / math.Sqrt(channel(&c.In[4], ch)+options.Epsilon) }, func(int, float64) {})
}

// normGrad is the part that both gradients share. The function rest sets the coefficients of
// the terms that stem from the statistics of the batch.
func normGrad(c *Call, loop channelLoop, by *channelSet, invstd func(ch int) float64, rest func(ch int, invstd float64)) error {
	x, dy := &c.In[0], &c.In[2]
	for ch := range by.pivot {
		by.pivot[ch] = channel(&c.In[3], ch)
	}
	if err := loop.sums(by.s, by.t, dy, reluOf(c), x, by.pivot); err != nil {
		return err
	}
	for ch := range by.pivot {
		inv := invstd(ch)
		setNumber(&c.Out[1], ch, by.t[ch]*inv)
		setNumber(&c.Out[2], ch, by.s[ch])
		by.b[ch] = channel(&c.In[1], ch) * inv
		rest(ch, inv)
	}
	return loop.apply(&c.Out[0], x, dy, reluOf(c), by)
}

// population returns the number of elements of each channel of x.
func population(x *storage.Array) int {
	n := x.Shape[0]
	for _, size := range x.Shape[2:] {
		n *= size
	}
	return n
}

// number returns the element of a at a position.
func number(a *storage.Array, at int) float64 {
	if a.Type == dtype.Float64 {
		return storage.Elements[float64](*a)[at]
	}
	return float64(storage.Elements[float32](*a)[at])
}

// channel returns element ch of a rank-1 array.
func channel(a *storage.Array, ch int) float64 { return number(a, a.Offset+ch*a.Stride[0]) }

func setNumber(a *storage.Array, ch int, x float64) {
	if at := a.Offset + ch*a.Stride[0]; a.Type == dtype.Float64 {
		storage.Elements[float64](*a)[at] = x
	} else {
		storage.Elements[float32](*a)[at] = float32(x)
	}
}

// blend moves element ch of a towards x.
func blend(a *storage.Array, ch int, x, weight float64) {
	setNumber(a, ch, (1-weight)*channel(a, ch)+weight*x)
}

// reluOf returns the result of a relu, which is the last input of a gradient, or nil.
func reluOf(c *Call) *storage.Array {
	if len(c.In) < 6 {
		return nil
	}
	return &c.In[5]
}

// A referenceLoop is the channelLoop in Go.
type referenceLoop struct{ relu bool }

func (l referenceLoop) sums(s, t []float64, dy, mask, x *storage.Array, pivot []float64) error {
	eachChannel(x, dy, x, func(_, dyAt, xAt, ch int) {
		d := number(x, xAt) - pivot[ch]
		a := d
		if dy != nil {
			a = masked(dy, mask, dyAt)
		}
		s[ch] += a
		t[ch] += a * d
	})
	return nil
}

func (l referenceLoop) apply(y, x, dy, mask *storage.Array, by *channelSet) error {
	eachChannel(y, dy, x, func(yAt, dyAt, xAt, ch int) {
		v := by.a[ch]*(number(x, xAt)-by.pivot[ch]) + by.k[ch]
		if dy != nil {
			v += by.b[ch] * masked(dy, mask, dyAt)
		}
		if l.relu && v < 0 {
			v = 0
		}
		if y.Type == dtype.Float64 {
			storage.Elements[float64](*y)[yAt] = v
		} else {
			storage.Elements[float32](*y)[yAt] = float32(v)
		}
	})
	return nil
}

// masked returns the element of dy at a position, or 0 where mask is not positive.
func masked(dy, mask *storage.Array, at int) float64 {
	if mask != nil && number(mask, at) <= 0 {
		return 0
	}
	return number(dy, at)
}

// eachChannel visits the elements of arrays of one shape, with their channel.
func eachChannel(y, dy, x *storage.Array, visit func(y, dy, x, ch int)) {
	if dy == nil {
		dy = x
	}
	for ch := range x.Shape[1] {
		views.Walk(func(at, step []int, n int) {
			for k := range n {
				visit(at[0]+k*step[0], at[1]+k*step[1], at[2]+k*step[2], ch)
			}
		}, ofChannel(y, ch), ofChannel(dy, ch), ofChannel(x, ch))
	}
}

func ofChannel(a *storage.Array, ch int) views.View {
	v, err := a.View.Select(1, ch)
	must(err)
	return v
}

// A nativeLoop is the channelLoop in C, for three axes: the first, the channels, and the others
// merged.
type nativeLoop struct {
	g    native.Channels
	real native.ComputeType
}

// nativeLoopOf returns false if the axes after the channels cannot be merged.
func nativeLoopOf(c *Call) (*nativeLoop, bool) {
	x := &c.In[0]
	f := &nativeLoop{}
	f.real, _ = native.ComputeTypeOf(x.Type)
	f.g.N, f.g.C, f.g.L = int64(x.Shape[0]), int64(x.Shape[1]), int64(population(x)/max(x.Shape[0], 1))
	dy := x
	if len(c.Out) == 3 && len(c.In) >= 5 {
		dy = &c.In[2]
	}
	var ok [3]bool
	f.g.X, ok[0] = threeStrides(x)
	f.g.Y, ok[1] = threeStrides(&c.Out[0])
	f.g.DY, ok[2] = threeStrides(dy)
	if f.g.L == 1 { // (N,C): the rows are the pixels of one image
		f.g.N, f.g.L = 1, f.g.N
		for _, s := range []*[3]int64{&f.g.X, &f.g.Y, &f.g.DY} {
			s[0], s[2] = 0, s[0]
		}
	}
	return f, x.Len() > 0 && ok == [3]bool{true, true, true}
}

// threeStrides merges all axes after the second, if it can.
func threeStrides(a *storage.Array) (s [3]int64, ok bool) {
	s = [3]int64{int64(a.Stride[0]), int64(a.Stride[1]), 1}
	step, found := 0, false
	for axis := a.Rank() - 1; axis >= 2; axis-- {
		switch size := a.Shape[axis]; {
		case size == 1:
			continue
		case !found:
			s[2], found = int64(a.Stride[axis]), true
		case a.Stride[axis] != step:
			return s, false
		}
		step = a.Shape[axis] * a.Stride[axis]
	}
	return s, true
}

func (f *nativeLoop) sums(s, t []float64, dy, mask, x *storage.Array, pivot []float64) error {
	return f.g.Sums(f.real, s[:len(s)+len(t)], start(dy), start(mask), start(x), pivot) // t follows s
}

func (f *nativeLoop) apply(y, x, dy, mask *storage.Array, by *channelSet) error {
	return f.g.Map(f.real, start(y), start(x), start(dy), start(mask), by.all)
}
