package blocks

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// randomView returns a view of the elements of a shape, as readers make them: slices with
// steps, reversed, transposed, flattened, divided and broadcast.
func randomView(r *rand.Rand, shape []int) views.View {
	v := views.Of(shape...)
	for range r.IntN(5) {
		var w views.View
		var err error
		switch axis := r.IntN(max(1, v.Rank())); {
		case v.Rank() == 0 || v.Len() == 0:
			return v
		case r.IntN(6) == 0:
			w, err = v.Flip(axis)
		case r.IntN(5) == 0:
			w, err = v.Reshape(-1)
		case r.IntN(4) == 0:
			w, err = v.Transpose(r.Perm(v.Rank())...)
		case r.IntN(3) == 0 && v.Shape[axis]%2 == 0:
			w, err = v.Reshape(slices.Replace(slices.Clone(v.Shape), axis, axis+1, v.Shape[axis]/2, 2)...)
		case r.IntN(8) == 0:
			w, _ = v.Broadcast(append([]int{2}, v.Shape...)...)
		default:
			start := r.IntN(v.Shape[axis])
			w, err = v.Slice(axis, start, start+1+r.IntN(v.Shape[axis]-start), 1+r.IntN(3))
		}
		if err == nil {
			v = w
		}
	}
	return v
}

// TestBoxesHoldTheElementsOfAView computes elements by box, and compares them with reading
// the view of the same elements in memory.
func TestBoxesHoldTheElementsOfAView(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 5000 {
		shape := make([]int, r.IntN(5))
		for axis := range shape {
			shape[axis] = 1 + r.IntN(7)
		}
		elems := make([]int32, views.Of(shape...).Len())
		for k := range elems {
			elems[k] = int32(k)
		}
		memory := storage.From(elems, shape...)
		a := Compute(dtype.Int32, shape, func(dst storage.Array, b views.Box) error {
			if !slices.Equal(dst.Shape, b.Count) {
				return fmt.Errorf("%v for a box of %v", dst.Shape, b.Count)
			}
			return memory.With(b.Of(memory.View)).CopyTo(dst)
		})
		v := randomView(r, shape)
		want, err := Read(memory.With(v))
		if err != nil {
			t.Fatal(err)
		}
		got, err := Read(a.With(v))
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%v of %v: got %v, want %v, %v", v, shape, got, want, err)
		}
	}
}

// TestViewsInOtherOrdersAreOneBox holds that reading a transposed block, or whole rows of
// one without axes, computes all of it at once.
func TestViewsInOtherOrdersAreOneBox(t *testing.T) {
	shape := []int{6, 8, 10}
	for _, v := range []views.View{
		{Shape: []int{10, 8, 6}, Stride: []int{1, 10, 80}},
		{Shape: []int{3, 8, 5}, Stride: []int{80, 10, 1}, Offset: 165},
		{Shape: []int{160}, Stride: []int{1}, Offset: 80},
		{Shape: []int{80, 2}, Stride: []int{1, 80}},
	} {
		n := 0
		for range views.Boxes(v, views.Of(v.Shape...), shape) {
			n++
		}
		if n != 1 {
			t.Errorf("%v is divided into %d boxes", v, n)
		}
	}
}

// TestPartsOfBoxes walks the parts of a shape that are between two indices of an axis.
func TestPartsOfBoxes(t *testing.T) {
	b := views.Box{Start: []int{3}, Count: []int{5}, Step: []int{4}} // 3 7 11 15 19
	for _, c := range []struct{ lo, hi, start, first, end int }{{0, 8, 3, 0, 2}, {7, 12, 0, 1, 3}, {8, 30, 3, 2, 5}, {4, 6, 3, 1, 1}} {
		part, first, end := b.Between(0, c.lo, c.hi)
		if part.Start[0] != c.start || first != c.first || end != c.end || part.Count[0] != end-first {
			t.Errorf("from %d to %d: start %d, indices %d to %d; want %+v", c.lo, c.hi, part.Start[0], first, end, c)
		}
	}
	n := 0
	for part := range Parts([]int{5, 3, 4}, 12) {
		if size := views.Of(part.Count...).Len(); size > 12 {
			t.Errorf("a part has %d elements", size)
		} else {
			n += size
		}
	}
	if n != 60 {
		t.Errorf("%d elements in all parts", n)
	}
}
