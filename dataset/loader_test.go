package dataset

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/h5dnn/h5dnn/storage"
)

// A specimen is a dataset the laws hold for, and where its rows come from.
type specimen struct {
	name   string
	d      Dataset
	origin func(int) int
	fakes  []*fakeSource
}

// specimens returns datasets of every make, of about n samples.
func specimens(t testing.TB, n int) []specimen {
	x, y := pairs(n)
	host := must[Dataset](t)(Of(Named{"x", x}, Named{"y", y}))
	all := []specimen{{"host", host, same, nil}}
	for _, c := range []struct{ x, y int }{{7, 0}, {7, 14}, {10, 4}, {1, 0}, {n + 5, 0}, {7, n}} {
		fx, fy := newFake(x, max(1, c.x)), newFake(y, max(1, c.y))
		s := specimen{name: fmt.Sprintf("chunks of %d and %d", c.x, c.y), origin: same, fakes: []*fakeSource{fx, fy}}
		if c.y == 0 {
			s.fakes = s.fakes[:1]
			s.d = must[Dataset](t)(Of(Named{"x", fx.Array()}, Named{"y", y}))
		} else {
			s.d = must[Dataset](t)(Of(Named{"x", fx.Array()}, Named{"y", fy.Array()}))
		}
		all = append(all, s)
	}
	if n < 3 {
		return all
	}
	chunked := all[1]
	train, val, err := Split(chunked.d, 0.3, 5)
	if err != nil {
		t.Fatal(err)
	}
	all = append(all,
		specimen{"train split of chunks", train, func(row int) int { return train.(*subset).rows[row] }, nil},
		specimen{"val split of chunks", val, func(row int) int { return val.(*subset).rows[row] }, nil},
		specimen{"chunks, then host, then chunks", must[Dataset](t)(Concat(chunked.d, host, all[2].d)), func(row int) int { return row % n }, nil},
		specimen{"a chain of chains", must[Dataset](t)(Concat(opaque{host}, must[Dataset](t)(Concat(host, chunked.d, opaque{chunked.d})))), func(row int) int { return row % n }, nil},
		specimen{"unordered subset", must[Dataset](t)(Subset(chunked.d, []int{2, 0, 1, 2})), func(row int) int { return []int{2, 0, 1, 2}[row] }, nil},
		specimen{"foreign", opaque{chunked.d}, same, nil},
	)
	return all
}

// opaque hides everything but a Dataset's three methods.
type opaque struct{ Dataset }

// rows loads what remains of an epoch after start and returns the order.
func rows(t testing.TB, l *Loader, epoch, start int, s specimen) []int {
	t.Helper()
	var all []int
	for b, err := range l.Epoch(t.Context(), epoch, start) {
		if err != nil {
			t.Fatal(err)
		}
		checkPairs(t, b, s.origin)
		all = append(all, b.Rows...)
		if b.Next != start+len(all) {
			t.Fatalf("next is %d after %d samples from %d on", b.Next, len(all), start)
		}
	}
	return all
}

// eachLoader calls law for every specimen and way of loading.
func eachLoader(t *testing.T, law func(t *testing.T, s specimen, o Options)) {
	for _, n := range []int{1, 2, 40, 101} {
		for _, s := range specimens(t, n) {
			for _, mode := range []Shuffle{Auto, None, Window, Exact} {
				for _, o := range []Options{{Batch: 1}, {Batch: 8}, {Batch: 8, Window: 3}, {Batch: 33, Window: 1}, {Batch: 1000}} {
					o.Shuffle, o.Seed = mode, 9
					t.Run(fmt.Sprintf("%d/%s/%v/batch %d window %d", n, s.name, mode, o.Batch, o.Window), func(t *testing.T) { law(t, s, o) })
				}
			}
		}
	}
}

