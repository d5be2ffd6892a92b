package dataset

import (
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A fakeUncompressed is a fakeSource that implements storage.Uncompressed, in chunks of
// some rows, or contiguous if they have none. It checks that rows are prefetched before
// they are read.
type fakeUncompressed struct {
	*fakeSource
	declared int // size in bytes, if it is more than there are

	lock          sync.Mutex
	prefetched    []bool // by row
	notPrefetched int    // rows read that were not prefetched
	read          []int  // how often each row was
	calls         int    // of ReadRanges
}

func newUncompressed(a storage.Array, rows int) *fakeUncompressed {
	return &fakeUncompressed{fakeSource: newFake(a, rows), prefetched: make([]bool, a.Shape[0]), read: make([]int, a.Shape[0])}
}

func (s *fakeUncompressed) Len() int { return max(s.fakeSource.Len(), s.declared) }

func (s *fakeUncompressed) Array() storage.Array {
	return storage.Array{Data: s, Type: s.array.Type, View: s.array.View}
}

// rowsOf returns the rows that n bytes from an offset on are in.
func (s *fakeUncompressed) rowsOf(at, n int) (first, end int) {
	size := s.fakeSource.Len() / s.array.Shape[0]
	return at / size, (at + n + size - 1) / size
}

func (s *fakeUncompressed) ReadAt(b []byte, at int64) (int, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	for row, end := s.rowsOf(int(at), len(b)); row < end; row++ {
		s.read[row]++
		if !s.prefetched[row] {
			s.notPrefetched++
		}
		if err := s.fail[row/max(1, s.rows)]; err != nil {
			return 0, err
		}
	}
	return copy(b, s.array.Data.(storage.Host).Bytes()[at:]), nil
}

func (s *fakeUncompressed) Prefetch(at, n int) {
	s.lock.Lock()
	defer s.lock.Unlock()
	for row, end := s.rowsOf(at, n); row < end; row++ {
		s.prefetched[row] = true
	}
}

func (s *fakeUncompressed) ReadRanges(parts iter.Seq2[int, []byte]) error {
	s.lock.Lock()
	s.calls++
	s.lock.Unlock()
	for at, b := range parts {
		if _, err := s.ReadAt(b, int64(at)); err != nil {
			return err
		}
	}
	return nil
}

// uncompressed returns datasets whose samples are in files as in memory.
func uncompressed(t testing.TB, n int) (all []specimen) {
	x, y := pairs(n)
	for _, rows := range []int{0, 7} {
		d := must[Dataset](t)(FromArrays(input("x", newUncompressed(x, rows).Array()), target("y", y)))
		all = append(all, specimen{name: fmt.Sprintf("uncompressed, chunks of %d", rows), d: d, origin: same})
		odd := []int{}
		for row := 1; row < n; row += 2 {
			odd = append(odd, row)
		}
		half := must[Dataset](t)(Subset(d, odd))
		all = append(all, specimen{name: fmt.Sprintf("odd rows of uncompressed chunks of %d, twice", rows), d: must[Dataset](t)(Concat(half, half)),
			origin: func(row int) int { return odd[row%len(odd)] }})
	}
	return all
}

// TestBlocksOfUncompressedDataAreReadOnce loads what does not fit the memory allowed: no
// block is cached, none decoded, and every sample is prefetched before it is read. Each
// block is read by one call where memory suffices for the batches of its samples.
func TestBlocksOfUncompressedDataAreReadOnce(t *testing.T) {
	const n = 1000
	defer func(size int) { evenBlock = size }(evenBlock)
	evenBlock = 10 * 32 // of ten samples
	x, y := pairs(n)
	for _, rows := range []int{0, 10} {
		for _, shuffle := range []Shuffle{None, Window} {
			if rows == 0 && shuffle == None {
				continue // the system reads ahead by itself
			}
			for _, part := range []string{"whole", "subset", "chain"} {
				for _, memory := range []string{"least", "enough"} {
					fake := newUncompressed(x, rows)
					d := must[Dataset](t)(FromArrays(input("x", fake.Array()), target("y", y)))
					switch part {
					case "subset":
						_, d, _ = Split(d, 0.4, 1)
					case "chain":
						d = must[Dataset](t)(Concat(d, must[Dataset](t)(FromArrays(input("x", newUncompressed(x, rows).Array()), target("y", y)))))
					}
					o := Options{BatchSize: 4, Shuffle: shuffle, Window: 8, Workers: 1}
					if o.Memory = leastMemory(d, o); memory == "enough" {
						o.Memory = max(o.Memory, int64(Bytes(d))*9/10)
					}
					l := must[*Loader](t)(NewLoader(d, o))
					for _, c := range []struct{ start, batches int }{{0, n}, {n / 8, n}, {n / 8, 3}} {
						clear(fake.prefetched)
						clear(fake.read)
						fake.calls = 0
						for _, err := range l.Epoch(t.Context(), 0, c.start) {
							if err != nil {
								t.Fatal(err)
							}
							if c.batches--; c.batches == 0 {
								break
							}
						}
						if memory == "enough" && part != "subset" && fake.calls > n/10+1 {
							t.Errorf("%s in chunks of %d, %v, from %d on: %d calls read %d blocks", part, rows, shuffle, c.start, fake.calls, n/10)
						}
						if times := slices.Max(fake.read); part == "whole" && memory == "enough" && times > 1 {
							t.Errorf("%s in chunks of %d, %v, from %d on: a sample was read %d times", part, rows, shuffle, c.start, times)
						}
					}
					times, _ := fake.most()
					if plan := l.Plan(); !plan.Scattered || plan.CachedBlocks > 0 || times > 0 || plan.Amplification != 1 || fake.notPrefetched > 0 {
						t.Errorf("%s in chunks of %d, %v: plan %+v, decoded %d times, %d samples read that were not prefetched", part, rows, shuffle, plan, times, fake.notPrefetched)
					}
				}
			}
		}
	}
}

// TestLargeFilesAreShuffledByWindow checks that by default, files that probably exceed
// the page cache are not read in random order.
func TestLargeFilesAreShuffledByWindow(t *testing.T) {
	x, _ := pairs(1)
	file := must[*os.File](t)(os.Create(filepath.Join(t.TempDir(), "sparse")))
	if err := file.Truncate(beyondCache + 24); err != nil {
		t.Fatal(err)
	}
	mapping := must[*storage.Mapping](t)(storage.Map(file))
	t.Cleanup(func() { errors.Join(mapping.Close(), file.Close()) })
	for n, want := range map[int]Shuffle{beyondCache / 24: Exact, beyondCache/24 + 1: Window} {
		mapped := storage.Array{Data: must[*storage.Mapped](t)(mapping.Range(0, int64(n)*24)), Type: dtype.Float64, View: views.Of(n, 3)}
		if plan := must[*Loader](t)(NewLoader(must[Dataset](t)(FromArrays(input("x", mapped))), Options{BatchSize: 8})).Plan(); plan.Shuffle != want {
			t.Errorf("%d mapped samples of 24 bytes: shuffled %v, want %v", n, plan.Shuffle, want)
		}
		fake := newUncompressed(x, 0)
		fake.declared = n * 24
		large := fake.Array()
		large.View.Shape = slices.Concat([]int{n}, large.View.Shape[1:])
		l := must[*Loader](t)(NewLoader(must[Dataset](t)(FromArrays(input("x", large))), Options{BatchSize: 8}))
		if plan := l.Plan(); plan.Shuffle != want || plan.Memory > 1<<20 && want == Exact {
			t.Errorf("%d samples of 24 bytes: shuffled %v in %d bytes, want %v", n, plan.Shuffle, plan.Memory, want)
		}
	}
}
