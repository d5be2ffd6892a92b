package kernels

import (
	"fmt"

	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A line is the elements along one axis of an array.
type line struct {
	*storage.Array
	at, step, n int
}

// eachLine calls visit for every line along axis, of arrays whose shapes differ in that axis
// at most.
func eachLine(axis int, visit func(l []line), arrays ...*storage.Array) {
	starts := make([]storage.Array, len(arrays))
	all := make([]line, len(arrays))
	for i, a := range arrays {
		if a.Len() == 0 {
			return
		}
		v, err := a.Select(axis, 0)
		must(err)
		starts[i] = a.With(v)
		all[i] = line{a, 0, a.Stride[axis], a.Shape[axis]}
	}
	blocks(func(at, step []int, n int) {
		for i := range n {
			for k := range all {
				all[k].at = at[k] + i*step[k]
			}
			visit(all)
		}
	}, starts...)
}

// read returns l's elements, in buf if that is long enough.
func (l line) read(buf []float64) []float64 { return read(l, buf) }

// read is line.read as any compute type.
func read[W computeType](l line, buf []W) []W {
	if cap(buf) < l.n {
		buf = make([]W, l.n)
	}
	buf = buf[:l.n]
	for i := 0; i < l.n; i += block {
		load(buf[i:min(i+block, l.n)], l.Array, l.at+i*l.step, l.step)
	}
	return buf
}

// write sets l's elements.
func (l line) write(elems []float64) {
	for i := 0; i < l.n; i += block {
		store(l.Array, l.at+i*l.step, l.step, elems[i:min(i+block, l.n)])
	}
}

// hasAxis checks that a has that axis.
func hasAxis(a *storage.Array, axis int) error {
	if axis < 0 || axis >= a.Rank() {
		return fmt.Errorf("%v has no axis %d: %w", a.Shape, axis, views.ErrShape)
	}
	return nil
}

// nativeLines computes z's lines along axis from the lines of x and y. Lines are as long as those of the
// longest of z and x.
func nativeLines(op native.RowOp, axis int, z, x, y *storage.Array) bool {
	var kept native.Grid
	if !op.Takes(x.Type) || z.Rank() > 64 || !kept.Along(^(uint64(1)<<axis), &z.View, &x.View, &y.View) {
		return false
	}
	n := max(x.Shape[axis], z.Shape[axis])
	if kept.Empty || n == 0 {
		return true
	}
	step := [3]int{z.Stride[axis], x.Stride[axis], y.Stride[axis]}
	return op.Run(x.Type, &kept, n, step, at(&kept, 0, z), at(&kept, 1, x), at(&kept, 2, y))
}