func TestEveryRowComesOnceAnEpoch(t *testing.T) {
	eachLoader(t, func(t *testing.T, s specimen, o Options) {
		l := must[*Loader](t)(NewLoader(s.d, o))
		for epoch := range 2 {
			got := slices.Sorted(slices.Values(rows(t, l, epoch, 0, s)))
			if len(got) != s.d.Len() || len(got) > 0 && (got[0] != 0 || len(slices.Compact(got)) != s.d.Len()) {
				t.Fatalf("epoch %d: rows %v, want 0 to %d once each", epoch, got, s.d.Len()-1)
			}
		}
	})
}

// leastMemory returns the smallest number of bytes the dataset can be loaded with.
func leastMemory(d Dataset, o Options) int64 {
	lo, hi := int64(0), int64(1<<40)
	for lo+1 < hi {
		o.Memory = (lo + hi) / 2
		if _, err := NewLoader(d, o); err == nil {
			hi = o.Memory
		} else {
			lo = o.Memory
		}
	}
	return hi
}

func TestOrderDependsOnSeedAndEpochOnly(t *testing.T) {
	eachLoader(t, func(t *testing.T, s specimen, o Options) {
		want := rows(t, must[*Loader](t)(NewLoader(s.d, o)), 3, 0, s)
		for _, o.Workers = range []int{1, 2, 8} {
			for _, o.Memory = range []int64{leastMemory(s.d, o), 0} {
				l := must[*Loader](t)(NewLoader(s.d, o))
				if got := rows(t, l, 3, 0, s); !slices.Equal(got, want) {
					t.Fatalf("%d workers, memory %d: order %v, want %v", o.Workers, o.Memory, got, want)
				}
			}
		}
	})
}

func TestEpochsAndSeedsDiffer(t *testing.T) {
	for _, s := range specimens(t, 101) {
		for _, mode := range []Shuffle{Window, Exact} {
			if s.d.Len() < 20 {
				continue
			}
			l := must[*Loader](t)(NewLoader(s.d, Options{Batch: 8, Shuffle: mode, Seed: 1}))
			m := must[*Loader](t)(NewLoader(s.d, Options{Batch: 8, Shuffle: mode, Seed: 2}))
			first, second, other := rows(t, l, 0, 0, s), rows(t, l, 1, 0, s), rows(t, m, 0, 0, s)
			if slices.Equal(first, second) || slices.Equal(first, other) || slices.IsSorted(first) {
				t.Errorf("%s, %v: epochs 0 and 1 and another seed give %v, %v, %v", s.name, mode, first, second, other)
			}
		}
	}
}

func TestResumingGivesTheRest(t *testing.T) {
	for _, s := range specimens(t, 40) {
		for _, o := range []Options{{Batch: 8, Shuffle: None}, {Batch: 8, Shuffle: Window, Window: 3}, {Batch: 7, Shuffle: Window}, {Batch: 8, Shuffle: Exact}} {
			whole := rows(t, must[*Loader](t)(NewLoader(s.d, o)), 1, 0, s)
			for _, o.Workers = range []int{1, 2, 8} {
				for _, o.Memory = range []int64{leastMemory(s.d, o), 0} {
					l := must[*Loader](t)(NewLoader(s.d, o))
					for start := range s.d.Len() + 1 {
						if got := rows(t, l, 1, start, s); !slices.Equal(got, whole[start:]) {
							t.Fatalf("%s, %+v: after %d samples %v, want %v", s.name, o, start, got, whole[start:])
						}
					}
				}
			}
		}
	}
}

func TestShardsPartition(t *testing.T) {
	eachLoader(t, func(t *testing.T, s specimen, o Options) {
		for _, world := range []int{2, 3, 7} {
			var all []int
			most, least := 0, s.d.Len()
			for rank := range world {
				o.Rank, o.World = rank, world
				got := rows(t, must[*Loader](t)(NewLoader(s.d, o)), 1, 0, s)
				all, most, least = append(all, got...), max(most, len(got)), min(least, len(got))
			}
			slices.Sort(all)
			if len(all) != s.d.Len() || len(slices.Compact(all)) != s.d.Len() || most-least > 1 {
				t.Fatalf("%d ranks of %d to %d samples: rows %v, want 0 to %d once each", world, least, most, all, s.d.Len()-1)
			}
		}
	})
}

