package weights

import (
	"fmt"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/errkind"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// Same is the Op that changes nothing.
type Same struct{}

// Forward returns from.
func (Same) Forward(from []storage.Array) ([]storage.Array, error) { return from, nil }

// Backward returns to.
func (Same) Backward(to []storage.Array) ([]storage.Array, error) { return to, nil }
func (Same) String() string                                       { return "copy" }

// An arrayOp is an Op of one array. Of several, it transforms each.
type arrayOp struct {
	name              string
	forward, backward func(a storage.Array) (storage.Array, error)
}

func (e arrayOp) Forward(from []storage.Array) ([]storage.Array, error) {
	return mapArrays(from, e.forward)
}
func (e arrayOp) Backward(to []storage.Array) ([]storage.Array, error) {
	return mapArrays(to, e.backward)
}
func (e arrayOp) String() string { return e.name }

func mapArrays(list []storage.Array, f func(storage.Array) (storage.Array, error)) ([]storage.Array, error) {
	mapped := make([]storage.Array, len(list))
	for i, a := range list {
		var err error
		if mapped[i], err = f(a); err != nil {
			return nil, err
		}
	}
	return mapped, nil
}

// TransposeOp returns the Op that reorders axes: axis k of the result is axis order[k].
func TransposeOp(order ...int) Op {
	inverse := invert(order)
	return arrayOp{
		fmt.Sprintf("transpose(%s)", numbers(order)),
		func(a storage.Array) (storage.Array, error) { return Transpose(a, order...) },
		func(a storage.Array) (storage.Array, error) { return Transpose(a, inverse...) },
	}
}

// invert returns the order that undoes order, which a caller has checked.
func invert(order []int) []int {
	inverse := make([]int, len(order))
	for k, axis := range order {
		inverse[axis] = k
	}
	return inverse
}

// ReshapeOp returns the Op that gives arrays of one shape another. A size of -1 in either
// is inferred.
func ReshapeOp(from, to []int) Op {
	return arrayOp{
		fmt.Sprintf("reshape(%s)", numbers(to)),
		func(a storage.Array) (storage.Array, error) { return Reshape(a, to...) },
		func(a storage.Array) (storage.Array, error) { return Reshape(a, from...) },
	}
}

// GatesOp returns the Op that permutes equal blocks of an axis, such as the gates of a
// recurrent layer: block k of the result is block order[k].
func GatesOp(axis int, order ...int) Op {
	inverse := invert(order)
	return arrayOp{
		fmt.Sprintf("gates(%s)", numbers(order)),
		func(a storage.Array) (storage.Array, error) { return PermuteBlocks(a, axis, order...) },
		func(a storage.Array) (storage.Array, error) { return PermuteBlocks(a, axis, inverse...) },
	}
}

// FeaturesOp returns the Op that reorders an axis of flattened features from channels last
// to channels first. Each shape is that of features before they were flattened, with the
// channels at its end; one of a single number stands for features that keep their order.
func FeaturesOp(axis int, shapes ...[]int) Op {
	name := make([]string, len(shapes))
	sizes := make([]int, len(shapes))
	for i, shape := range shapes {
		name[i], sizes[i] = numbers(shape), views.Of(shape...).Len()
	}
	permute := func(a storage.Array, one func(a storage.Array, axis int, shape []int) (storage.Array, error)) (storage.Array, error) {
		if axis >= a.Rank() {
			return a, fmt.Errorf("features: axis %d of shape %v: %w", axis, a.Shape, views.ErrShape)
		}
		if total := sum(sizes); total != a.Shape[axis] {
			return a, fmt.Errorf("features of shape %s are %d when they are flattened, but axis %d of shape %v has %d; the model, or the shape that is given for the layer, does not fit the weights: %w", strings.Join(name, " and "), total, axis, a.Shape, a.Shape[axis], views.ErrShape)
		}
		parts, err := Split(a, axis, sizes...)
		if err != nil {
			return a, fmt.Errorf("features(%s): %w", strings.Join(name, ", "), err)
		}
		for i := range parts {
			if parts[i], err = one(parts[i], axis, shapes[i]); err != nil {
				return a, err
			}
		}
		return Concat(axis, parts...)
	}
	return arrayOp{
		fmt.Sprintf("features(%s)", strings.Join(name, ", ")),
		func(a storage.Array) (storage.Array, error) { return permute(a, channelsFirst) },
		func(a storage.Array) (storage.Array, error) { return permute(a, channelsLast) },
	}
}

func sum(sizes []int) (total int) {
	for _, n := range sizes {
		total += n
	}
	return total
}

// channelsFirst reorders axis, flattened features of that shape, to channels first.
func channelsFirst(a storage.Array, axis int, shape []int) (storage.Array, error) {
	channels := len(shape) - 1
	order := []int{channels}
	for k := range channels {
		order = append(order, k)
	}
	return reorder(a, axis, shape, order)
}

// channelsLast undoes channelsFirst.
func channelsLast(a storage.Array, axis int, shape []int) (storage.Array, error) {
	channels := len(shape) - 1
	first := append([]int{shape[channels]}, shape[:channels]...)
	var order []int
	for k := range channels {
		order = append(order, k+1)
	}
	return reorder(a, axis, first, append(order, 0))
}

// reorder splits an axis into axes of that shape, orders those, and merges them.
func reorder(a storage.Array, axis int, shape, order []int) (storage.Array, error) {
	split := slices.Concat(a.Shape[:axis], shape, a.Shape[axis+1:])
	axes := make([]int, len(split))
	for k := range axes {
		axes[k] = k
	}
	for k, from := range order {
		axes[axis+k] = axis + from
	}
	b, err := Reshape(a, split...)
	if err == nil {
		b, err = Transpose(b, axes...)
	}
	if err == nil {
		b, err = Reshape(b, a.Shape...)
	}
	return b, err
}

// CastOp returns the Op that converts elements to a type, and back from it.
func CastOp(from, to dtype.Type) Op {
	return arrayOp{
		fmt.Sprintf("cast(%v)", to),
		func(a storage.Array) (storage.Array, error) { return Cast(a, to), nil },
		func(a storage.Array) (storage.Array, error) { return Cast(a, from), nil },
	}
}

// ConcatOp returns the Op that joins arrays along an axis. Backward divides it into as
// many parts as there are sizes, or n equal ones if there are none.
func ConcatOp(axis, n int, sizes ...int) Op { return concat{axis, n, sizes} }

type concat struct {
	axis, n int
	sizes   []int
}

func (c concat) Forward(from []storage.Array) ([]storage.Array, error) {
	a, err := Concat(c.axis, from...)
	return []storage.Array{a}, err
}

func (c concat) Backward(to []storage.Array) ([]storage.Array, error) {
	if err := count(c, to, 1); err != nil {
		return nil, err
	}
	axis, err := views.Axis(c.axis, to[0].Rank())
	if err != nil {
		return nil, fmt.Errorf("%v: %w", c, err)
	}
	sizes := c.sizes
	if sizes == nil {
		if to[0].Shape[axis]%c.n != 0 {
			return nil, fmt.Errorf("split: axis %d of shape %v does not divide into %d: %w", axis, to[0].Shape, c.n, views.ErrShape)
		}
		sizes = slices.Repeat([]int{to[0].Shape[axis] / c.n}, c.n)
	}
	return Split(to[0], axis, sizes...)
}

func (c concat) String() string { return fmt.Sprintf("concat(%d)", c.axis) }

// InverseOp returns op with its directions exchanged.
func InverseOp(op Op) Op { return inverse{op} }

type inverse struct{ Op }

func (i inverse) Forward(from []storage.Array) ([]storage.Array, error) { return i.Op.Backward(from) }
func (i inverse) Backward(to []storage.Array) ([]storage.Array, error)  { return i.Op.Forward(to) }
func (i inverse) String() string {
	if c, ok := i.Op.(concat); ok {
		return fmt.Sprintf("split(%d)", c.axis)
	}
	return "inverse of " + i.Op.String()
}

// Chain returns the Op that applies ops one after another.
func Chain(ops ...Op) Op { return chain(ops) }

type chain []Op

func (c chain) Forward(from []storage.Array) ([]storage.Array, error) {
	var err error
	for _, op := range c {
		if from, err = op.Forward(from); err != nil {
			return nil, err
		}
	}
	return from, nil
}

func (c chain) Backward(to []storage.Array) ([]storage.Array, error) {
	var err error
	for _, op := range slices.Backward(c) {
		if to, err = op.Backward(to); err != nil {
			return nil, err
		}
	}
	return to, nil
}

func (c chain) String() string {
	names := make([]string, len(c))
	for i, op := range c {
		names[i] = op.String()
	}
	return strings.Join(names, " ")
}

// SumOp is the Op of a bias that the other framework has twice, and adds: Forward returns
// the bias and zeros, Backward the sum.
type SumOp struct{}

// Forward returns the bias and zeros.
func (o SumOp) Forward(from []storage.Array) ([]storage.Array, error) {
	if err := count(o, from, 1); err != nil {
		return nil, err
	}
	return []storage.Array{from[0], Zeros(from[0].Type, from[0].Shape...)}, nil
}

// Backward returns the sum of both.
func (o SumOp) Backward(to []storage.Array) ([]storage.Array, error) {
	if err := count(o, to, 2); err != nil {
		return nil, err
	}
	sum, err := Add(to[0], to[1])
	return []storage.Array{sum}, err
}

func (SumOp) String() string { return "split into b and 0" }

// ForwardSlots gives both biases the optimizer's buffers of the one: their gradients are
// the same.
func (o SumOp) ForwardSlots(from []storage.Array) ([]storage.Array, error) {
	if err := count(o, from, 1); err != nil {
		return nil, err
	}
	return []storage.Array{from[0], from[0]}, nil
}

// BackwardSlots returns the optimizer's buffers of the first bias.
func (o SumOp) BackwardSlots(to []storage.Array) ([]storage.Array, error) {
	if err := count(o, to, 2); err != nil {
		return nil, err
	}
	return to[:1], nil
}

// ConstantOp is the Op of an array that comes with a constant of its shape in the other
// framework. Backward fails if it is not constant.
type ConstantOp struct {
	Value int
	Last  bool // the constant comes after the array, instead of before
}

// inOrder returns the constant and the array in the order that the other framework has, or back.
func (o ConstantOp) inOrder(pair []storage.Array) []storage.Array {
	if o.Last {
		return []storage.Array{pair[1], pair[0]}
	}
	return pair
}

// Forward returns the constant and the array.
func (o ConstantOp) Forward(from []storage.Array) ([]storage.Array, error) {
	if err := count(o, from, 1); err != nil {
		return nil, err
	}
	return o.inOrder([]storage.Array{Constant(from[0].Type, o.Value, from[0].Shape...), from[0]}), nil
}

// Backward drops the constant.
func (o ConstantOp) Backward(to []storage.Array) ([]storage.Array, error) {
	array, err := o.BackwardSlots(to)
	if err != nil {
		return nil, err
	}
	elems, err := storage.Read[float64](o.inOrder(to)[0])
	for _, x := range elems {
		if x != float64(o.Value) {
			return nil, errkind.Errorf(ErrUnsupported, "a gamma or beta of %v, for a layer of Keras without one, which stands for %d", x, o.Value)
		}
	}
	return array, err
}

// ForwardSlots returns zeros for the constant, which no optimizer has changed.
func (o ConstantOp) ForwardSlots(from []storage.Array) ([]storage.Array, error) {
	return ConstantOp{Last: o.Last}.Forward(from)
}

// BackwardSlots drops those of the constant.
func (o ConstantOp) BackwardSlots(to []storage.Array) ([]storage.Array, error) {
	if err := count(o, to, 2); err != nil {
		return nil, err
	}
	return o.inOrder(to)[1:], nil
}

func (o ConstantOp) String() string { return fmt.Sprintf("copy, with %ds", o.Value) }

// CounterOp is the Op of a counter that only the other framework has. Forward returns a
// zero, of type int64 and rank 0; Backward drops it.
type CounterOp struct{}

// Forward returns a zero.
func (CounterOp) Forward([]storage.Array) ([]storage.Array, error) {
	return []storage.Array{Zeros(dtype.Int64)}, nil
}

// Backward returns nothing.
func (CounterOp) Backward([]storage.Array) ([]storage.Array, error) { return nil, nil }
func (CounterOp) String() string                                    { return "0" }

// A SlotOp treats the buffers that an optimizer keeps for weights differently from the
// weights. Other Ops treat both alike.
type SlotOp interface {
	Op
	ForwardSlots(from []storage.Array) (to []storage.Array, err error)
	BackwardSlots(to []storage.Array) (from []storage.Array, err error)
}

func count(op Op, list []storage.Array, want int) error {
	if len(list) != want {
		return fmt.Errorf("%v: %d arrays; want %d: %w", op, len(list), want, views.ErrShape)
	}
	return nil
}

// numbers returns integers separated by spaces.
func numbers(list []int) string { return strings.Trim(fmt.Sprint(list), "[]") }

// ForwardSlots applies op to the buffers that an optimizer keeps for weights.
func ForwardSlots(op Op, from []storage.Array) ([]storage.Array, error) {
	switch o := op.(type) {
	case SlotOp:
		return o.ForwardSlots(from)
	case inverse:
		return BackwardSlots(o.Op, from)
	case chain:
		var err error
		for _, op := range o {
			if from, err = ForwardSlots(op, from); err != nil {
				return nil, err
			}
		}
		return from, nil
	}
	return op.Forward(from)
}

// BackwardSlots undoes ForwardSlots.
func BackwardSlots(op Op, to []storage.Array) ([]storage.Array, error) {
	switch o := op.(type) {
	case SlotOp:
		return o.BackwardSlots(to)
	case inverse:
		return ForwardSlots(o.Op, to)
	case chain:
		var err error
		for _, op := range slices.Backward(o) {
			if to, err = BackwardSlots(op, to); err != nil {
				return nil, err
			}
		}
		return to, nil
	}
	return op.Backward(to)
}
