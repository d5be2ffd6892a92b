package tensor

import (
	"slices"

	"github.com/h5dnn/h5dnn/tensor/internal/samples"
	"github.com/h5dnn/h5dnn/views"
)

// Ellipsis stands, among the names that [Tensor.RefineNames], [Tensor.AlignTo] and
// [Tensor.Rename] take, for the names of all axes that are not listed.
const Ellipsis = "..."

// Names returns the names of the axes, "" for an axis without one; nil if no axis has one. The
// caller must not change them.
func (x *Tensor) Names() []string {
	if x.format == nil {
		return nil
	}
	return x.format.Names
}

// Axis returns the number of the axis that has a name, for all methods that take axes:
// x.Sum(x.Axis("channels")), x.Select(x.Axis("time"), 0).
func (x *Tensor) Axis(name string) int {
	axis := slices.Index(x.Names(), name)
	if name == "" || axis < 0 {
		fail("axis", ErrShape, "%q is no name of an axis of %v with names %q", name, x.Shape(), x.Names())
	}
	return axis
}

// Axes is [Tensor.Axis] of several names: x.Mean(x.Axes("rows", "columns")...).
func (x *Tensor) Axes(names ...string) []int {
	axes := make([]int, len(names))
	for i, name := range names {
		axes[i] = x.Axis(name)
	}
	return axes
}

// Rename returns x, sharing its memory, with other names of all axes: "" for none, "..." for
// the present names of the axes in its place.
func (x *Tensor) Rename(names ...string) *Tensor {
	return x.renamed("rename", x.allNames("rename", names))
}

// Unnamed returns x without the names of its axes: PyTorch's rename(None).
func (x *Tensor) Unnamed() *Tensor {
	if x.Names() == nil {
		return x
	}
	return x.renamed("unnamed", make([]string, x.Rank()))
}

// RefineNames returns x, sharing its memory, with names for axes that have none; axes that have
// one keep it, and names must not list another for them. See [Ellipsis].
func (x *Tensor) RefineNames(names ...string) *Tensor {
	const act = "refine names"
	names = x.allNames(act, names)
	for axis, name := range x.Names() {
		if name != "" && name != names[axis] {
			fail(act, ErrShape, "axis %d is called %q, not %q; Rename changes names", axis, name, names[axis])
		}
	}
	return x.renamed(act, names)
}

// AlignTo returns x, sharing its memory, with its axes in the order of names, and with an axis
// of size 1 for each name that x does not have. Every axis of x has a name, which is listed, or
// stands in the place of "...".
func (x *Tensor) AlignTo(names ...string) *Tensor {
	const act = "align to"
	have := x.Names()
	var others []string
	for _, name := range have {
		if !slices.Contains(names, name) {
			others = append(others, name)
		}
	}
	if at := slices.Index(names, Ellipsis); at >= 0 {
		names = slices.Concat(names[:at], others, names[at+1:])
	} else if len(others) > 0 {
		fail(act, ErrShape, "axes %q of %q are not among %q; \"...\" stands for them", others, have, names)
	}
	if len(have) != x.Rank() || repeats(names) || slices.Contains(names, "") || slices.Contains(names, Ellipsis) {
		fail(act, ErrShape, "axes %q of %v to %q; want names of all, each once", have, x.Shape(), names)
	}
	var order []int
	for _, name := range names {
		if axis := slices.Index(have, name); axis >= 0 {
			order = append(order, axis)
		}
	}
	y := x
	if x.Rank() > 0 {
		y = x.Permute(order...)
	}
	for axis, name := range names {
		if !slices.Contains(have, name) {
			y = y.Unsqueeze(axis)
		}
	}
	return y.renamed(act, names)
}

// AlignAs is [Tensor.AlignTo] the names of y, so that an elementwise operation can broadcast
// the two.
func (x *Tensor) AlignAs(y *Tensor) *Tensor { return x.AlignTo(y.Names()...) }

// allNames returns a name for each axis of x: names, with the names of x in the place of "...".
func (x *Tensor) allNames(act string, names []string) []string {
	if at := slices.Index(names, Ellipsis); at >= 0 {
		after := len(names) - at - 1
		if at+after > x.Rank() {
			fail(act, ErrShape, "names %q for %v", names, x.Shape())
		}
		have := x.Names()
		if have == nil {
			have = make([]string, x.Rank())
		}
		names = slices.Concat(names[:at], have[at:len(have)-after], names[at+1:])
	}
	return names
}

func (x *Tensor) renamed(act string, names []string) *Tensor {
	checkNames(act, names, x.Shape())
	return view(rename{names: slices.Clone(names)}, x, x.array.View)
}

// checkNames fails unless there is a name, or "", for each axis, and none twice.
func checkNames(act string, names []string, shape []int) {
	if len(names) != len(shape) || repeats(names) || slices.Contains(names, Ellipsis) {
		fail(act, ErrShape, "names %q for %v; want a different one for each axis, or \"\"", names, shape)
	}
}

