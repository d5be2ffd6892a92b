package dataset

import (
	"fmt"
	"slices"
	"testing"
)

// batchRows loads what remains of an epoch after start and returns the rows of each batch.
func batchRows(t testing.TB, l *Loader, epoch, start int, s specimen) (all [][]int) {
	t.Helper()
	for b, err := range l.Epoch(t.Context(), epoch, start) {
		if err != nil {
			t.Fatal(err)
		}
		checkSamples(t, b, s)
		all = append(all, slices.Clone(b.Rows))
	}
	return all
}

// together returns the rows of each step of a number of ranks, the first rank's first, after start samples
// of each rank.
func together(t testing.TB, s specimen, o Options, batch, world, epoch, start int) (steps [][]int) {
	t.Helper()
	o.WorldSize, o.BatchSize = world, batch/world
	for o.Rank = range world {
		for k, rows := range batchRows(t, must[*Loader](t)(NewLoader(s.d, o)), epoch, start, s) {
			if k == len(steps) {
				steps = append(steps, nil)
			}
			steps[k] = append(steps[k], rows...)
		}
	}
	return steps
}

func TestStepsDependOnShardsNotOnRanks(t *testing.T) {
	worlds := map[int][]int{1: {1}, 2: {1, 2}, 3: {1, 3}, 4: {1, 2, 4}, 6: {1, 2, 3, 6}}
	for _, n := range []int{3, 40} {
		for _, s := range specimens(t, n) {
			for _, mode := range []Shuffle{None, Window, Exact} {
				for shards, worlds := range worlds {
					o := Options{Shuffle: mode, Window: 3 + shards, Seed: 9, Shards: shards}
					batch := 4 * shards
					t.Run(fmt.Sprintf("%d/%s/%v/%d shards", n, s.name, mode, shards), func(t *testing.T) {
						testShards(t, s, o, batch, worlds)
					})
				}
			}
		}
	}
}

func testShards(t *testing.T, s specimen, o Options, batch int, worlds []int) {
	n := s.d.Len()
	want := together(t, s, o, batch, 1, 1, 0)
	all := slices.Concat(want...)
	if slices.Sort(all); len(all) != n || len(slices.Compact(all)) != n || len(want) != (n+batch-1)/batch {
		t.Fatalf("%d steps of the rows %v; want %d of 0 to %d once each", len(want), all, (n+batch-1)/batch, n-1)
	}
	for k, rows := range want[:max(0, len(want)-1)] {
		if len(rows) != batch {
			t.Fatalf("step %d has %d samples; want %d", k, len(rows), batch)
		}
	}
	equal := func(a, b []int) bool { return slices.Equal(a, b) }
	for _, world := range worlds {
		if got := together(t, s, o, batch, world, 1, 0); !slices.EqualFunc(got, want, equal) {
			t.Fatalf("%d ranks: steps of %v; want %v", world, got, want)
		}
		if n <= batch {
			continue
		}
		if got := together(t, s, o, batch, world, 1, batch/world); !slices.EqualFunc(got, want[1:], equal) {
			t.Fatalf("%d ranks, resumed: steps of %v; want %v", world, got, want[1:])
		}
	}
	full := want[:n/batch]
	o.DropLast = true
	for _, world := range worlds {
		if o.Shards == 1 && n < batch {
			continue // a batch larger than the dataset is full
		}
		if got := together(t, s, o, batch, world, 1, 0); !slices.EqualFunc(got, full, equal) {
			t.Fatalf("%d ranks, without the last: steps of %v; want %v", world, got, full)
		}
	}
	o.DropLast, o.BatchSize = false, batch
	for _, o.Workers = range []int{1, 8} {
		for _, o.Memory = range []int64{leastMemory(s.d, o), 0} {
			l := must[*Loader](t)(NewLoader(s.d, o))
			for epoch := range 2 { // the second may come from the cache
				if got := batchRows(t, l, epoch, 0, s); epoch == 1 && !slices.EqualFunc(got, want, equal) {
					t.Fatalf("%d workers, memory %d: steps of %v; want %v", o.Workers, o.Memory, got, want)
				}
			}
			var ordered [][]int
			for rows := range l.Order(1, 0) {
				ordered = append(ordered, slices.Clone(rows))
			}
			if !slices.EqualFunc(ordered, want, equal) {
				t.Fatalf("Order: steps of %v; want %v", ordered, want)
			}
		}
	}
}

func TestShardsThatBatchesDoNotDivideAreRefused(t *testing.T) {
	x, y := pairs(40)
	d := must[Dataset](t)(FromArrays(input("x", x), target("y", y)))
	for _, o := range []Options{
		{BatchSize: 10, Shards: 4}, {BatchSize: 8, Shards: 3, WorldSize: 2}, {BatchSize: 8, Shards: -1}, {BatchSize: 9, Shards: 4, WorldSize: 2},
	} {
		if _, err := NewLoader(d, o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
	l := must[*Loader](t)(NewLoader(d, Options{BatchSize: 8, Shards: 4}))
	for _, err := range l.Epoch(t.Context(), 0, 3) {
		if err == nil {
			t.Error("an epoch in the middle of a batch: no error")
		}
		break
	}
}
