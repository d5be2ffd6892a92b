package checkpoint

import (
	"fmt"
	"slices"
	"sync"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// lazy is a Source of elements that are computed from other arrays when they are read.
type lazy struct {
	shape []int
	dtype dtype.Type
	// fill writes all elements to dst, host memory of that shape, of any strides and type.
	fill func(dst storage.Array) error

	mu    sync.Mutex
	elems []byte // all elements, while a reader goes through them block by block
}

// newLazy returns an array of a shape and type whose elements fill writes.
func newLazy(t dtype.Type, shape []int, fill func(dst storage.Array) error) storage.Array {
	return storage.Array{Data: &lazy{shape: slices.Clone(shape), dtype: t, fill: fill}, Type: t, View: views.Of(shape...)}
}

func (l *lazy) Len() int               { return views.Of(l.shape...).Len() * l.dtype.Size() }
func (l *lazy) Device() storage.Device { return storage.File("computed") }

// ReadView computes the elements that v selects. A reader of parts makes it compute all
// of them once, and keep them until the last one is read.
func (l *lazy) ReadView(dst []byte, t dtype.Type, v views.View) error {
	n := l.Len() / l.dtype.Size()
	switch {
	case t != l.dtype:
		return fmt.Errorf("elements of %v read as %v: %w", l.dtype, t, dtype.ErrType)
	case !v.Within(n):
		return fmt.Errorf("the view reaches outside %v: %w", l.shape, views.ErrShape)
	case v.Len() == 0:
		return nil
	}
	dst = dst[:v.Len()*t.Size()]
	if v.Len() == n {
		if to, ok := placed(storage.Array{Data: storage.Wrap(dst), Type: t, View: views.Of(v.Shape...)}, v, l.shape); ok {
			return l.fill(to)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.elems == nil {
		elems := make([]byte, l.Len())
		if err := l.fill(storage.Array{Data: storage.Wrap(elems), Type: t, View: views.Of(l.shape...)}); err != nil {
			return err
		}
		l.elems = elems
	}
	storage.Gather(dst, l.elems, t, v)
	if _, last := v.Bounds(); last == n-1 {
		l.elems = nil
	}
	return nil
}

// placed returns dst, which has the shape of v, seen as an array of the given shape, if v
// shows every element of a row-major array of that shape once, with its axes in any order
// or merged and split. Writing to it in row-major order fills dst as reading through v
// would.
func placed(dst storage.Array, v views.View, shape []int) (storage.Array, bool) {
	if v.Offset != 0 {
		return dst, false
	}
	if v.Contiguous() {
		w, err := dst.Reshape(shape...)
		return dst.With(w), err == nil
	}
	whole := views.Of(shape...)
	if v.Rank() != whole.Rank() {
		return dst, false
	}
	order := make([]int, 0, v.Rank()) // axis k of the array is axis order[k] of v
	for k, size := range whole.Shape {
		at := -1
		for axis := range v.Shape {
			if !slices.Contains(order, axis) && v.Shape[axis] == size && (size == 1 || v.Stride[axis] == whole.Stride[k]) {
				at = axis
				break
			}
		}
		if at < 0 {
			return dst, false
		}
		order = append(order, at)
	}
	w, err := dst.Transpose(order...)
	return dst.With(w), err == nil
}

// write writes the elements of a to dst, host memory of a's shape. What is computed is
// written in place, and not copied from somewhere else.
func write(a, dst storage.Array) error {
	if l, ok := a.Data.(*lazy); ok && a.Len() == views.Of(l.shape...).Len() && a.Len() > 0 {
		if to, ok := placed(dst, a.View, l.shape); ok {
			return l.fill(to)
		}
	}
	return a.CopyTo(dst)
}

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
	return newLazy(a.Type, v.Shape, func(dst storage.Array) error {
		if w, err := dst.Reshape(a.Shape...); err == nil {
			return write(a, dst.With(w))
		}
		packed, err := a.To(storage.CPU)
		if err != nil {
			return err
		}
		w, err := packed.Reshape(dst.Shape...)
		if err != nil {
			return err
		}
		return packed.With(w).CopyTo(dst)
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
	return newLazy(first.Type, shape, func(dst storage.Array) error {
		start := 0
		for _, p := range parts {
			v, err := dst.Slice(axis, start, start+p.Shape[axis], 1)
			if err == nil {
				err = write(p, dst.With(v))
			}
			if err != nil {
				return err
			}
			start += p.Shape[axis]
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
	return newLazy(t, a.Shape, func(dst storage.Array) error { return write(a, dst) })
}

// Zeros returns an array of zeros.
func Zeros(t dtype.Type, shape ...int) storage.Array {
	return newLazy(t, shape, func(dst storage.Array) error { return storage.Fill(dst, int64(0)) })
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
	const block = 1 << 16 // elements
	return newLazy(t, shape, func(dst storage.Array) error {
		x, y := make([]float64, min(block, a.Len())), make([]float64, min(block, a.Len()))
		return eachPart(a.View, block, func(part func(views.View) views.View) error {
			one, two, to := a.With(part(a.View)), b.With(part(b.View)), dst.With(part(dst.View))
			n := one.Len()
			first, second := storage.From(x[:n], one.Shape...), storage.From(y[:n], one.Shape...)
			if err := one.CopyTo(first); err != nil {
				return err
			}
			if err := two.CopyTo(second); err != nil {
				return err
			}
			f(x[:n], y[:n])
			return first.CopyTo(to)
		})
	})
}

// eachPart calls f with functions that select corresponding parts, of at most n elements,
// of views of v's shape.
func eachPart(v views.View, n int, f func(part func(views.View) views.View) error) error {
	if v.Len() == 0 {
		return nil
	}
	var split func(v views.View, part func(views.View) views.View) error
	split = func(v views.View, part func(views.View) views.View) error {
		if v.Len() <= n {
			return f(part)
		}
		axis := slices.IndexFunc(v.Shape, func(size int) bool { return size > 1 })
		size := v.Shape[axis]
		for _, r := range [][2]int{{0, size / 2}, {size / 2, size}} {
			cut := func(w views.View) views.View {
				s, err := w.Slice(axis, r[0], r[1], 1)
				if err != nil {
					panic(err) // the axis and the range exist
				}
				return s
			}
			if err := split(cut(v), func(w views.View) views.View { return cut(part(w)) }); err != nil {
				return err
			}
		}
		return nil
	}
	return split(v, func(w views.View) views.View { return w })
}