func TestDropLastLeavesOutTheRemainder(t *testing.T) {
	for _, s := range specimens(t, 40) {
		for _, start := range []int{0, 3} {
			o := Options{Batch: 7, DropLast: true}
			l := must[*Loader](t)(NewLoader(s.d, o))
			if start > s.d.Len() {
				continue
			}
			if got, want := len(rows(t, l, 0, start, s)), (s.d.Len()-start)/min(7, s.d.Len())*min(7, s.d.Len()); got != want {
				t.Errorf("%s: %d samples after %d, want %d", s.name, got, start, want)
			}
		}
	}
}

func TestChunksAreDecodedOnceAnEpoch(t *testing.T) {
	x, y := pairs(1000)
	for _, test := range []struct {
		name   string
		cx, cy int
		o      Options
		kept   bool
	}{
		{"window", 16, 0, Options{Batch: 10, Shuffle: Window, Window: 4}, false},
		{"window, labels alike", 16, 16, Options{Batch: 10, Shuffle: Window, Window: 4}, false},
		{"window, labels in half chunks", 16, 8, Options{Batch: 10, Shuffle: Window, Window: 4}, false},
		{"window, labels in thirds", 16, 24, Options{Batch: 10, Shuffle: Window, Window: 4}, false},
		{"batch wider than the window", 16, 0, Options{Batch: 500, Shuffle: Window, Window: 4}, false},
		{"in order", 16, 16, Options{Batch: 10, Shuffle: None}, false},
		{"kept", 16, 16, Options{Batch: 10, Shuffle: Window}, true},
		{"exact, kept", 16, 16, Options{Batch: 10, Shuffle: Exact}, true},
	} {
		fx, fy := newFake(x, test.cx), newFake(y, max(1, test.cy))
		fields := []Named{{"x", fx.Array()}, {"y", y}}
		if test.cy > 0 {
			fields[1].Array = fy.Array()
		}
		d := must[Dataset](t)(Of(fields...))
		if !test.kept {
			test.o.Memory = leastMemory(d, test.o)
		}
		l := must[*Loader](t)(NewLoader(d, test.o))
		if l.Plan().Kept != test.kept {
			t.Fatalf("%s: kept is %v, want %v", test.name, l.Plan().Kept, test.kept)
		}
		for epoch := range 3 {
			rows(t, l, epoch, 0, specimen{origin: same})
			want := epoch + 1
			if test.kept {
				want = 1
			}
			for _, fake := range []*fakeSource{fx, fy} {
				times, chunks := fake.most()
				if chunks > 0 && (times != want || chunks != (1000+fake.rows-1)/fake.rows) {
					t.Errorf("%s: after %d epochs %d chunks of %d rows were decoded %d times, want %d", test.name, epoch+1, chunks, fake.rows, times, want)
				}
			}
		}
		if got := l.Plan().Amplification; got < 1 || got > 1.05 {
			t.Errorf("%s: amplification %v, want 1 and what the last chunk lacks", test.name, got)
		}
	}
}

func TestErrorsComeWithTheirBatch(t *testing.T) {
	x, y := pairs(1000)
	for _, mode := range []Shuffle{None, Window, Exact} {
		for _, kept := range []bool{false, true} {
			fake := newFake(x, 10)
			fake.fail[37] = errTorn
			d := must[Dataset](t)(Of(Named{"x", fake.Array()}, Named{"y", y}))
			o := Options{Batch: 16, Shuffle: mode, Window: 4}
			if !kept {
				o.Memory = leastMemory(d, o)
			}
			l := must[*Loader](t)(NewLoader(d, o))
			for range 2 {
				torn, total := 0, 0
				for b, err := range l.Epoch(t.Context(), 0, 0) {
					touches := slices.ContainsFunc(b.Rows, func(row int) bool { return row/10 == 37 })
					if touches != errors.Is(err, errTorn) {
						t.Errorf("%v: batch of rows %v: error %v, want one only if a row is in 370 to 379", mode, b.Rows, err)
					}
					if total += len(b.Rows); err == nil {
						checkPairs(t, b, same)
					} else {
						torn++
					}
				}
				if torn == 0 || torn > 10 || total != 1000 {
					t.Errorf("%v: %d torn batches, %d samples; want 1 to 10 and 1000", mode, torn, total)
				}
			}
			delete(fake.fail, 37) // as a network file system might recover
			rows(t, l, 1, 0, specimen{origin: same})
		}
	}
}

