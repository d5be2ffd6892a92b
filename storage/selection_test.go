package storage_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/storagetest"
	"github.com/h5dnn/h5dnn/views"
)

// countedReads is a file that counts the elements that are read of it.
type countedReads struct {
	storage.Array
	read *int
}

func (c *countedReads) Len() int               { return c.Data.Len() }
func (c *countedReads) Device() storage.Device { return storage.File("counted") }
func (c *countedReads) ReadView(dst []byte, t dtype.Type, v views.View) error {
	*c.read += v.Len()
	return c.With(v).CopyTo(storage.Array{Data: storage.Wrap(dst), Type: t, View: views.Of(v.Shape...)})
}

// listed reads one element after another of a selection of a counted array.
func listed(t *testing.T, a storage.Array, s views.Selection) (list []int32) {
	t.Helper()
	elems := storage.Elements[int32](a)
	shape := views.Of(s.Size()...)
	for position := range shape.Len() {
		at := s.View.Offset
		for axis, k := 0, 0; axis < shape.Rank(); axis++ {
			i := position / shape.Stride[axis] % shape.Shape[axis]
			if s.Offsets != nil && axis == s.Axis {
				at += s.Offsets[i]
				continue
			}
			at, k = at+i*s.View.Stride[k], k+1
		}
		list = append(list, elems[at])
	}
	return list
}

// TestListsSelectOnEveryDevice compares selections of arrays in memory, on a device and in a file,
// and views of them, with reading element by element. Of the file nothing else is read.
func TestListsSelectOnEveryDevice(t *testing.T) {
	whole := counted[int32](5, 4, 6)
	fake := storagetest.NewDevice("fake:0")
	there, err := whole.To(fake)
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	file := whole
	file.Data = &countedReads{whole, &read}
	r := rand.New(rand.NewPCG(3, 4))
	for _, expr := range []string{"[[3, 1, 4]]", "[[-1, 0, 0, 2, 2]]", "[:, [3, 1], ::-2]", "[[1, 2, 3, 0], [0, 1, 2, 3]]", "[..., [5, 3, 1, 0]]", "[[], 0]", "[1, 1:, [2, 0]]", "[[4], None]"} {
		x, err := views.Parse(expr)
		if err != nil {
			t.Fatal(err)
		}
		s, err := x.Select(whole.View, nil)
		if err != nil {
			t.Fatal(err)
		}
		want := listed(t, whole, s)
		for k, a := range []storage.Array{whole, there, file} {
			part := index(t, a, expr)
			read = 0
			got, err := storage.Read[int32](part)
			if err != nil || !slices.Equal(got, want) || !slices.Equal(part.Shape, s.Size()) {
				t.Errorf("%s of %v: %v, %v; want %v", expr, a, got, err, want)
			}
			if k == 2 && read != len(want) {
				t.Errorf("%s: %d elements are read for %d", expr, read, len(want))
			}
			for range 20 {
				v := part.View
				if v.Rank() > 1 && r.IntN(2) == 0 {
					v, _ = v.Transpose(r.Perm(v.Rank())...)
				}
				v, _ = v.Slice(0, r.IntN(3), 2+r.IntN(4), 1+r.IntN(2))
				copied := storage.From(want, part.Shape...)
				want, _ := storage.Read[int32](copied.With(v))
				if got, err := storage.Read[int32](part.With(v)); err != nil || !slices.Equal(got, want) {
					t.Fatalf("%v of %s: %v, %v; want %v", v, expr, got, err, want)
				}
			}
		}
	}
	if _, err := whole.Index("[[5]]"); !errors.Is(err, views.ErrShape) {
		t.Error(err)
	}
	bad := views.Selection{View: views.Of(3), Offsets: []int{0, 119}}
	if _, err := whole.Selected(bad); !errors.Is(err, views.ErrShape) {
		t.Errorf("a selection beyond the array: %v", err)
	}
}
