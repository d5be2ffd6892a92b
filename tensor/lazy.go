package tensor

import (
	"fmt"
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
	tiles := tilesOf(a)
	return kernels.Parallel(len(tiles), func(i int) error {
		return evaluate(func(e *evaluator) error { return e.fill(l, tiles[i].Of(v), to.With(tiles[i].Of(to.View))) })
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

// tilesOf divides an array into boxes of tileSize elements at most. Those of a chunk follow each other.
// The indices of an axis at which boxes begin are the same for all indices of the others.
func tilesOf(a storage.Array) (tiles []views.Box) {
	size := blocks.BoxShape(a.Shape, blocks.Units(a), tileSize)
	tile := blocks.BoxShape(size, slices.Repeat([]int{1}, a.Rank()), tileSize)
	for b := range blocks.Grid(a.Shape, size) {
		for part := range blocks.Grid(b.Count, tile) {
			for axis := range part.Start {
				part.Start[axis] += b.Start[axis]
			}
			tiles = append(tiles, part)
		}
	}
	return tiles
}
