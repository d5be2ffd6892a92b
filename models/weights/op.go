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

// An Op computes arrays from others, in both directions. It computes nothing until the
// elements of its results are read.
type Op struct {
	name, inverse     string
	forward, backward compute
	// forwardSlots and backwardSlots are for the buffers that an optimizer keeps for weights; nil if these are computed
	// like the weights.
	forwardSlots, backwardSlots compute
	constants                   []int // parameters that stand for weights that the other framework does not have
}

// A compute computes arrays from others.
type compute func(from []storage.Array) (to []storage.Array, err error)

// Forward computes parameters from weights.
func (o Op) Forward(from []storage.Array) ([]storage.Array, error) { return o.forward(from) }

// Backward computes weights from parameters.
func (o Op) Backward(to []storage.Array) ([]storage.Array, error) { return o.backward(to) }

// ForwardSlots computes the buffers that an optimizer keeps for parameters from those for weights.
func (o Op) ForwardSlots(from []storage.Array) ([]storage.Array, error) {
	if o.forwardSlots != nil {
		return o.forwardSlots(from)
	}
	return o.forward(from)
}

// BackwardSlots undoes ForwardSlots.
func (o Op) BackwardSlots(to []storage.Array) ([]storage.Array, error) {
	if o.backwardSlots != nil {
		return o.backwardSlots(to)
	}
	return o.backward(to)
}

// String returns a description such as "transpose(1 0)".
func (o Op) String() string { return o.name }

// InverseOp returns o with its directions exchanged.
func InverseOp(o Op) Op {
	if o.inverse == "" {
		o.inverse = "inverse of " + o.name
	}
	return Op{name: o.inverse, inverse: o.name, forward: o.backward, backward: o.forward, forwardSlots: o.BackwardSlots, backwardSlots: o.ForwardSlots}
}

// Chain returns the Op that applies ops one after another.
func Chain(ops ...Op) Op {
	ops = slices.DeleteFunc(slices.Clone(ops), func(o Op) bool { return o.name == Same.name })
	switch len(ops) {
	case 0:
		return Same
	case 1:
		return ops[0]
	}
	names := make([]string, len(ops))
	var constants []int
	for i, o := range ops {
		names[i], constants = o.name, append(constants, o.constants...)
	}
	reversed := slices.Clone(ops)
	slices.Reverse(reversed)
	return Op{
		name:    strings.Join(names, " "),
		forward: inTurn(ops, Op.Forward), backward: inTurn(reversed, Op.Backward),
		forwardSlots: inTurn(ops, Op.ForwardSlots), backwardSlots: inTurn(reversed, Op.BackwardSlots),
		constants: constants,
	}
}

// inTurn applies ops in one direction.
func inTurn(ops []Op, apply func(Op, []storage.Array) ([]storage.Array, error)) compute {
	return func(list []storage.Array) (_ []storage.Array, err error) {
		for _, o := range ops {
			if list, err = apply(o, list); err != nil {
				return nil, err
			}
		}
		return list, nil
	}
}

// Same is the Op that changes nothing.
var Same = arrayOp("copy", "copy", unchanged, unchanged)

func unchanged(a storage.Array) (storage.Array, error) { return a, nil }

// arrayOp returns an Op of one array. Of several, it transforms each.
func arrayOp(name, inverse string, forward, backward func(storage.Array) (storage.Array, error)) Op {
	return Op{name: name, inverse: inverse, forward: ofEach(forward), backward: ofEach(backward)}
}

func ofEach(f func(storage.Array) (storage.Array, error)) compute {
	return func(list []storage.Array) ([]storage.Array, error) {
		mapped := make([]storage.Array, len(list))
		for i, a := range list {
			var err error
			if mapped[i], err = f(a); err != nil {
				return nil, err
			}
		}
		return mapped, nil
	}
}

