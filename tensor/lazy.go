package tensor

import (
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/blocks"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// tileSize is the number of elements that are computed at once: few enough for several operands
// to stay in a cache. Tests change it.
var tileSize = 1 << 16

// A lazy is the storage of a result that is computed when it is read. Reading a part of it reads
// and computes the same part of its operands, tile by tile; an operand that is used several times is
// computed once for each tile. Nothing is kept.
type lazy struct {
	op       PointwiseOp
	in       []storage.Array // with the result's shape, and its axes in the order of shape
	versions []uint64        // of their storages, when the operation was called
	typ      dtype.Type
	shape    []int
	unit     []int // of a chunk of the first operand that has chunks
}

var _ storage.Chunked = (*lazy)(nil)

// newLazy returns the result of op on in, which is laid out as spec says, or nearly so.
func newLazy(op PointwiseOp, spec Spec, in []*Tensor) storage.Array {
	_, err := views.New(spec.Shape, math.MaxInt/spec.Type.Size())
	check(op.Name(), err)
	order := blocks.StorageOrder(spec.View)
	l := &lazy{op: op, typ: spec.Type}
	for _, axis := range order {
		l.shape = append(l.shape, spec.Shape[axis])
	}
	for _, x := range in {
		a := blocks.Permuted(broadcastTo(x.array, spec.Shape), order)
		l.in, l.versions = append(l.in, a), append(l.versions, versionOf(x))
		if l.unit == nil && x.IsLazy() {
			l.unit = blocks.Units(a)
		}
	}
	back := make([]int, len(order))
	for k, axis := range order {
		back[axis] = k
	}
	return blocks.Permuted(storage.Array{Data: l, Type: l.typ, View: views.Of(l.shape...)}, back)
}

func (l *lazy) Len() int               { return views.Of(l.shape...).Len() * l.typ.Size() }
func (l *lazy) Device() storage.Device { return source(l.in) }
func (l *lazy) Shape() []int           { return l.shape }
func (l *lazy) ChunkShape() []int      { return l.unit }

// ReadView implements [storage.Source].
func (l *lazy) ReadView(dst []byte, t dtype.Type, v views.View) error {
	n := v.Len() * l.typ.Size()
	switch {
	case t != l.typ:
		return fmt.Errorf("elements of %v read as %v: %w", l.typ, t, dtype.ErrType)
	case !v.Within(l.Len()/l.typ.Size()) || len(dst) < n:
		return fmt.Errorf("the view reaches outside %v: %w", l.shape, views.ErrShape)
	}
	a := storage.Array{Data: l, Type: t, View: v}
	to := storage.Array{Data: storage.Wrap(dst[:n]), Type: t, View: views.Of(v.Shape...)}
	if !dtype.Aligned(dst, t) {
		return readUnaligned(a, to)
	}
	jobs, tiles := tilesOf(a, tileSize)
	return kernels.Parallel(jobs, func(job int) error {
		for tile := range tiles(job) {
			err := evaluate(func(e *evaluator) error { return e.fill(l, tile.Of(v), to.With(tile.Of(to.View))) })
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// readUnaligned computes a to where no kernel may write to.
func readUnaligned(a, dst storage.Array) error {
	aligned, err := storage.Make(storage.CPU, a.Type, a.Shape...)
	if err == nil {
		err = a.CopyTo(aligned)
	}
	if err == nil {
		err = aligned.CopyTo(dst)
	}
	return err
}

// tilesOf divides an array into boxes of n elements at most, and these, in their order, into jobs. The tiles of a chunk
// follow each other, and are one job if there are many: it is decoded by one goroutine while others decode others. The indices
// of an axis at which boxes begin are the same for all indices of the others.
func tilesOf(a storage.Array, n int) (jobs int, tiles func(job int) iter.Seq[views.Box]) {
	const many = 64
	size := blocks.BoxShape(a.Shape, blocks.Units(a), n)
	tile := blocks.BoxShape(size, slices.Repeat([]int{1}, a.Rank()), n)
	whole, box := blocks.GridBoxes(a.Shape, size)
	within := func(k int) iter.Seq[views.Box] {
		return func(yield func(views.Box) bool) {
			b := box(k)
			for part := range blocks.Grid(b.Count, tile) {
				for axis := range part.Start {
					part.Start[axis] += b.Start[axis]
				}
				if !yield(part) {
					return
				}
			}
		}
	}
	if whole >= many {
		return whole, within
	}
	var all []views.Box
	for k := range whole {
		all = slices.AppendSeq(all, within(k))
	}
	return len(all), func(job int) iter.Seq[views.Box] { return slices.Values(all[job : job+1]) }
}
