package tensor

import (
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// Operations in place write their result to the memory of x and of all its views, and
// return x. They obey PyTorch's rules:
//
//   - The result has the shape and the type of x: operands broadcast to x, a result of
//     another type is cast, but not from floats to integers or to bools.
//   - Gradients flow through the new value of x. A leaf that requires a gradient is not
//     written to, except where nothing is recorded: see [NoGrad].
//   - A backward pass that needs a value which was overwritten fails. What an operation
//     does not need, such as the operands of a sum, may be overwritten.
//   - Operands that overlap x are read before it is written.
//
// Where PyTorch rewrites the history of other views of the memory, these operations fail: a
// view does not become an expression that requires a gradient, nor does a tensor that has views.

// AddInPlace adds y to x.
func (x *Tensor) AddInPlace(y *Tensor) *Tensor {
	return x.inPlace("add in place", false, (*Tensor).Add, y)
}

// SubInPlace subtracts y from x.
func (x *Tensor) SubInPlace(y *Tensor) *Tensor {
	return x.inPlace("sub in place", false, (*Tensor).Sub, y)
}

// MulInPlace multiplies x by y.
func (x *Tensor) MulInPlace(y *Tensor) *Tensor {
	return x.inPlace("mul in place", y != nil && y.requiresGrad, (*Tensor).Mul, y)
}

// DivInPlace divides x by y.
func (x *Tensor) DivInPlace(y *Tensor) *Tensor {
	return x.inPlace("div in place", y == x, (*Tensor).Div, y)
}

// InPlace replaces x by f of x, which is any expression: x.InPlace((*Tensor).Exp). If it is recorded, f
// sees a copy of x, because its gradient may need the old value.
func (x *Tensor) InPlace(f func(x *Tensor) *Tensor) *Tensor {
	return x.inPlace("in place", true, func(x, _ *Tensor) *Tensor { return f(x) }, nil)
}

// Assign copies y, broadcast to x's shape and converted to x's type, to x; x is often a Slice or an
// Index of another tensor.
func (x *Tensor) Assign(y *Tensor) *Tensor {
	return x.inPlace("assign", false, func(_, y *Tensor) *Tensor { return Apply(assigned{x}, y.Cast(x.DType())) }, y)
}

// assigned is the operand broadcast to the shape of x, in the memory of x unless they overlap.
type assigned struct{ x *Tensor }

func (assigned) Name() string                                    { return "assign" }
func (assigned) reads([]*Tensor) (operands uint64, results bool) { return 0, false }

func (op assigned) Infer(in []Spec) []Spec {
	shape := op.x.Shape()
	if _, ok := in[0].View.Broadcast(shape...); !ok {
		fail("assign", ErrShape, "%v does not broadcast to %v", in[0].Shape, shape)
	}
	return one(in[0].Type, views.Of(shape...))
}

func (op assigned) Forward(c *Context, out, in []storage.Array) error {
	return c.Run(kernels.Copy, nil, out, broadcastTo(in[0], out[0].Shape))
}

func (op assigned) Backward(out, grads, in []*Tensor) []*Tensor {
	return []*Tensor{grads[0].sumTo(in[0].Shape())}
}

// Zero sets every element of x to 0.
func (x *Tensor) Zero() *Tensor { return x.Fill(0) }

// Fill sets every element of x to value; no gradient reaches what x was.
func (x *Tensor) Fill(value float64) *Tensor {
	x.checkWritable("fill", modeOf("fill", nil, nil, []*Tensor{x}))
	was := x.aimed(nil)
	run("fill", kernels.Fill, kernels.FillOptions{Value: value}, []storage.Array{x.array})
	x.become(was, FromArray(x.array), 0)
	return x
}

// Into computes f(x) into the memory of out, which has the shape and the type of the result
// exactly, and returns out: Into(out, x, (*Tensor).Exp). An f of one operation writes its result directly,
// others are copied there. Nothing is recorded, so no operand may require a gradient.
func Into(out, x *Tensor, f func(x *Tensor) *Tensor) *Tensor {
	const act = "into"
	checkGiven(act, out, x)
	mode := modeOf(act, nil, nil, []*Tensor{out, x})
	out.checkWritable(act, mode)
	if isOne(f, x) {
		x = x.aimed(&target{x: out})
	}
	y := f(x)
	switch {
	case y.requiresGrad && !mode.quiet:
		fail(act, ErrState, "%v requires a gradient, which results in given memory cannot have; Detach it, or leave out Into", y.array)
	case y.DType() != out.DType() || !slices.Equal(y.Shape(), out.Shape()):
		fail(act, ErrShape, "the result %v %v does not fit %v %v", y.DType(), y.Shape(), out.DType(), out.Shape())
	}
	y.copyInto(act, out)
	return out
}

// A target is where an operation writes its result.
type target struct {
	x        *Tensor // whose memory it is
	replaces bool    // whether the operation reads x and then replaces it
	result   *Tensor // of the operation that was written there
}

// aimed returns x such that the first operation on it writes its result to t, if that fits.
func (x *Tensor) aimed(t *target) *Tensor {
	y := *x
	y.Grad, y.past, y.into = nil, nil, t
	return &y
}

// isOne reports whether f is a single operation on x, by trying it without elements.
func isOne(f func(x *Tensor) *Tensor, x *Tensor) bool {
	tried := target{x: NewMeta(x.DType(), x.Shape()...)}
	var y *Tensor
	err := Try(func() { y = f(tried.x.aimed(&tried)) })
	return err == nil && tried.result == y
}

// targetOf returns where op writes its result, which is given: memory that in is aimed at, if the result
// fits and op has read its operands before it overwrites them; else nil.
func targetOf(op Op, specs []Spec, in []*Tensor, result *Tensor) *target {
	var t *target
	if a, ok := op.(assigned); ok {
		t = &target{x: a.x}
	} else if i := slices.IndexFunc(in, func(x *Tensor) bool { return x.into != nil && x.into.result == nil }); i >= 0 {
		t = in[i].into
	}
	if t == nil || len(specs) != 1 {
		return nil
	}
	if t.x.IsMeta() {
		t.result = result
		return nil
	}
	to, spec := t.x.array, specs[0]
	if spec.Format != nil || spec.Type != to.Type || !slices.Equal(spec.Shape, to.Shape) {
		return nil
	}
	for _, x := range in {
		if x.array.Overlaps(to) && !((t.replaces || oneKernel(op)) && !kernels.Clobbers(to, broadcastOrSame(x.array, to.Shape))) {
			return nil
		}
	}
	t.result = result
	return t
}

// oneKernel reports whether op is computed by one elementwise kernel, which may write over its operands.
func oneKernel(op Op) bool {
	switch op.(type) {
	case unaryOp, binaryOp, elu, hardtanh, scaleOffset:
		return true
	}
	return false
}

// broadcastOrSame views a as shape if it broadcasts to it.
func broadcastOrSame(a storage.Array, shape []int) storage.Array {
	if _, ok := a.View.Broadcast(shape...); ok {
		return broadcastTo(a, shape)
	}
	return a
}

// past is what a tensor was for operations that were recorded before an operation in place.
type past struct {
	before uint64 // see node.order
	was    *Tensor
}

// at returns what x was when operation number order was recorded.
func (x *Tensor) at(order uint64) *Tensor {
	for _, p := range x.past {
		if order < p.before {
			return p.was
		}
	}
	return x
}

// inPlace makes x the result of f on what it was and y, written to its memory. If keep is set and f is recorded, what x
// was is a copy, which the gradient of f may read; f is else one elementwise operation.
func (x *Tensor) inPlace(act string, keep bool, f func(x, y *Tensor) *Tensor, y *Tensor) *Tensor {
	operands := []*Tensor{x, y}
	if act == "in place" {
		operands = operands[:1]
	}
	mode := modeOf(act, nil, nil, operands)
	x.checkWritable(act, mode)
	if y != nil && y != x {
		y = inMemory(act, operands)[1]
	}
	was := x.aimed(&target{x: x, replaces: true})
	if keep {
		was.into = nil
	}
	if keep && mode.records() {
		was.array, was.block = x.kept(act)
	}
	if y == x {
		y = was
	}
	z := f(was, y)
	checkFits(act, z.DType(), x.DType())
	z = z.Cast(x.DType())
	if !slices.Equal(z.Shape(), x.Shape()) {
		fail(act, ErrShape, "the result %v does not fit %v", z.Shape(), x.Shape())
	}
	from := versionOf(z)
	z.copyInto(act, x)
	x.become(was, z, from)
	return x
}

// kept returns a copy of x in memory of its own, for a gradient.
func (x *Tensor) kept(act string) (storage.Array, *block) {
	c := Context{device: device(act, x), tape: x.tape}
	a, b, err := c.alloc(x.DType(), views.Like(x.array.View))
	check(act, err)
	check(act, c.Run(kernels.Copy, nil, []storage.Array{a}, x.array))
	return a, b
}

// checkFits fails if a result of type from is not cast to type to in place.
func checkFits(act string, from, to dtype.Type) {
	rank := func(t dtype.Type) int {
		switch {
		case t.IsComplex():
			return 3
		case t.IsFloat():
			return 2
		case t.IsInt():
			return 1
		}
		return 0
	}
	if rank(from) > rank(to) {
		fail(act, ErrType, "the result is %v, which %v does not hold; Cast one first", from, to)
	}
}

// copyInto copies x to the memory of out, unless it was computed there.
func (x *Tensor) copyInto(act string, out *Tensor) {
	a, to := x.array, out.array
	if a.Data == to.Data && a.Offset == to.Offset && slices.Equal(a.Stride, to.Stride) {
		return
	}
	if x.IsLazy() {
		check(act, x.CopyTo(to))
		return
	}
	if x.array.Overlaps(to) {
		a, _ = x.kept(act)
	}
	run(act, kernels.Copy, nil, []storage.Array{to}, a)
}

// become makes x, whose memory holds the elements of y, the result that y was. Operations recorded before go on
// referring to what x was. from is the version of y's memory before it was copied to x.
func (x *Tensor) become(was, y *Tensor, from uint64) {
	if y.node == nil && x.node == nil {
		return
	}
	was.into = nil
	if n := x.node; n != nil {
		n.out[slices.Index(n.out, x)] = was
	}
	x.past = append(x.past, past{recorded.Add(1), was})
	x.node, x.requiresGrad = y.node, y.requiresGrad
	if n := y.node; n != nil {
		n.out[slices.Index(n.out, y)] = x
		if _, results := n.reads(); results {
			n.version += versionOf(x) - from
		}
		if x.block != y.block {
			x.block.use() // by n, whose result is x now
		}
	}
}

// checkWritable fails if x cannot be written to in place, in the mode of the operation that does.
func (x *Tensor) checkWritable(act string, m mode) {
	switch {
	case m.noGrad || m.quiet:
	case x.requiresGrad && x.node == nil:
		fail(act, ErrState, "%v is a leaf that requires a gradient; write to it in NoGrad, or to its Detach", x.array)
	case m.requiresGrad && (x.isView || x.viewed):
		fail(act, ErrState, "%v shares its memory with another tensor, which would not know of the gradient; Clone it first", x.array)
	}
}