// TransposeOp returns the Op that reorders axes: axis k of the result is axis order[k].
func TransposeOp(order ...int) Op {
	return arrayOp(fmt.Sprintf("transpose(%s)", numbers(order)), "",
		func(a storage.Array) (storage.Array, error) { return Transpose(a, order...) },
		func(a storage.Array) (storage.Array, error) { return Transpose(a, invert(order)...) })
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
	return arrayOp(fmt.Sprintf("reshape(%s)", numbers(to)), "",
		func(a storage.Array) (storage.Array, error) { return Reshape(a, to...) },
		func(a storage.Array) (storage.Array, error) { return Reshape(a, from...) })
}

// GatesOp returns the Op that permutes equal blocks of an axis, such as the gates of a
// recurrent layer: block k of the result is block order[k].
func GatesOp(axis int, order ...int) Op {
	return arrayOp(fmt.Sprintf("gates(%s)", numbers(order)), "",
		func(a storage.Array) (storage.Array, error) { return PermuteBlocks(a, axis, order...) },
		func(a storage.Array) (storage.Array, error) { return PermuteBlocks(a, axis, invert(order)...) })
}

// CastOp returns the Op that converts elements to a type, and back from it.
func CastOp(from, to dtype.Type) Op {
	return arrayOp(fmt.Sprintf("cast(%v)", to), "",
		func(a storage.Array) (storage.Array, error) { return Cast(a, to), nil },
		func(a storage.Array) (storage.Array, error) { return Cast(a, from), nil })
}

// FeaturesOp returns the Op that reorders an axis of flattened features from channels last
// to channels first. Each shape is that of features before they were flattened, with the
// channels at its end; one of a single number stands for features that keep their order.
func FeaturesOp(axis int, shapes ...[]int) Op {
	name := make([]string, len(shapes))
	sizes, total := make([]int, len(shapes)), 0
	for i, shape := range shapes {
		name[i], sizes[i] = numbers(shape), views.Of(shape...).Len()
		total += sizes[i]
	}
	permute := func(a storage.Array, back bool) (storage.Array, error) {
		if axis >= a.Rank() {
			return a, fmt.Errorf("features: axis %d of shape %v: %w", axis, a.Shape, views.ErrShape)
		}
		if total != a.Shape[axis] {
			return a, fmt.Errorf("features of shape %s are %d when they are flattened, but axis %d of shape %v has %d; the model, or the shape that is given for the layer, does not fit the weights: %w", strings.Join(name, " and "), total, axis, a.Shape, a.Shape[axis], views.ErrShape)
		}
		parts, err := Split(a, axis, sizes...)
		if err != nil {
			return a, fmt.Errorf("features(%s): %w", strings.Join(name, ", "), err)
		}
		for i, shape := range shapes {
			order := lastToFront(len(shape))
			if back {
				last := len(shape) - 1
				shape, order = append([]int{shape[last]}, shape[:last]...), invert(order)
			}
			if parts[i], err = reorder(parts[i], axis, shape, order); err != nil {
				return a, err
			}
		}
		return Concat(axis, parts...)
	}
	return arrayOp(fmt.Sprintf("features(%s)", strings.Join(name, ", ")), "",
		func(a storage.Array) (storage.Array, error) { return permute(a, false) },
		func(a storage.Array) (storage.Array, error) { return permute(a, true) })
}

