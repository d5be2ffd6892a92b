package storagetest

import (
	"bytes"
	"math"
	"sync"
	"testing"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// TestSource reports all that the source under got does other than
// storage.Source says; want is an array in host memory with the same elements.
func TestSource(t testing.TB, got, want storage.Array) {
	t.Helper()
	src, ok := got.Data.(storage.Source)
	if !ok {
		t.Errorf("%v: %T is no storage.Source", got, got.Data)
		return
	}
	if got.Type != want.Type {
		t.Errorf("type %v, want %v", got.Type, want.Type)
		return
	}
	if need := got.NBytes(); src.Len() < need {
		t.Errorf("%v: Len is %d bytes, but its elements take %d", got, src.Len(), need)
	}
	looks := selections(got.View)
	meant := selections(want.View)
	for name := range looks {
		if !same(t, got.With(looks[name]), want.With(meant[name])) {
			t.Errorf("%v: %s differs from what it should be", got, name)
		}
	}
	testRefusals(t, src, got)
	testTogether(t, src, got, want)
}

// testRefusals asks for what is not there, and looks for bytes written elsewhere.
func testRefusals(t testing.TB, src storage.Source, got storage.Array) {
	t.Helper()
	size := got.Type.Size()
	n := src.Len() / size
	for name, v := range map[string]views.View{
		"an element beyond the last":   {Offset: n, Shape: []int{1}, Stride: []int{1}},
		"an element before the first":  {Offset: -1, Shape: []int{1}, Stride: []int{1}},
		"a row that runs out":          {Offset: 0, Shape: []int{n + 1}, Stride: []int{1}},
		"a row that runs out in front": {Offset: 0, Shape: []int{2}, Stride: []int{-1}},
		"a stride that overflows":      {Offset: 0, Shape: []int{3}, Stride: []int{math.MaxInt/2 + 1}},
	} {
		if err := src.ReadView(make([]byte, v.Len()*size), got.Type, v); err == nil {
			t.Errorf("%v: reading %s succeeds", got, name)
		}
	}
	if got.Len() == 0 {
		return
	}
	dst := bytes.Repeat([]byte{0xa5}, got.Len()*size+8)
	if err := src.ReadView(dst, got.Type, got.View); err != nil {
		t.Errorf("%v: a destination with room to spare: %v", got, err)
	}
	if !bytes.Equal(dst[got.Len()*size:], bytes.Repeat([]byte{0xa5}, 8)) {
		t.Errorf("%v: wrote beyond its elements", got)
	}
	if err := src.ReadView(dst[:size-1], got.Type, got.View); err == nil {
		t.Errorf("%v: reading into too little room succeeds", got)
	}
}

// testTogether reads from several goroutines at once.
func testTogether(t testing.TB, src storage.Source, got, want storage.Array) {
	t.Helper()
	whole := meaning(want)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			dst := make([]byte, len(whole))
			if err := src.ReadView(dst, got.Type, got.View); err != nil || !bytes.Equal(dst, whole) {
				t.Errorf("%v: reading in several goroutines gives other elements: %v", got, err)
			}
		})
	}
	wg.Wait()
}
