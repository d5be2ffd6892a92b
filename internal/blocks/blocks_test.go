package blocks

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// randomArray returns an array of int32s of a random shape, seen through a
// random view, with axes of size 0 and 1 among them.
func randomArray(r *rand.Rand) storage.Array {
	shape := make([]int, r.IntN(5))
	for axis := range shape {
		shape[axis] = r.IntN(7)
	}
	elems := make([]int32, views.Of(shape...).Len())
	for k := range elems {
		elems[k] = int32(k)
	}
	a := storage.From(elems, shape...)
	for axis, n := range shape {
		switch v := a.View; r.IntN(3) {
		case 0:
			v, _ = v.Flip(axis)
			a.View = v
		case 1:
			a.View = v.Narrow(axis, n/3, n)
		}
	}
	return a
}

// TestBlocksHoldEveryElementInOrder joins the blocks of random views, whatever
// their size, and compares with reading all at once.
func TestBlocksHoldEveryElementInOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		a := randomArray(r)
		want, err := Read(a)
		if err != nil {
			t.Fatal(err)
		}
		size := 1 + r.IntN(200)
		var got []byte
		for part, err := range Elements(context.Background(), a, size) {
			if err != nil {
				t.Fatal(err)
			}
			if len(part) > max(size, a.Type.Size()) {
				t.Errorf("%v in blocks of %d: one has %d bytes", a.View, size, len(part))
			}
			got = append(got, part...)
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("%v in blocks of %d: got %v, want %v", a.View, size, got, want)
		}
	}
}

// TestBlocksStopWhenInterrupted cancels after the first block.
func TestBlocksStopWhenInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	a := storage.From(make([]int32, 1000), 10, 100)
	n := 0
	var last error
	for _, err := range Elements(ctx, a, 400) {
		n++
		last = err
		cancel()
	}
	if n != 2 || !errors.Is(last, context.Canceled) {
		t.Errorf("%d blocks, the last with %v; want 2, the last with %v", n, last, context.Canceled)
	}
}

// countedChunks is a chunked source that counts how often each chunk is touched.
type countedChunks struct {
	storage.Source
	shape, chunk []int
}

func (c countedChunks) Shape() []int      { return c.shape }
func (c countedChunks) ChunkShape() []int { return c.chunk }

// TestBlocksOfChunkedArraysEndWithChunks checks where blocks are cut.
func TestBlocksOfChunkedArraysEndWithChunks(t *testing.T) {
	a := storage.Array{Data: countedChunks{shape: []int{100, 4}, chunk: []int{8, 4}}, Type: storage.From([]int32{0}, 1).Type, View: views.Of(100, 4)}
	for b, err := range Of(context.Background(), a, 20*16) {
		if err != nil {
			t.Fatal(err)
		}
		if start := b.Offset / 4; start%8 != 0 {
			t.Errorf("a block begins at row %d, within a chunk of 8 rows", start)
		}
	}
}

// TestEqualComparesEveryElement of arrays in other layouts and blocks of other sizes.
func TestEqualComparesEveryElement(t *testing.T) {
	old := Size
	t.Cleanup(func() { Size = old })
	r := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		Size = 1 + r.IntN(100)
		a := randomArray(r)
		copied, err := Read(a)
		if err != nil {
			t.Fatal(err)
		}
		b := storage.Array{Data: storage.Wrap(copied), Type: a.Type, View: views.Of(a.Shape...)}
		if same, err := Equal(context.Background(), a, b); !same || err != nil {
			t.Fatalf("%v is not equal to its copy: %v", a.View, err)
		}
		if len(copied) > 0 {
			copied[r.IntN(len(copied))] ^= 1
			if same, _ := Equal(context.Background(), a, b); same {
				t.Fatalf("%v is equal to a changed copy", a.View)
			}
		}
	}
	if same, _ := Equal(context.Background(), storage.From([]int32{1, 2}, 2), storage.From([]int32{1, 2}, 1, 2)); same {
		t.Error("arrays of two shapes are equal")
	}
}
