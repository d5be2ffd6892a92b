package weights

import (
	"fmt"
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/blocks"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// Transpose returns a with its axes in another order: axis k of the result is axis
// order[k] of a.
func Transpose(a storage.Array, order ...int) (storage.Array, error) {
	v, err := a.View.Transpose(order...)
	return a.With(v), err
}

// Reshape returns the elements of a in row-major order with another shape, in which one
// size may be -1.
func Reshape(a storage.Array, shape ...int) (storage.Array, error) {
	v, err := a.View.Reshape(shape...)
	if err == nil {
		return a.With(v), nil
	}
	flat := views.Of(a.Shape...)
	v, err = flat.Reshape(shape...)
	if err != nil {
		return storage.Array{}, err
	}
	return blocks.Compute(a.Type, v.Shape, func(dst storage.Array, b views.Box) error {
		for part, box := range views.Boxes(b.Of(v), dst.View, a.Shape) {
			if err := blocks.Copy(a.With(box.Of(a.View)), dst.With(part)); err != nil {
				return err
			}
		}
		return nil
	}), nil
}

// Concat returns arrays joined along an axis. They have one type and, but for that axis,
// one shape.
func Concat(axis int, parts ...storage.Array) (storage.Array, error) {
	if len(parts) == 0 {
		return storage.Array{}, fmt.Errorf("concat: no arrays: %w", views.ErrShape)
	}
	first := parts[0]
	axis, err := views.Axis(axis, first.Rank())
	if err != nil {
		return storage.Array{}, fmt.Errorf("concat: %w", err)
	}
	shape, total := slices.Clone(first.Shape), 0
	for _, p := range parts {
		if p.Type != first.Type {
			return storage.Array{}, fmt.Errorf("concat: %v and %v: %w", first.Type, p.Type, dtype.ErrType)
		}
		if p.Rank() != first.Rank() {
			return storage.Array{}, fmt.Errorf("concat: shapes %v and %v along axis %d: %w", first.Shape, p.Shape, axis, views.ErrShape)
		}
		if shape[axis] = p.Shape[axis]; !slices.Equal(shape, p.Shape) {
			return storage.Array{}, fmt.Errorf("concat: shapes %v and %v along axis %d: %w", first.Shape, p.Shape, axis, views.ErrShape)
		}
		total += p.Shape[axis]
	}
	shape[axis] = total
	if len(parts) == 1 {
		return first, nil
	}
	return blocks.Compute(first.Type, shape, func(dst storage.Array, b views.Box) error {
		start := 0
		for _, p := range parts {
			of, first, end := b.Between(axis, start, start+p.Shape[axis])
			start += p.Shape[axis]
			if first == end {
				continue
			}
			if err := blocks.Copy(p.With(of.Of(p.View)), dst.With(dst.View.Narrow(axis, first, end))); err != nil {
				return err
			}
		}
		return nil
	}), nil
}

// Split returns parts of a along an axis, of the given sizes.
func Split(a storage.Array, axis int, sizes ...int) ([]storage.Array, error) {
	axis, err := views.Axis(axis, a.Rank())
	if err != nil {
		return nil, fmt.Errorf("split: %w", err)
	}
	parts, start := make([]storage.Array, len(sizes)), 0
	for i, size := range sizes {
		if size < 0 || start+size > a.Shape[axis] {
			return nil, fmt.Errorf("split: sizes %v of axis %d of shape %v: %w", sizes, axis, a.Shape, views.ErrShape)
		}
		v, err := a.Slice(axis, start, start+size, 1)
		if err != nil {
			return nil, err
		}
		parts[i], start = a.With(v), start+size
	}
	if start != a.Shape[axis] {
		return nil, fmt.Errorf("split: sizes %v of axis %d of shape %v: %w", sizes, axis, a.Shape, views.ErrShape)
	}
	return parts, nil
}

// PermuteBlocks divides an axis into as many equal blocks as order has numbers, and puts
// them in another order: block k of the result is block order[k] of a.
func PermuteBlocks(a storage.Array, axis int, order ...int) (storage.Array, error) {
	at, err := views.Axis(axis, a.Rank())
	if err != nil {
		return storage.Array{}, fmt.Errorf("permute blocks: %w", err)
	}
	if len(order) == 0 || a.Shape[at]%len(order) != 0 {
		return storage.Array{}, fmt.Errorf("permute blocks: axis %d of shape %v does not divide into %d: %w", at, a.Shape, len(order), views.ErrShape)
	}
	parts, err := Split(a, at, slices.Repeat([]int{a.Shape[at] / len(order)}, len(order))...)
	if err != nil {
		return storage.Array{}, err
	}
	permuted := make([]storage.Array, len(order))
	for k, block := range order {
		if block < 0 || block >= len(order) || slices.Contains(order[:k], block) {
			return storage.Array{}, fmt.Errorf("permute blocks: %v is not an order of %d blocks: %w", order, len(order), views.ErrShape)
		}
		permuted[k] = parts[block]
	}
	return Concat(at, permuted...)
}

// Cast returns a with its elements converted as storage.Array.CopyTo does.
func Cast(a storage.Array, t dtype.Type) storage.Array {
	if a.Type == t {
		return a
	}
	return blocks.Compute(t, a.Shape, func(dst storage.Array, b views.Box) error { return blocks.Copy(a.With(b.Of(a.View)), dst) })
}

// Zeros returns an array of zeros.
func Zeros(t dtype.Type, shape ...int) storage.Array {
	return Constant(t, 0, shape...)
}

// Constant returns an array of one number.
func Constant(t dtype.Type, x int, shape ...int) storage.Array {
	return blocks.Compute(t, shape, func(dst storage.Array, _ views.Box) error { return storage.Fill(dst, int64(x)) })
}

// Add returns the sums of the elements of two arrays of real numbers of one shape.
func Add(a, b storage.Array) (storage.Array, error) {
	if !slices.Equal(a.Shape, b.Shape) || a.Type != b.Type {
		return storage.Array{}, fmt.Errorf("add: %v%v and %v%v: %w", a.Type, a.Shape, b.Type, b.Shape, views.ErrShape)
	}
	return combine(a.Type, a.Shape, func(x, y []float64) {
		for i := range x {
			x[i] += y[i]
		}
	}, a, b), nil
}

// Scale returns the elements of a, real numbers, times factor.
func Scale(a storage.Array, factor float64) storage.Array {
	return combine(a.Type, a.Shape, func(x, _ []float64) {
		for i := range x {
			x[i] *= factor
		}
	}, a, a)
}

// combine returns elements computed in float64 from those of two arrays, in x.
func combine(t dtype.Type, shape []int, f func(x, y []float64), a, b storage.Array) storage.Array {
	const most = 1 << 16 // elements at a time
	return blocks.Compute(t, shape, func(dst storage.Array, box views.Box) error {
		x, y := make([]float64, min(most, dst.Len())), make([]float64, min(most, dst.Len()))
		for part := range blocks.Parts(dst.Shape, most) {
			one, two, to := a.With(part.Of(box.Of(a.View))), b.With(part.Of(box.Of(b.View))), dst.With(part.Of(dst.View))
			n := one.Len()
			first, second := storage.From(x[:n], one.Shape...), storage.From(y[:n], one.Shape...)
			if err := one.CopyTo(first); err != nil {
				return err
			}
			if err := two.CopyTo(second); err != nil {
				return err
			}
			f(x[:n], y[:n])
			if err := first.CopyTo(to); err != nil {
				return err
			}
		}
		return nil
	})
}
