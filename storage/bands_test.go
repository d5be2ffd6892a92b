package storage

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/views"
)

// A chunkedMatrix counts how often each of its chunks is read.
type chunkedMatrix struct {
	elems        []byte
	shape, chunk []int
	decoded      []int // by the position of the first element
}

func (c *chunkedMatrix) Len() int           { return len(c.elems) }
func (c *chunkedMatrix) Device() Device     { return File("chunks") }
func (c *chunkedMatrix) Shape() []int       { return c.shape }
func (c *chunkedMatrix) ChunkShape() []int  { return c.chunk }
func (c *chunkedMatrix) ReadsInPlace() bool { return true }

func (c *chunkedMatrix) ReadView(dst []byte, t dtype.Type, v views.View) error {
	Gather(dst, c.elems, t, v)
	touched := make([]bool, len(c.elems)) // by the position of its first element
	whole := views.Of(c.shape...)
	walk(v, func(position int) {
		first := 0
		for axis, stride := range whole.Stride {
			at := position / stride % c.shape[axis]
			first += (at - at%c.chunk[axis]) * stride
		}
		touched[first] = true
	})
	for first, is := range touched {
		if is {
			c.decoded[first]++
		}
	}
	return nil
}

// walk calls visit with the position of every element of a view.
func walk(v views.View, visit func(position int)) {
	if v.Rank() == 0 {
		visit(v.Offset)
		return
	}
	for i := range v.Shape[0] {
		walk(views.View{Offset: v.Offset + i*v.Stride[0], Shape: v.Shape[1:], Stride: v.Stride[1:]}, visit)
	}
}

// TestWritingDecodesEachChunkOnce writes arrays of 24 MiB, as they are stored, with reversed axes,
// and parts of them forwards and backwards, of which a block of the usual size has elements of
// many chunks.
func TestWritingDecodesEachChunkOnce(t *testing.T) {
	for _, c := range []struct{ shape, chunk []int }{
		{[]int{192, 16384}, []int{8, 16384}},      // one chunk in every row of the transposed
		{[]int{192, 16384}, []int{192, 100}},      // and of the array as it is stored
		{[]int{192, 16384}, []int{50, 3000}},      // no divisor
		{[]int{1, 192, 16384}, []int{1, 8, 9000}}, // an axis of one index
		{[]int{12, 16, 16384}, []int{3, 5, 16000}},
	} {
		n := views.Of(c.shape...).Len()
		source := &chunkedMatrix{make([]byte, 8*n), c.shape, c.chunk, nil}
		for i := range source.elems {
			source.elems[i] = byte(i * i >> 7)
		}
		whole := Array{Data: source, Type: dtype.Float64, View: views.Of(c.shape...)}
		reversed, err := whole.Transpose()
		if err != nil {
			t.Fatal(err)
		}
		axis := len(c.shape) - 2
		part := whole.View.Narrow(axis, 5, c.shape[axis])
		backwards, err := part.Flip(axis)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range []views.View{whole.View, reversed, part, backwards} {
			source.decoded = make([]int, n)
			var got bytes.Buffer
			if _, err := whole.With(v).WriteTo(&got); err != nil {
				t.Fatal(err)
			}
			want := make([]byte, 8*v.Len())
			Gather(want, source.elems, dtype.Float64, v)
			if !bytes.Equal(got.Bytes(), want) {
				t.Errorf("%v in chunks of %v as %v: other elements", c.shape, c.chunk, v.Shape)
			}
			if times := slices.Max(source.decoded); times > 1 {
				t.Errorf("%v in chunks of %v as %v: a chunk is decoded %d times", c.shape, c.chunk, v.Shape, times)
			}
		}
	}
}

// TestBandsHoldEveryElementInOrder divides random views of random chunks.
func TestBandsHoldEveryElementInOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	found := 0
	for range 5000 {
		rank := 1 + r.IntN(4)
		shape, chunk := make([]int, rank), make([]int, rank)
		for axis := range shape {
			shape[axis] = 1 + r.IntN(5)
			chunk[axis] = 1 + r.IntN(shape[axis])
		}
		source := &chunkedMatrix{make([]byte, views.Of(shape...).Len()), shape, chunk, nil}
		v, err := views.Of(shape...).Transpose(r.Perm(rank)...)
		if err != nil {
			t.Fatal(err)
		}
		for axis, n := range v.Shape {
			start := r.IntN(n)
			if v = v.Narrow(axis, start, start+1+r.IntN(n-start)); r.IntN(3) == 0 {
				v, _ = v.Flip(axis)
			}
		}
		b, ok := bandsOf(Array{Data: source, Type: dtype.Uint8, View: v}, 1<<20)
		if !ok {
			continue
		}
		found++
		b.rows = min(b.rows, 1+r.IntN(3)) // small, to have several
		b.first = max(1, min(b.first, b.rows))
		var got, want []int
		for band := range b.each(v) {
			walk(band, func(position int) { got = append(got, position) })
		}
		walk(v, func(position int) { want = append(want, position) })
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%v of %v in chunks of %v: %v, want %v", v, shape, chunk, got, want)
		}
	}
	if found < 1000 {
		t.Errorf("only %d views have bands", found)
	}
}