// repeats reports whether a name other than "" occurs twice.
func repeats(names []string) bool {
	for i, name := range names {
		if name != "" && slices.Contains(names[:i], name) {
			return true
		}
	}
	return false
}

// rename is the identity; its result has other names.
type rename struct {
	viewOp
	names []string
}

func (rename) Name() string { return "rename" }

func (rename) origins(from, _ views.View) []int { return sameAxes(from.Rank()) }

func (rename) Backward(out, grads, in []*Tensor) []*Tensor { return grads }

// A viewer is an operation on views that says which axis of its operand each axis of its
// result is: -1 for a new axis, or one that several became. Names follow.
type viewer interface {
	origins(from, to views.View) []int
}

// A namer names the axes of the result of an operation other than a view.
type namer interface {
	axisNames(op string, in []Spec, out Spec) []string
}

// namerOf returns the rule for op; nil for an operation that refuses tensors with names.
func namerOf(op any) namer {
	switch op := op.(type) {
	case namer:
		return op
	case PointwiseOp, move, *move, reduction, squares, moments, argmax, maxIndex, sorting, cumsum, cat, softmax, gather, scatter,
		*layerNorm, *squaredError:
		return alignsNames{}
	case dropout, *batchNorm, *maxPool, avgPool:
		return namesOfFirst{}
	case *nonzero, searchSorted, binCount:
		return dropsNames{}
	}
	return nil
}

// named returns the formats of op's results with the names that follow from the operands'.
func named(op Op, in, out []Spec) []Spec {
	if !slices.ContainsFunc(in, func(x Spec) bool { return x.Names() != nil }) {
		return out
	}
	rule := namerOf(op)
	for i, y := range out {
		var f Format
		if y.Format != nil {
			f = *y.Format
		}
		f.Names = rule.axisNames(op.Name(), in, y)
		if f.Names != nil {
			checkNames(op.Name(), f.Names, y.Shape)
		}
		out[i].Format = f.orNil()
	}
	return out
}

// Names returns the names of the axes of a tensor that x describes; nil if none has one.
func (x Spec) Names() []string {
	if x.Format == nil {
		return nil
	}
	return x.Format.Names
}

// nameOf returns the name of an axis, "" without one.
func (x Spec) nameOf(axis int) string {
	if names := x.Names(); names != nil {
		return names[axis]
	}
	return ""
}

// alignsNames is the rule of operations whose operands and results are aligned from the last
// axis, as broadcasting aligns them: the names of an axis agree, and "" agrees with any. A
// result of rank 0 has none.
type alignsNames struct{}

func (alignsNames) axisNames(op string, in []Spec, out Spec) []string {
	common := []string{} // from the last axis
	for _, x := range in {
		for i := range x.Rank() {
			axis, name := x.Rank()-1-i, ""
			if name = x.nameOf(axis); i == len(common) {
				common = append(common, name)
			}
			if common[i] == "" {
				common[i] = name
			}
			if name != "" && name != common[i] {
				fail(op, ErrShape, "axis %d of %q meets %q; Rename, or AlignAs", axis, x.Names(), common[i])
			}
		}
	}
	if slices.Reverse(common); repeats(common) {
		fail(op, ErrShape, "the operands have an axis %q in different places; call AlignAs first", common)
	}
	if out.Rank() == 0 {
		return nil
	}
	return common
}

// namesOfFirst is the rule of operations whose results have the axes of the first operand.
// The other operands have no names.
type namesOfFirst struct{}

func (namesOfFirst) axisNames(op string, in []Spec, out Spec) []string {
	wantNoNames(op, in[1:])
	if out.Rank() == 0 {
		return nil
	}
	return in[0].Names()
}

// axisNames: an operand of the same axes is padded, another is put among axes without names.
func (unslice) axisNames(_ string, in []Spec, out Spec) []string {
	if in[0].Rank() == out.Rank() {
		return in[0].Names()
	}
	return nil
}

// dropsNames is the rule of operations whose results are places and counts, on axes of their own.
type dropsNames struct{}

func (dropsNames) axisNames(string, []Spec, Spec) []string { return nil }

func wantNoNames(op string, in []Spec) {
	for _, x := range in {
		if x.Names() != nil {
			fail(op, ErrState, "of an operand with axes %q, which have no part in the result; call Unnamed first", x.Names())
		}
	}
}

// axisNames: the axes before the last two agree, and the last two have the names of the factors.
// As in PyTorch the axes that are summed over may have different names.
func (matmul) axisNames(op string, in []Spec, out Spec) []string {
	var outer [2]Spec
	for i, x := range in {
		lead := x.Rank() - 2
		outer[i].View = views.View{Shape: x.Shape[:lead]}
		if x.Names() != nil {
			outer[i].Format = &Format{Names: x.Names()[:lead]}
		}
	}
	names := alignsNames{}.axisNames(op, outer[:], Spec{View: views.View{Shape: out.Shape[:out.Rank()-2]}})
	return append(names, in[0].nameOf(in[0].Rank()-2), in[1].nameOf(in[1].Rank()-1))
}

