package dataset

import (
	"context"
	"errors"
	"fmt"
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
	x      func(row, i int) float32 // of a row that origin gives; nil: what pairs made
}

// specimens returns datasets of every make, of about n samples.
func specimens(t testing.TB, n int) []specimen {
	x, y := pairs(n)
	host := must[Dataset](t)(FromArrays(input("x", x), target("y", y)))
	all := []specimen{{name: "host", d: host, origin: same}}
	for _, c := range []struct{ x, y int }{{7, 0}, {7, 14}, {10, 4}, {1, 0}, {n + 5, 0}, {7, n}} {
		fx, fy := newFake(x, max(1, c.x)), newFake(y, max(1, c.y))
		s := specimen{name: fmt.Sprintf("chunks of %d and %d", c.x, c.y), origin: same, fakes: []*fakeSource{fx, fy}}
		if c.y == 0 {
			s.fakes = s.fakes[:1]
			s.d = must[Dataset](t)(FromArrays(input("x", fx.Array()), target("y", y)))
		} else {
			s.d = must[Dataset](t)(FromArrays(input("x", fx.Array()), target("y", fy.Array())))
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
		specimen{name: "train split of chunks", d: train, origin: func(row int) int { return train.(*subset).rows[row] }},
		specimen{name: "val split of chunks", d: val, origin: func(row int) int { return val.(*subset).rows[row] }},
		specimen{name: "chunks, then host, then chunks", d: must[Dataset](t)(Concat(chunked.d, host, all[2].d)), origin: func(row int) int { return row % n }},
		specimen{name: "a chain of chains", d: must[Dataset](t)(Concat(opaque{host}, must[Dataset](t)(Concat(host, chunked.d, opaque{chunked.d})))), origin: func(row int) int { return row % n }},
		specimen{name: "unordered subset", d: must[Dataset](t)(Subset(chunked.d, []int{2, 0, 1, 2})), origin: func(row int) int { return []int{2, 0, 1, 2}[row] }},
		specimen{name: "foreign", d: opaque{chunked.d}, origin: same},
	)
	return append(all, slices.Concat(overlapping(t, n), raggeds(t, n), uncompressed(t, n))...)
}

// overlapping returns datasets of overlapping windows of six numbers, r to r+5,
// beside labels; the last of episodes, of which some rows are filtered out.
func overlapping(t testing.TB, n int) (all []specimen) {
	x := func(row, i int) float32 { return float32(row + i) }
	line := make([]float32, n+5)
	for i := range line {
		line[i] = float32(i)
	}
	_, y := pairs(n)
	of := func(a storage.Array, y storage.Array) Dataset {
		return must[Dataset](t)(FromArrays(input("x", must[storage.Array](t)(SlidingWindows(a, 6))), target("y", y)))
	}
	whole := storage.From(line, n+5)
	all = append(all, specimen{name: "windows", d: of(whole, y), origin: same, x: x})
	for _, chunk := range []int{1, 4, 9, n + 9} {
		fake := newFake(whole, chunk)
		all = append(all, specimen{name: fmt.Sprintf("windows over chunks of %d", chunk), d: of(fake.Array(), y), origin: same, fakes: []*fakeSource{fake}, x: x})
	}
	var episodes []Dataset
	var origins []int
	for first := 0; first < n; first += 13 {
		end := min(first+13, n)
		rows := RowSet{}
		for row := first; row < end+5; row++ {
			if row%11 != 3 {
				rows = append(rows, row-first)
			}
		}
		rows = rows.WindowStarts(6)
		part := newFake(storage.From(line[first:end+5], end-first+5), 5).Array()
		episodes = append(episodes, must[Dataset](t)(Subset(of(part, y.With(samples(y.View, first, end-first))), rows)))
		for _, row := range rows {
			origins = append(origins, first+row)
		}
	}
	d := must[Dataset](t)(Concat(episodes...))
	return append(all, specimen{name: "filtered episodes", d: d, origin: func(row int) int { return origins[row] }, x: x})
}

// raggeds returns datasets of rows of 0 to 8 numbers, cut or padded to 6, and of
// sparse rows of 6.
func raggeds(t testing.TB, n int) (all []specimen) {
	var values []float32
	var columns []int32
	offsets, places := []int32{0}, []int32{0}
	var sparse []float32
	for row := range n {
		for i := range row % 9 {
			values = append(values, float32(6*row+i))
		}
		offsets = append(offsets, int32(len(values)))
		for i := range 6 {
			if (row+i)%3 == 0 {
				sparse, columns = append(sparse, float32(6*row+i)), append(columns, int32(i))
			}
		}
		places = append(places, int32(len(sparse)))
	}
	_, y := pairs(n)
	add := func(name string, x func(row, i int) float32, r Ragged, fakes ...*fakeSource) {
		d := must[Dataset](t)(FromArrays(input("x", must[storage.Array](t)(r.Padded(6))), target("y", y)))
		all = append(all, specimen{name, d, same, fakes, x})
	}
	cut := func(row, i int) float32 {
		if i < row%9 {
			return float32(6*row + i)
		}
		return 0
	}
	dense := func(row, i int) float32 {
		if (row+i)%3 == 0 {
			return float32(6*row + i)
		}
		return 0
	}
	v, s, c := storage.From(values, len(values)), storage.From(sparse, len(sparse)), storage.From(columns, len(columns))
	fake, stored := newFake(v, 10), newFake(s, 7)
	at, places1 := storage.From(offsets, n+1), storage.From(places, n+1)
	add("ragged rows", cut, must[Ragged](t)(Offsets("x", v, at)))
	add("ragged rows in chunks", cut, must[Ragged](t)(Offsets("x", fake.Array(), at)), fake)
	add("sparse rows", dense, must[Ragged](t)(Sparse("x", s, c, places1, 6)))
	add("sparse rows in chunks", dense, must[Ragged](t)(Sparse("x", stored.Array(), c, places1, 0)), stored)
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
		checkSamples(t, b, s)
		all = append(all, b.Rows...)
		if b.Consumed != start+len(all) {
			t.Fatalf("next is %d after %d samples from %d on", b.Consumed, len(all), start)
		}
	}
	return all
}

