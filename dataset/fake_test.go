package dataset

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A fakeSource is a chunked source in memory, cut along its first axis, that
// counts how often each chunk is decoded and can be told to fail.
type fakeSource struct {
	array storage.Array
	rows  int // in one chunk
	fail  map[int]error
	gate  chan struct{} // if there is one, every read takes from it first

	lock    sync.Mutex
	decoded map[int]int
}

func newFake(a storage.Array, rows int) *fakeSource {
	return &fakeSource{array: a, rows: rows, fail: map[int]error{}, decoded: map[int]int{}}
}

func (s *fakeSource) Len() int               { return s.array.Data.Len() }
func (s *fakeSource) Device() storage.Device { return storage.File("fake.h5") }
func (s *fakeSource) Shape() []int           { return s.array.Shape }
func (s *fakeSource) ChunkShape() []int {
	if s.rows == 0 {
		return nil
	}
	return append([]int{s.rows}, s.array.Shape[1:]...)
}
func (s *fakeSource) Array() storage.Array {
	return storage.Array{Data: s, Type: s.array.Type, View: s.array.View}
}

func (s *fakeSource) ReadView(dst []byte, t dtype.Type, v views.View) error {
	if s.gate != nil {
		<-s.gate
	}
	row := views.Of(s.array.Shape[1:]...).Len()
	chunks := map[int]bool{}
	for p := range v.Positions() {
		chunks[p/row/s.rows] = true
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	for chunk := range chunks {
		s.decoded[chunk]++
	}
	for chunk := range chunks {
		if err := s.fail[chunk]; err != nil {
			return fmt.Errorf("chunk %d: %w", chunk, err)
		}
	}
	storage.Gather(dst, s.array.Data.(storage.Host).Bytes(), t, v)
	return nil
}

// most returns how often the chunk decoded most was, and how many were at all.
func (s *fakeSource) most() (times, chunks int) {
	s.lock.Lock()
	defer s.lock.Unlock()
	for _, n := range s.decoded {
		times = max(times, n)
	}
	return times, len(s.decoded)
}

var errTorn = errors.New("checksum does not match")

// pairs returns n images of 2x3, whose elements are 6·row … 6·row+5, beside
// labels that are 3·row.
func pairs(n int) (images, labels storage.Array) {
	x, y := make([]float32, 6*n), make([]int64, n)
	for i := range x {
		x[i] = float32(i)
	}
	for i := range y {
		y[i] = int64(3 * i)
	}
	return storage.From(x, n, 2, 3), storage.From(y, n)
}

// checkPairs reports a batch that does not hold the samples its rows name;
// origin maps a row of the dataset to the one pairs made.
func checkPairs(t testing.TB, b *Batch, origin func(int) int) {
	t.Helper()
	checkSamples(t, b, specimen{origin: origin})
}

// checkSamples reports a batch that does not hold the samples its rows name.
func checkSamples(t testing.TB, b *Batch, s specimen) {
	t.Helper()
	if s.x == nil {
		s.x = func(row, i int) float32 { return float32(6*row + i) }
	}
	x, y := storage.Elements[float32](b.Fields[0]), storage.Elements[int64](b.Fields[1])
	for k, row := range b.Rows {
		row = s.origin(row)
		for i := range 6 {
			if got, want := x[6*k+i], s.x(row, i); got != want {
				t.Fatalf("place %d, row %d: x[%d] is %v, want %v", k, row, i, got, want)
			}
		}
		if got, want := y[k], int64(3*row); got != want {
			t.Fatalf("place %d, row %d: y is %v, want %v", k, row, got, want)
		}
	}
}

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func same(row int) int { return row }

func input(name string, a storage.Array) NamedArray { return NamedArray{Name: name, Array: a} }
func target(name string, a storage.Array) NamedArray {
	return NamedArray{Name: name, Array: a, Role: Target}
}
