package main

import (
	"context"
	"iter"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// blockBytes is how much of an array is held in memory while it streams by; a
// variable so that tests can do with little.
var blockBytes = 16 << 20

// packed returns the bytes of the elements a selects, in row-major order.
func packed(a storage.Array) ([]byte, error) {
	return pack(a, nil)
}

// pack is packed into a buffer, if that is large enough.
func pack(a storage.Array, buffer []byte) ([]byte, error) {
	n := a.Len() * a.Type.Size()
	if cap(buffer) < n {
		buffer = make([]byte, n)
	}
	elems := buffer[:n]
	return elems, a.CopyTo(storage.Array{Data: storage.Wrap(elems), Type: a.Type, View: views.Of(a.Shape...)})
}

// blocks yields parts of a that together hold its elements in row-major order,
// each of at most about size bytes.
func blocks(ctx context.Context, a storage.Array, size int) iter.Seq2[storage.Array, error] {
	return func(yield func(storage.Array, error) bool) {
		if a.Len() > 0 {
			split(ctx, a, size, 0, yield)
		}
	}
}

// split yields the blocks of a, cut along axis and those after it, and reports
// whether to go on.
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
		rows, next = 1, axis+1 // a single step is too much
	}
	for start := 0; start < a.Shape[axis]; start += rows {
		part := a.With(between(a.View, axis, start, min(start+rows, a.Shape[axis])))
		if !split(ctx, part, size, next, yield) {
			return false
		}
	}
	return true
}

// between keeps the elements from start to before stop along an axis of v that has them.
func between(v views.View, axis, start, stop int) views.View {
	w, err := v.Slice(axis, start, stop, 1)
	if err != nil {
		panic(err)
	}
	return w
}

// blockRows rounds rows to whole chunks where a is all of a chunked array, so
// that no chunk is decoded for two blocks.
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

// elements yields the bytes of a's elements in row-major order, block by block.
// They are good until the next block.
func elements(ctx context.Context, a storage.Array, size int) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		var buffer []byte
		for b, err := range blocks(ctx, a, size) {
			if err == nil {
				buffer, err = pack(b, buffer)
			}
			if !yield(buffer, err) || err != nil {
				return
			}
		}
	}
}

// interruptible returns a as an array whose reading fails once ctx is done.
func interruptible(ctx context.Context, a storage.Array) storage.Array {
	if source, ok := a.Data.(storage.Source); ok {
		a.Data = interrupted{source, ctx}
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
