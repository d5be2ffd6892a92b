package kernels

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A computeType is a type that reference loops compute in: float64 for all floats, int64
// for bools and all integers but uint64. Sums and products of integers are the same as if
// they had been wrapped at every step.
type computeType interface {
	float64 | int64 | uint64
}

// computeTypeOf returns the compute type of t, or Invalid.
func computeTypeOf(t dtype.Type) dtype.Type {
	switch {
	case t == dtype.Uint64:
		return t
	case t.IsFloat() && !t.StorageOnly():
		return dtype.Float64
	case t.IsInt() || t == dtype.Bool:
		return dtype.Int64
	}
	return dtype.Invalid
}

// instance returns the instance of a reference loop for elements of type t.
func instance[F any](t dtype.Type, floats, signed, unsigned F) F {
	switch computeTypeOf(t) {
	case dtype.Float64:
		return floats
	case dtype.Uint64:
		return unsigned
	}
	return signed
}

// block is the number of elements that a reference loop converts at a time.
const block = 256

// load reads len(buf) elements of a, from position at on, step apart.
func load[W computeType](buf []W, a *storage.Array, at, step int) {
	var packed [block * 8]byte
	size, bytes := a.Type.Size(), a.Data.(storage.Host).Bytes()
	for i := range buf {
		copy(packed[i*size:(i+1)*size], bytes[(at+i*step)*size:])
	}
	must(dtype.Convert(dtype.Bytes(buf), dtype.Of[W](), packed[:len(buf)*size], a.Type))
}

// store writes buf to a, from position at on, step apart.
func store[W computeType](a *storage.Array, at, step int, buf []W) {
	var packed [block * 8]byte
	size, bytes := a.Type.Size(), a.Data.(storage.Host).Bytes()
	must(dtype.Convert(packed[:len(buf)*size], a.Type, dtype.Bytes(buf), dtype.Of[W]()))
	for i := range buf {
		copy(bytes[(at+i*step)*size:], packed[i*size:(i+1)*size])
	}
}

// must panics if an error occurs that was ruled out before.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// blocks calls visit for runs of at most block elements of equally shaped
// arrays, in step, as views.Walk does.
func blocks(visit func(at, step []int, n int), arrays ...storage.Array) {
	vs := make([]views.View, len(arrays))
	for i, a := range arrays {
		vs[i] = a.View
	}
	from := make([]int, len(vs))
	views.Walk(func(at, step []int, n int) {
		for i := 0; i < n; i += block {
			for k := range from {
				from[k] = at[k] + i*step[k]
			}
			visit(from, step, min(block, n-i))
		}
	}, vs...)
}

// referenceMap is y = f(x).
func referenceMap[X, Y computeType](f func(x X) Y, y, x storage.Array) {
	var xs [block]X
	var ys [block]Y
	blocks(func(at, step []int, n int) {
		load(xs[:n], &x, at[1], step[1])
		for i, x := range xs[:n] {
			ys[i] = f(x)
		}
		store(&y, at[0], step[0], ys[:n])
	}, y, x)
}

// referenceZip is z = f(x, y).
func referenceZip[X, Z computeType](f func(x, y X) Z, z, x, y storage.Array) {
	var xs, ys [block]X
	var zs [block]Z
	blocks(func(at, step []int, n int) {
		load(xs[:n], &x, at[1], step[1])
		load(ys[:n], &y, at[2], step[2])
		for i := range n {
			zs[i] = f(xs[i], ys[i])
		}
		store(&z, at[0], step[0], zs[:n])
	}, z, x, y)
}

// referenceZip3 is z = f(x, y, w).
func referenceZip3[W computeType](f func(x, y, w W) W, z, x, y, w storage.Array) {
	var elems [3][block]W
	blocks(func(at, step []int, n int) {
		for k, a := range [3]*storage.Array{&x, &y, &w} {
			load(elems[k][:n], a, at[1+k], step[1+k])
		}
		for i := range n {
			elems[0][i] = f(elems[0][i], elems[1][i], elems[2][i])
		}
		store(&z, at[0], step[0], elems[0][:n])
	}, z, x, y, w)
}

// zeros returns an array of float64 zeros.
func zeros(shape []int) storage.Array {
	return storage.From(make([]float64, views.Of(shape...).Len()), shape...)
}

// broadcastTo returns x repeated along the axes where it has size 1 and shape more.
func broadcastTo(x *storage.Array, shape []int) storage.Array {
	v, _ := x.Broadcast(shape...)
	return x.With(v)
}