// replaced returns the names of in[0] with name in the place of another, which a bias shares.
func replaced(op string, in []Spec, axis int, name string) []string {
	names := make([]string, in[0].Rank())
	copy(names, in[0].Names())
	names[axis] = name
	for _, bias := range in[2:] {
		if b := bias.nameOf(0); b != "" && names[axis] != "" && b != names[axis] {
			fail(op, ErrShape, "axis %q of a bias meets %q", b, names[axis])
		} else if b != "" {
			names[axis] = b
		}
	}
	return names
}

func (*linear) axisNames(op string, in []Spec, out Spec) []string {
	return replaced(op, in, in[0].Rank()-1, in[1].nameOf(0))
}

func (conv) axisNames(op string, in []Spec, out Spec) []string {
	return replaced(op, in, 1, in[1].nameOf(0))
}

func (convTranspose) axisNames(op string, in []Spec, out Spec) []string {
	return replaced(op, in, 1, in[1].nameOf(1))
}

// axisNames: labels agree with the rows of the logits; a loss has no axes.
func (*crossEntropy) axisNames(op string, in []Spec, out Spec) []string {
	if row, label := in[0].nameOf(0), in[1].nameOf(0); row != "" && label != "" && row != label {
		fail(op, ErrShape, "rows %q of the logits meet labels %q", row, label)
	}
	return nil
}

// sameAxes are the origins of as many axes that stay where they are.
func sameAxes(rank int) []int {
	axes := make([]int, rank)
	for axis := range axes {
		axes[axis] = axis
	}
	return axes
}

func (op permute) origins(from, _ views.View) []int {
	axes := make([]int, len(op.order))
	for k, axis := range op.order {
		axes[k], _ = views.Axis(axis, from.Rank())
	}
	return axes
}

func (expand) origins(from, to views.View) []int {
	axes := sameAxes(to.Rank())
	for axis := range axes {
		axes[axis] = max(-1, axis-(to.Rank()-from.Rank()))
	}
	return axes
}

func (flip) origins(from, _ views.View) []int { return sameAxes(from.Rank()) }

func (unfold) origins(from, _ views.View) []int { return append(sameAxes(from.Rank()), -1) }

func (op slice) origins(from, to views.View) []int {
	if op.index != nil {
		return op.index.Origins(from.Rank())
	}
	return traced(op.part, from.Shape, to.Rank())
}

// traced returns the origins of the axes that part selects: those whose strides follow the
// stride of an axis.
func traced(part viewFunc, shape []int, rank int) []int {
	axes := slices.Repeat([]int{-1}, rank)
	for from := range shape {
		probe := views.View{Shape: shape, Stride: make([]int, len(shape))}
		probe.Stride[from] = 1
		v, err := part(probe)
		check("slice", err)
		for axis, stride := range v.Stride {
			switch {
			case stride == 0:
			case axes[axis] == -1:
				axes[axis] = from
			default: // a diagonal
				axes[axis] = -2
			}
		}
	}
	return axes
}

// origins finds the axes along which elements have the same index in both shapes: their size,
// and the number of elements of each, are the same. Axes of size 1 that cannot be told apart
// have no origin.
func (op reshape) origins(from, to views.View) []int {
	switch {
	case op.inserted > 0:
		return slices.Insert(sameAxes(from.Rank()), op.inserted-1, -1)
	case op.part != nil:
		return traced(op.part, from.Shape, to.Rank())
	}
	steps := func(v views.View) [][2]int {
		all, step := make([][2]int, v.Rank()), 1
		for axis := v.Rank() - 1; axis >= 0; axis-- {
			all[axis] = [2]int{v.Shape[axis], step}
			step *= v.Shape[axis]
		}
		return all
	}
	count := func(all [][2]int, one [2]int) (n int) {
		for _, other := range all {
			if other == one {
				n++
			}
		}
		return n
	}
	before, after := steps(from), steps(to)
	axes := make([]int, to.Rank())
	for axis, step := range after {
		axes[axis] = -1
		if count(before, step) == 1 && count(after, step) == 1 {
			axes[axis] = slices.Index(before, step)
		}
	}
	return axes
}

var (
	_ = samples.Register("rename", unary(func(x *Tensor) *Tensor { return x.Unnamed().Rename("r", "c").RefineNames("r", "...").Unnamed() }), samples.In(2, 3).Rows())
	_ = samples.Register("align to", unary(func(x *Tensor) *Tensor { return x.Unnamed().Rename("r", "c").AlignTo("c", "new", "...").Unnamed() }), samples.In(2, 3))
)
