// Package blocks goes through arrays of any size block by block.
package blocks

import (
	"bytes"
	"context"
	"iter"
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// Size is the usual block size, in bytes. Tests change it.
var Size = 16 << 20

// Read returns the elements of a in row-major order.
func Read(a storage.Array) ([]byte, error) {
	return readInto(a, nil)
}

// readInto is Read with a buffer to use if it is large enough.
func readInto(a storage.Array, buffer []byte) ([]byte, error) {
	n := a.NBytes()
	if cap(buffer) < n {
		buffer = make([]byte, n)
	}
	elems := buffer[:n]
	return elems, a.CopyTo(storage.Array{Data: storage.Wrap(elems), Type: a.Type, View: views.Of(a.Shape...)})
}

// Of yields consecutive parts of a in row-major order, each of about size bytes at
// most. It stops with an error when ctx is done.
func Of(ctx context.Context, a storage.Array, size int) iter.Seq2[storage.Array, error] {
	return func(yield func(storage.Array, error) bool) {
		if a.Len() > 0 {
			split(ctx, a, size, 0, yield)
		}
	}
}

// split yields the blocks of a, split along axis and the axes after it, and reports
// whether to continue.
func split(ctx context.Context, a storage.Array, size, axis int, yield func(storage.Array, error) bool) bool {
	if err := ctx.Err(); err != nil {
		yield(a, err)
		return false
	}
	row := a.Type.Size() // bytes that one step along axis holds
	for _, n := range a.Shape[min(axis+1, a.Rank()):] {
		row *= n
	}
	if axis == a.Rank() {
		return yield(a, nil)
	}
	rows := blockRows(a, axis, size/row)
	if rows >= a.Shape[axis] {
		return yield(a, nil)
	}
	next := axis
	if rows == 0 {
		rows, next = 1, axis+1 // one index is too large
	}
	for start := 0; start < a.Shape[axis]; start += rows {
		part := a.With(a.View.Narrow(axis, start, min(start+rows, a.Shape[axis])))
		if after := start + rows; next == axis && after < a.Shape[axis] {
			a.With(a.View.Narrow(axis, after, min(after+rows, a.Shape[axis]))).Prefetch()
		}
		if !split(ctx, part, size, next, yield) {
			return false
		}
	}
	return true
}

// Views is Of for a view alone, with parts of about n elements at most.
func Views(ctx context.Context, v views.View, n int) iter.Seq2[views.View, error] {
	return func(yield func(views.View, error) bool) {
		for part, err := range Of(ctx, storage.Array{View: v, Type: dtype.Uint8}, n) {
			if !yield(part.View, err) {
				return
			}
		}
	}
}

// Parts divides a shape into boxes of about n elements at most, in row-major order.
func Parts(shape []int, n int) iter.Seq[views.Box] {
	return func(yield func(views.Box) bool) {
		for v := range Views(context.Background(), views.Of(shape...), n) {
			for _, box := range views.Boxes(v, v, shape) {
				if !yield(box) {
					return
				}
			}
		}
	}
}

// Index returns the index of element n of a shape, in row-major order.
func Index(n int, shape []int) []int {
	index := make([]int, len(shape))
	for axis, size := range slices.Backward(shape) {
		index[axis], n = n%size, n/size
	}
	return index
}

// blockRows rounds rows down to whole chunks if a is an entire chunked array, so that
// no chunk is decoded twice.
func blockRows(a storage.Array, axis, rows int) int {
	source, ok := a.Data.(storage.Chunked)
	if !ok || axis != 0 || len(source.Shape()) != a.Rank() {
		return rows
	}
	if chunk := source.ChunkShape(); len(chunk) == a.Rank() && chunk[0] > 0 && rows > chunk[0] {
		rows -= rows % chunk[0]
	}
	return rows
}

// Elements yields the elements of a in row-major order, block by block. A block is
// valid until the next.
func Elements(ctx context.Context, a storage.Array, size int) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		var buffer []byte
		for b, err := range Of(ctx, a, size) {
			if err == nil {
				buffer, err = readInto(b, buffer)
			}
			if !yield(buffer, err) || err != nil {
				return
			}
		}
	}
}

// Equal reports whether a and b have the same type and shape and, bit by bit, the same
// elements. It reads them block by block in the order in which a stores them, without what was never written to either.
func Equal(ctx context.Context, a, b storage.Array) (bool, error) {
	if a.Type != b.Type || !slices.Equal(a.Shape, b.Shape) {
		return false, nil
	}
	order := StorageOrder(a.View)
	for p, err := range Pairs(ctx, Permuted(a, order), Permuted(b, order)) {
		if err != nil {
			return false, err
		}
		equal := bytes.Equal(p.FillA, p.FillB)
		if !p.Unwritten() {
			equal, err = equalElements(ctx, p.A, p.B)
		}
		if err != nil || !equal {
			return false, err
		}
	}
	return true, nil
}

// equalElements is Equal for arrays of one type and shape, all of whose elements are read.
func equalElements(ctx context.Context, a, b storage.Array) (bool, error) {
	size := min(Size, 4<<20) // there are two buffers
	next, stop := iter.Pull2(Elements(ctx, b, size))
	defer stop()
	var rest []byte // of b, to compare
	for x, err := range Elements(ctx, a, size) {
		for err == nil && len(x) > 0 {
			if len(rest) == 0 {
				if rest, err, _ = next(); err != nil {
					break
				}
			}
			n := min(len(x), len(rest))
			if n == 0 || !bytes.Equal(x[:n], rest[:n]) {
				return false, nil
			}
			x, rest = x[n:], rest[n:]
		}
		if err != nil {
			return false, err
		}
	}
	return true, nil
}

// WithContext returns a with reads that fail once ctx is done.
func WithContext(ctx context.Context, a storage.Array) storage.Array {
	source, ok := a.Data.(storage.Source)
	if !ok {
		return a
	}
	a.Data = interrupted{source, ctx}
	if chunks, ok := source.(storage.ChunkedInPlace); ok {
		a.Data = interruptedChunks{interrupted{source, ctx}, chunks}
	}
	return a
}

type interrupted struct {
	storage.Source
	ctx context.Context
}

func (s interrupted) ReadView(dst []byte, t dtype.Type, v views.View) error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	return s.Source.ReadView(dst, t, v)
}

// FillValue implements [storage.Filled].
func (s interrupted) FillValue(v views.View) ([]byte, bool) {
	return storage.Unwritten(storage.Array{Data: s.Source, View: v})
}

// interruptedChunks is interrupted for a source in chunks.
type interruptedChunks struct {
	interrupted
	chunks storage.ChunkedInPlace
}

func (s interruptedChunks) Shape() []int       { return s.chunks.Shape() }
func (s interruptedChunks) ChunkShape() []int  { return s.chunks.ChunkShape() }
func (s interruptedChunks) ReadsInPlace() bool { return s.chunks.ReadsInPlace() }

// Float64s returns real elements as float64s; integers beyond 2⁵³ are rounded.
func Float64s(t dtype.Type, elems []byte) []float64 {
	xs := make([]float64, len(elems)/t.Size())
	if err := dtype.Convert(dtype.Bytes(xs), dtype.Float64, elems, t); err != nil {
		panic(err) // the sizes fit, and every real type converts
	}
	return xs
}