// settle waits for goroutines that are on their way out.
func settle(t *testing.T, before int) {
	t.Helper()
	for range 200 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Errorf("%d goroutines after the loop, %d before", runtime.NumGoroutine(), before)
}

func TestLeavingTheLoopEndsEveryReader(t *testing.T) {
	before := runtime.NumGoroutine()
	for _, s := range specimens(t, 101) {
		for _, o := range []Options{{Batch: 4, Shuffle: Window, Window: 2}, {Batch: 4, Shuffle: Exact}} {
			for _, o.Memory = range []int64{leastMemory(s.d, o), 0} {
				l := must[*Loader](t)(NewLoader(s.d, o))
				for range l.Epoch(t.Context(), 0, 0) {
					break
				}
				if got := runtime.NumGoroutine(); got > before {
					settle(t, before)
				}
				rows(t, l, 1, 0, s) // and it can be used again
			}
		}
	}
}

func TestCancellingStopsAtOnce(t *testing.T) {
	before := runtime.NumGoroutine()
	x, y := pairs(1000)
	for _, mode := range []Shuffle{None, Window, Exact} {
		fake := newFake(x, 10)
		fake.gate = make(chan struct{}, 1000)
		for range 12 {
			fake.gate <- struct{}{} // then reads hang
		}
		d := must[Dataset](t)(Of(Named{"x", fake.Array()}, Named{"y", y}))
		o := Options{Batch: 4, Shuffle: mode, Window: 2}
		o.Memory = leastMemory(d, o)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(20*time.Millisecond, func() {
			cancel()
			close(fake.gate) // the read in progress returns, no other may begin
		})
		var last error
		for b, err := range must[*Loader](t)(NewLoader(d, o)).Epoch(ctx, 0, 0) {
			if last = err; err != nil && b != nil {
				t.Errorf("%v: batch %v came with %v", mode, b.Rows, err)
			}
		}
		cancel()
		if !errors.Is(last, context.Canceled) {
			t.Errorf("%v: the loop ended with %v, want %v", mode, last, context.Canceled)
		}
		settle(t, before)
	}
}

func TestALoaderRunsOneEpochAtATime(t *testing.T) {
	x, y := pairs(10)
	l := must[*Loader](t)(NewLoader(must[Dataset](t)(Of(Named{"x", x}, Named{"y", y})), Options{Batch: 2}))
	for range l.Epoch(t.Context(), 0, 0) {
		for _, err := range l.Epoch(t.Context(), 0, 0) {
			if !errors.Is(err, storage.ErrState) {
				t.Errorf("an epoch inside an epoch: %v, want %v", err, storage.ErrState)
			}
		}
	}
	for _, start := range []int{-1, 11} {
		for _, err := range l.Epoch(t.Context(), 0, start) {
			if !errors.Is(err, storage.ErrState) {
				t.Errorf("start %d: %v, want %v", start, err, storage.ErrState)
			}
		}
	}
}

func TestKeptBatchesStay(t *testing.T) {
	x, y := pairs(100)
	l := must[*Loader](t)(NewLoader(must[Dataset](t)(Of(Named{"x", x}, Named{"y", y})), Options{Batch: 7}))
	var kept []*Batch
	var order [][]int
	for epoch := range 2 {
		for b, err := range l.Epoch(t.Context(), epoch, 0) {
			if err != nil {
				t.Fatal(err)
			}
			b.Keep()
			kept, order = append(kept, b), append(order, slices.Clone(b.Rows))
			if len(kept) == 20 {
				break
			}
		}
	}
	rows(t, l, 3, 0, specimen{origin: same})
	for i, b := range kept {
		if !slices.Equal(b.Rows, order[i]) {
			t.Fatalf("batch %d was of rows %v, and later of %v", i, order[i], b.Rows)
		}
		checkPairs(t, b, same)
	}
}

