package storage_test

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// tangled returns a random view of elements that lie strided, flipped and in
// any order of axes; some are long enough to be copied in tiles.
func tangled(r *rand.Rand) views.View {
	shape := make([]int, r.IntN(5))
	for axis := range shape {
		shape[axis] = r.IntN(5)
		if r.IntN(4) == 0 {
			shape[axis] = r.IntN(150 >> len(shape))
		}
	}
	v, err := views.Of(shape...).Transpose(r.Perm(len(shape))...)
	for range r.IntN(4) {
		if err != nil || v.Rank() == 0 {
			break
		}
		axis := r.IntN(v.Rank())
		switch r.IntN(3) {
		case 0:
			v, err = v.Flip(axis)
		case 1:
			v, err = v.Slice(axis, r.IntN(3), v.Shape[axis], 1+r.IntN(2))
		case 2:
			if v.Len() < 1000 {
				v, _ = v.Broadcast(append([]int{r.IntN(3)}, v.Shape...)...)
			}
		}
	}
	if err != nil {
		panic(err)
	}
	return v
}

// TestGatherAndScatterMoveEveryElement compares with one element at a time, for
// elements of all sizes, at addresses that are aligned and that are not.
func TestGatherAndScatterMoveEveryElement(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for round := range 20_000 {
		v := tangled(r)
		typ := []dtype.Type{dtype.Uint8, dtype.Float16, dtype.Float32, dtype.Int64, dtype.Complex128}[round%5]
		size, shift := typ.Size(), r.IntN(2)
		_, hi := v.Bounds()
		src := make([]byte, (hi+1)*size+shift)[shift:]
		for i := range src {
			src[i] = byte(r.Uint32())
		}
		var want []byte
		for at := range v.Positions() {
			want = append(want, src[at*size:(at+1)*size]...)
		}
		got := make([]byte, len(want)+1)
		storage.Gather(got, src, typ, v)
		if !bytes.Equal(got, append(want, 0)) {
			t.Fatalf("%v through %+v: gathered % x, want % x", typ, v, got, want)
		}
		if v.MayOverlapItself() {
			continue
		}
		back, whole := make([]byte, len(src)), make([]byte, len(src))
		storage.Scatter(back, got, typ, v)
		for at := range v.Positions() {
			copy(whole[at*size:], src[at*size:(at+1)*size])
		}
		if !bytes.Equal(back, whole) {
			t.Fatalf("%v through %+v: scattered % x, want % x", typ, v, back, whole)
		}
	}
}

func TestGatherPanicsRatherThanTouchOthersMemory(t *testing.T) {
	rows := views.View{Shape: []int{3, 3}, Stride: []int{4, 1}} // reaches element 10
	for name, move := range map[string]func(){
		"gather, source":       func() { storage.Gather(make([]byte, 9), make([]byte, 10), dtype.Uint8, rows) },
		"gather, destination":  func() { storage.Gather(make([]byte, 8), make([]byte, 11), dtype.Uint8, rows) },
		"scatter, source":      func() { storage.Scatter(make([]byte, 11), make([]byte, 8), dtype.Uint8, rows) },
		"scatter, destination": func() { storage.Scatter(make([]byte, 10), make([]byte, 9), dtype.Uint8, rows) },
		"gather, row":          func() { storage.Gather(make([]byte, 9), make([]byte, 8), dtype.Uint8, views.Of(9)) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			move()
		}()
	}
	storage.Gather(make([]byte, 9), make([]byte, 11), dtype.Uint8, rows)
}

// TestMoveTakesElementsOfAnySize compares with one element at a time, for
// elements that lie any number of bytes apart.
func TestMoveTakesElementsOfAnySize(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for range 5_000 {
		size := 1 + r.IntN(17)
		from := apart(tangled(r), size+r.IntN(4))
		to := apart(views.Of(from.Shape...), size+r.IntN(4))
		src, got, want := uninitialized(from, size), uninitialized(to, size), uninitialized(to, size)
		for i := range src {
			src[i] = byte(r.Uint32())
		}
		storage.CopyStrided(got, to, src, from, size)
		places := slices.Collect(to.Positions())
		k := 0
		for at := range from.Positions() {
			copy(want[places[k]:places[k]+size], src[at:])
			k++
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("%d bytes from %+v to %+v: got % x, want % x", size, from, to, got, want)
		}
	}
}

// apart returns v with the given number of bytes between its neighbours.
func apart(v views.View, step int) views.View {
	w := views.View{Offset: v.Offset * step, Shape: v.Shape, Stride: slices.Clone(v.Stride)}
	for axis := range w.Stride {
		w.Stride[axis] *= step
	}
	return w
}

// uninitialized returns exactly the bytes that a view touches, for elements of the given size.
func uninitialized(v views.View, size int) []byte {
	_, hi := v.Bounds()
	return make([]byte, max(0, hi)+size)
}