// eachLoader calls law for every specimen and way of loading.
func eachLoader(t *testing.T, law func(t *testing.T, s specimen, o Options)) {
	for _, n := range []int{1, 2, 40, 101} {
		for _, s := range specimens(t, n) {
			for _, mode := range []Shuffle{Auto, None, Window, Exact} {
				for _, o := range []Options{{BatchSize: 1}, {BatchSize: 8}, {BatchSize: 8, Window: 3}, {BatchSize: 33, Window: 1}, {BatchSize: 1000}} {
					o.Shuffle, o.Seed = mode, 9
					t.Run(fmt.Sprintf("%d/%s/%v/batch %d window %d", n, s.name, mode, o.BatchSize, o.Window), func(t *testing.T) { law(t, s, o) })
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
			l := must[*Loader](t)(NewLoader(s.d, Options{BatchSize: 8, Shuffle: mode, Seed: 1}))
			m := must[*Loader](t)(NewLoader(s.d, Options{BatchSize: 8, Shuffle: mode, Seed: 2}))
			first, second, other := rows(t, l, 0, 0, s), rows(t, l, 1, 0, s), rows(t, m, 0, 0, s)
			if slices.Equal(first, second) || slices.Equal(first, other) || slices.IsSorted(first) {
				t.Errorf("%s, %v: epochs 0 and 1 and another seed give %v, %v, %v", s.name, mode, first, second, other)
			}
		}
	}
}

func TestResumingGivesTheRest(t *testing.T) {
	for _, s := range specimens(t, 40) {
		for _, o := range []Options{{BatchSize: 8, Shuffle: None}, {BatchSize: 8, Shuffle: Window, Window: 3}, {BatchSize: 7, Shuffle: Window}, {BatchSize: 8, Shuffle: Exact}} {
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
				o.Rank, o.WorldSize = rank, world
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
			o := Options{BatchSize: 7, DropLast: true}
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
		{"window", 16, 0, Options{BatchSize: 10, Shuffle: Window, Window: 4}, false},
		{"window, labels alike", 16, 16, Options{BatchSize: 10, Shuffle: Window, Window: 4}, false},
		{"window, labels in half chunks", 16, 8, Options{BatchSize: 10, Shuffle: Window, Window: 4}, false},
		{"window, labels in thirds", 16, 24, Options{BatchSize: 10, Shuffle: Window, Window: 4}, false},
		{"batch wider than the window", 16, 0, Options{BatchSize: 500, Shuffle: Window, Window: 4}, false},
		{"in order", 16, 16, Options{BatchSize: 10, Shuffle: None}, false},
		{"kept", 16, 16, Options{BatchSize: 10, Shuffle: Window}, true},
		{"exact, kept", 16, 16, Options{BatchSize: 10, Shuffle: Exact}, true},
	} {
		fx, fy := newFake(x, test.cx), newFake(y, max(1, test.cy))
		fields := []NamedArray{input("x", fx.Array()), target("y", y)}
		if test.cy > 0 {
			fields[1].Array = fy.Array()
		}
		d := must[Dataset](t)(FromArrays(fields...))
		if !test.kept {
			test.o.Memory = leastMemory(d, test.o)
		}
		l := must[*Loader](t)(NewLoader(d, test.o))
		if l.Plan().CacheAll != test.kept {
			t.Fatalf("%s: kept is %v, want %v", test.name, l.Plan().CacheAll, test.kept)
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
		for _, kind := range []string{"decoded", "decoded once", "uncompressed"} {
			fake := newFake(x, 10)
			a := fake.Array()
			if kind == "uncompressed" {
				u := newUncompressed(x, 10)
				fake, a = u.fakeSource, u.Array()
			}
			fake.fail[37] = errTorn
			d := must[Dataset](t)(FromArrays(input("x", a), target("y", y)))
			o := Options{BatchSize: 16, Shuffle: mode, Window: 4}
			if kind != "decoded once" {
				o.Memory = leastMemory(d, o)
			}
			l := must[*Loader](t)(NewLoader(d, o))
			for range 2 {
				torn, total := 0, 0
				for b, err := range l.Epoch(t.Context(), 0, 0) {
					touches := slices.ContainsFunc(b.Rows, func(row int) bool { return row/10 == 37 })
					if touches != errors.Is(err, errTorn) {
						t.Errorf("%s, %v: batch of rows %v: error %v, want one only if a row is in 370 to 379", kind, mode, b.Rows, err)
					}
					if total += len(b.Rows); err == nil {
						checkPairs(t, b, same)
					} else {
						torn++
					}
				}
				if torn == 0 || torn > 10 || total != 1000 {
					t.Errorf("%s, %v: %d torn batches, %d samples; want 1 to 10 and 1000", kind, mode, torn, total)
				}
			}
			delete(fake.fail, 37) // as a network file system might recover
			rows(t, l, 1, 0, specimen{origin: same})
		}
	}
}

// TestDamagedChunksFailOnlyTheirBatches breaks a chunk under every dataset there is:
// batches with a sample that cannot be read alone fail, and none that has no
// sample near one.
func TestDamagedChunksFailOnlyTheirBatches(t *testing.T) {
	for which, s := range specimens(t, 101) {
		for _, o := range []Options{{BatchSize: 8, Shuffle: None}, {BatchSize: 8, Shuffle: Window, Window: 3}, {BatchSize: 8, Shuffle: Exact}} {
			if len(s.fakes) == 0 || s.d.Len() < 50 {
				continue
			}
			s := specimens(t, 101)[which] // whole again
			s.fakes[0].fail[2] = errTorn
			o.Memory = leastMemory(s.d, o)
			l := must[*Loader](t)(NewLoader(s.d, o))
			bad := unreadable(t, s.d)
			near := l.Plan().BlockSize + 12 // that many are decoded together at most
			torn, total := 0, 0
			for b, err := range l.Epoch(t.Context(), 0, 0) {
				total += len(b.Rows)
				holds := slices.ContainsFunc(b.Rows, func(row int) bool { return bad[row] })
				touches := slices.ContainsFunc(b.Rows, func(row int) bool {
					return slices.Contains(bad[max(0, row-near):min(len(bad), row+near)], true)
				})
				if err == nil {
					checkSamples(t, b, s)
				} else {
					torn++
				}
				if holds && !errors.Is(err, errTorn) || err != nil && !touches {
					t.Errorf("%s, %v: batch of rows %v: error %v", s.name, o.Shuffle, b.Rows, err)
				}
			}
			if (torn > 0) != slices.Contains(bad, true) || total != s.d.Len() {
				t.Errorf("%s, %v: %d torn batches, %d samples of %d", s.name, o.Shuffle, torn, total, s.d.Len())
			}
		}
	}
}

// unreadable tells which samples cannot be read alone.
func unreadable(t *testing.T, d Dataset) []bool {
	bad := make([]bool, d.Len())
	room := must[*Batch](t)(NewBatch(d, 1))
	for row := range bad {
		bad[row] = d.Read(*room, []int{row}) != nil
	}
	return bad
}

// awaitGoroutines waits until no more goroutines run than before.
func awaitGoroutines(t *testing.T, before int) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
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
		for _, o := range []Options{{BatchSize: 4, Shuffle: Window, Window: 2}, {BatchSize: 4, Shuffle: Exact}} {
			for _, o.Memory = range []int64{leastMemory(s.d, o), 0} {
				l := must[*Loader](t)(NewLoader(s.d, o))
				for range l.Epoch(t.Context(), 0, 0) {
					break
				}
				if got := runtime.NumGoroutine(); got > before {
					awaitGoroutines(t, before)
				}
				rows(t, l, 1, 0, s) // and it can be used again
			}
		}
	}
}

func TestCancellingStopsAtOnce(t *testing.T) {
	before := runtime.NumGoroutine()
	for which, s := range specimens(t, 101) {
		for _, mode := range []Shuffle{None, Window, Exact} {
			if len(s.fakes) == 0 || s.fakes[0].rows > 100 {
				continue
			}
			s := specimens(t, 101)[which] // without a gate
			o := Options{BatchSize: 4, Shuffle: mode, Window: 2}
			o.Memory = leastMemory(s.d, o)
			l := must[*Loader](t)(NewLoader(s.d, o))
			gate := make(chan struct{}, 1000)
			for range min(5, l.Plan().Blocks/2) {
				gate <- struct{}{} // then reads hang
			}
			s.fakes[0].gate = gate
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(5*time.Millisecond, func() {
				cancel()
				close(gate) // the reads in progress return, no other may begin
			})
			var last error
			for b, err := range l.Epoch(ctx, 0, 0) {
				if last = err; err != nil && b != nil {
					t.Errorf("%s, %v: batch %v came with %v", s.name, mode, b.Rows, err)
				}
			}
			cancel()
			if !errors.Is(last, context.Canceled) {
				t.Errorf("%s, %v: the loop ended with %v, want %v", s.name, mode, last, context.Canceled)
			}
			awaitGoroutines(t, before)
		}
	}
}

func TestALoaderRunsOneEpochAtATime(t *testing.T) {
	x, y := pairs(10)
	l := must[*Loader](t)(NewLoader(must[Dataset](t)(FromArrays(input("x", x), target("y", y))), Options{BatchSize: 2}))
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

func TestRetainedBatchesAreValid(t *testing.T) {
	x, y := pairs(100)
	l := must[*Loader](t)(NewLoader(must[Dataset](t)(FromArrays(input("x", x), target("y", y))), Options{BatchSize: 7}))
	var kept []*Batch
	var order [][]int
	for epoch := range 2 {
		for b, err := range l.Epoch(t.Context(), epoch, 0) {
			if err != nil {
				t.Fatal(err)
			}
			b.Retain()
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

// kept counts the bytes that d keeps besides batches and blocks.
func kept(d reader) (total int) {
	switch d := d.(type) {
	case *subset:
		return kept(d.reader) + 8*len(d.rows)
	case *chain:
		for _, part := range d.parts {
			total += kept(part)
		}
	case *table:
		for _, c := range d.columns {
			if c.cached != nil {
				held, _ := c.cached()
				total += held.Data.Len()
			}
			if rows, ok := c.data.Data.(*padded); ok {
				total += 8 * (rows.Rows + 1)
			}
		}
	}
	return total
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
			held := int64(kept(l.d))
			batches := slices.Clone(l.batches)
			if l.cache != nil {
				for _, at := range l.cache.entries {
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
	for _, o := range []Options{{BatchSize: 50, Shuffle: Exact}, {BatchSize: 50, Shuffle: Window, Window: 4}, {BatchSize: 50, Shuffle: None}} {
		for _, test := range []struct {
			share float64
			steps int
		}{{0, 1}, {0.5, 1}, {0, 6}} {
			fake := newFake(x, 10)
			labels := y.With(samples(y.View, 0, 2000-test.steps+1))
			d := must[Dataset](t)(FromArrays(input("x", must[storage.Array](t)(SlidingWindows(fake.Array(), test.steps))), target("y", labels)))
			if test.share > 0 {
				_, d, _ = Split(d, test.share, 3)
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
			most := 1.05 // labels, which are a twentieth of the bytes, are not decoded
			if o.Shuffle == Exact && test.steps > 1 {
				most = 1.3 // not all samples of a block take all of its chunks
			}
			if got < 0.95*want || got > most*want {
				t.Errorf("%v of %v, %d steps: planned %.3f, decoded %.3f samples for each used", o.Shuffle, d.Len(), test.steps, got, want)
			}
			if o.Shuffle == Exact && len(l.Plan().Notes) == 0 {
				t.Errorf("an exact shuffle that decodes %.1f samples for each one used says nothing", got)
			}
			o.OrderOnly = true
			if p := must[*Loader](t)(NewLoader(d, o)).Plan(); len(p.Notes) > 0 || p.Amplification != 0 {
				t.Errorf("what reads nothing says %q, and decodes %v samples for each", p.Notes, p.Amplification)
			}
			o.OrderOnly = false
		}
	}
}

// TestQualityOfOrders is 1 for random orders, near 0 without a shuffle, and grows with the blocks that are open.
func TestQualityOfOrders(t *testing.T) {
	x := newFake(storage.From(make([]uint8, 20_000), 20_000, 1), 500)
	quality := func(o Options) float64 {
		o.BatchSize = 64
		return must[*Loader](t)(NewLoader(must[Dataset](t)(FromArrays(input("x", x.Array()))), o)).Quality()
	}
	for _, test := range []struct {
		o           Options
		least, most float64
	}{{Options{Shuffle: Exact}, 0.99, 1.01}, {Options{Shuffle: None}, 0, 0.05}, {Options{Shuffle: Window, Window: 1}, 0, 0.1}, {Options{Shuffle: Window, Window: 30}, 0.9, 1.01}} {
		if q := quality(test.o); q < test.least || q > test.most {
			t.Errorf("%v of %d blocks: quality %.3f, want %v to %v", test.o.Shuffle, test.o.Window, q, test.least, test.most)
		}
	}
	if few, many := quality(Options{Shuffle: Window, Window: 3}), quality(Options{Shuffle: Window, Window: 12}); few >= many {
		t.Errorf("quality %.3f of 3 blocks, %.3f of 12", few, many)
	}
}

// TestWindowsMixSortedFiles loads a file sorted by its ten classes. Over fair
// draws χ² of a batch's classes averages 9; a file's worth of batches, the first
// and the last among them, may not be far from that.
func TestWindowsMixSortedFiles(t *testing.T) {
	const n, classes, batch = 60_000, 10, 128
	x := newFake(storage.From(make([]uint8, n*8), n, 8), 256)
	l := must[*Loader](t)(NewLoader(must[Dataset](t)(FromArrays(input("x", x.Array()))), Options{BatchSize: batch, DropLast: true}))
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