// lastToFront returns the order of axes that moves the last one to the front.
func lastToFront(rank int) []int {
	order := []int{rank - 1}
	for axis := range rank - 1 {
		order = append(order, axis)
	}
	return order
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

// ConcatOp returns the Op that joins arrays along an axis. Backward divides it into as
// many parts as there are sizes, or n equal ones if there are none.
func ConcatOp(axis, n int, sizes ...int) Op {
	name := fmt.Sprintf("concat(%d)", axis)
	return Op{
		name: name, inverse: fmt.Sprintf("split(%d)", axis),
		forward: func(from []storage.Array) ([]storage.Array, error) {
			a, err := Concat(axis, from...)
			return []storage.Array{a}, err
		},
		backward: counted(name, 1, func(to []storage.Array) ([]storage.Array, error) {
			at, err := views.Axis(axis, to[0].Rank())
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			parts := sizes
			if parts == nil {
				if to[0].Shape[at]%n != 0 {
					return nil, fmt.Errorf("split: axis %d of shape %v does not divide into %d: %w", at, to[0].Shape, n, views.ErrShape)
				}
				parts = slices.Repeat([]int{to[0].Shape[at] / n}, n)
			}
			return Split(to[0], at, parts...)
		}),
	}
}

// counted returns f, which fails unless it gets that number of arrays.
func counted(name string, want int, f compute) compute {
	return func(list []storage.Array) ([]storage.Array, error) {
		if len(list) != want {
			return nil, fmt.Errorf("%s: %d arrays; want %d: %w", name, len(list), want, views.ErrShape)
		}
		return f(list)
	}
}

// SumOp is the Op of a bias that the other framework has twice, and adds: Forward returns
// the bias and zeros, Backward the sum. Both biases have the optimizer's buffers of the one, because their gradients
// are the same.
var SumOp = func() Op {
	const name = "split into b and 0"
	return Op{
		name: name, constants: []int{1},
		forward: counted(name, 1, func(from []storage.Array) ([]storage.Array, error) {
			return []storage.Array{from[0], Zeros(from[0].Type, from[0].Shape...)}, nil
		}),
		backward: counted(name, 2, total),
		forwardSlots: counted(name, 1, func(from []storage.Array) ([]storage.Array, error) {
			return []storage.Array{from[0], from[0]}, nil
		}),
		backwardSlots: counted(name, 2, func(to []storage.Array) ([]storage.Array, error) { return to[:1], nil }),
	}
}()

// ConstantOp returns the Op of an array that comes with a constant of its shape in the other
// framework, after the array if last is set and before it otherwise. Backward fails if it is not constant. The
// optimizer's buffers for the constant, which nothing has changed, are zeros.
func ConstantOp(value int, last bool) Op {
	name := fmt.Sprintf("copy, with %ds", value)
	constant, array := 0, 1
	if last {
		constant, array = 1, 0
	}
	with := func(x int) compute {
		return counted(name, 1, func(from []storage.Array) ([]storage.Array, error) {
			pair := make([]storage.Array, 2)
			pair[constant], pair[array] = Constant(from[0].Type, x, from[0].Shape...), from[0]
			return pair, nil
		})
	}
	without := counted(name, 2, func(to []storage.Array) ([]storage.Array, error) { return to[array : array+1], nil })
	return Op{
		name: name, forward: with(value), forwardSlots: with(0), backwardSlots: without, constants: []int{constant},
		backward: counted(name, 2, func(to []storage.Array) ([]storage.Array, error) {
			elems, err := storage.Read[float64](to[constant])
			for _, x := range elems {
				if x != float64(value) {
					return nil, errkind.Errorf(ErrUnsupported, "a gamma or beta of %v, for a layer of Keras without one, which stands for %d", x, value)
				}
			}
			return to[array : array+1], err
		}),
	}
}

// CounterOp is the Op of a counter that only the other framework has. Forward returns a
// zero, of type int64 and rank 0; Backward drops it.
var CounterOp = Op{
	name:     "0",
	forward:  func([]storage.Array) ([]storage.Array, error) { return []storage.Array{Zeros(dtype.Int64)}, nil },
	backward: func([]storage.Array) ([]storage.Array, error) { return nil, nil },
}

// TotalOp is the Op that adds arrays, such as both biases of a recurrent layer. It has no inverse.
var TotalOp = oneWay("sum", total)

// total returns the sum of arrays.
func total(from []storage.Array) ([]storage.Array, error) {
	if len(from) == 0 {
		return nil, fmt.Errorf("sum: no arrays: %w", views.ErrShape)
	}
	sum := from[0]
	for _, a := range from[1:] {
		var err error
		if sum, err = Add(sum, a); err != nil {
			return nil, err
		}
	}
	return []storage.Array{sum}, nil
}

// oneWay returns an Op that has no inverse.
func oneWay(name string, forward compute) Op {
	return Op{name: name, forward: forward, backward: func([]storage.Array) ([]storage.Array, error) {
		return nil, errkind.Errorf(ErrUnsupported, "%s: it cannot be undone", name)
	}}
}

// numbers returns integers separated by spaces.
func numbers(list []int) string { return strings.Trim(fmt.Sprint(list), "[]") }