// TestMemoryStaysWithinItsBound counts the bytes of what a loader holds after
// two epochs: batches, decoded blocks and columns kept whole.
func TestMemoryStaysWithinItsBound(t *testing.T) {
	eachLoader(t, func(t *testing.T, s specimen, o Options) {
		least := leastMemory(s.d, o)
		for _, o.Memory = range []int64{least, least + 500, 1 << 20} {
			l := must[*Loader](t)(NewLoader(s.d, o))
			for epoch := range 2 {
				rows(t, l, epoch, 0, s)
			}
			held := int64(l.d.holds())
			batches := slices.Clone(l.batches)
			if l.slots != nil {
				for _, at := range l.slots.all {
					if at != nil {
						batches = append(batches, at.batch)
					}
				}
			}
			for _, b := range batches {
				for _, data := range b.data {
					held += int64(len(data))
				}
			}
			if plan := l.Plan(); held > plan.Memory || plan.Memory > o.Memory {
				t.Fatalf("%d bytes are held, %d planned, %d allowed", held, plan.Memory, o.Memory)
			}
		}
	})
}

// TestAmplificationIsWhatDecodesCost holds the planned figure to the chunks that
// are decoded in ten epochs.
func TestAmplificationIsWhatDecodesCost(t *testing.T) {
	x, y := pairs(2000)
	for _, o := range []Options{{Batch: 50, Shuffle: Exact}, {Batch: 50, Shuffle: Window, Window: 4}, {Batch: 50, Shuffle: None}} {
		for _, share := range []float64{0, 0.5} {
			fake := newFake(x, 10)
			d := must[Dataset](t)(Of(Named{"x", fake.Array()}, Named{"y", y}))
			if share > 0 {
				_, d, _ = Split(d, share, 3)
			}
			o.Memory = leastMemory(d, o)
			l := must[*Loader](t)(NewLoader(d, o))
			for epoch := range 10 {
				for _, err := range l.Epoch(t.Context(), epoch, 0) {
					if err != nil {
						t.Fatal(err)
					}
				}
			}
			decoded := 0
			for _, times := range fake.decoded {
				decoded += 10 * times
			}
			got, want := l.Plan().Amplification, float64(decoded)/float64(10*d.Len())
			if math.Abs(got-want) > 0.03*want {
				t.Errorf("%v of %v: planned %.3f, decoded %.3f samples for each used", o.Shuffle, d.Len(), got, want)
			}
			if o.Shuffle == Exact && len(l.Plan().Notes) == 0 {
				t.Errorf("an exact shuffle that decodes %.1f samples for each one used says nothing", got)
			}
		}
	}
}

// TestWindowsMixSortedFiles loads a file sorted by its ten classes. Over fair
// draws χ² of a batch's classes averages 9; a file's worth of batches, the first
// and the last among them, may not be far from that.
func TestWindowsMixSortedFiles(t *testing.T) {
	const n, classes, batch = 60_000, 10, 128
	x := newFake(storage.From(make([]uint8, n*8), n, 8), 256)
	l := must[*Loader](t)(NewLoader(must[Dataset](t)(Of(Named{"x", x.Array()})), Options{Batch: batch, DropLast: true}))
	for epoch := range 5 {
		sum, batches := 0.0, 0
		for b, err := range l.Epoch(t.Context(), epoch, 0) {
			if err != nil {
				t.Fatal(err)
			}
			counts := map[int]int{}
			for _, row := range b.Rows {
				counts[row*classes/n]++
			}
			got := chiSquare(counts, classes, batch)
			if edge := batches < 10 || batches > n/batch-10; edge && got > 45 {
				t.Errorf("epoch %d, batch %d: χ² of its classes is %.1f: %v", epoch, batches, got, counts)
			}
			sum, batches = sum+got, batches+1
		}
		if mean := sum / float64(batches); mean > 11 {
			t.Errorf("epoch %d: χ² of a batch's classes averages %.1f, want at most 11", epoch, mean)
		}
	}
}
