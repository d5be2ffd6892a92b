package storage

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
)

// newArena returns an arena of small regions in the memory of Go, which sanitizers see.
func newArena() *arena {
	return &arena{region: 64 * partUnit, reserve: func(size int) []byte { return make([]byte, size) }}
}

// mark writes n to both ends of b, and marked reports whether it is there.
func mark(b []byte, n uint64) {
	binary.LittleEndian.PutUint64(b, n)
	binary.LittleEndian.PutUint64(b[len(b)-8:], n)
}

func marked(b []byte, n uint64) bool {
	return binary.LittleEndian.Uint64(b) == n && binary.LittleEndian.Uint64(b[len(b)-8:]) == n
}

// TestArenaMatchesAModel compares an arena with a table of its pages. Parts never overlap, each is cut from
// the shortest run of free pages that is long enough, and there is a new region only if there is no such run.
func TestArenaMatchesAModel(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	a := newArena()
	type lent struct {
		part
		bytes []byte
		mark  uint64
	}
	var taken []lent
	var pages [][]bool // by region: whether a page is taken
	shortest := func(n int) (best int) {
		for _, region := range pages {
			run := 0
			for i := 0; i <= len(region); i++ {
				if i < len(region) && !region[i] {
					run++
					continue
				}
				if run >= n && (best == 0 || run < best) {
					best = run
				}
				run = 0
			}
		}
		return best
	}
	set := func(p part, to bool) {
		for i := p.from / partUnit; i < p.to/partUnit; i++ {
			if pages[p.region][i] == to {
				t.Fatalf("page %d of region %d: taken is %v already", i, p.region, to)
			}
			pages[p.region][i] = to
		}
	}
	run := func(p part) int { // of free pages around p
		from, to := p.from/partUnit, p.to/partUnit
		for region := pages[p.region]; from > 0 && !region[from-1]; from-- {
		}
		for region := pages[p.region]; to < len(region) && !region[to]; to++ {
		}
		return to - from
	}
	grew := 0
	for step := range uint64(20_000) {
		if i := r.IntN(40); i < len(taken) {
			l := taken[i]
			if !marked(l.bytes, l.mark) {
				t.Fatalf("step %d: %v was written to by others", step, l.part)
			}
			a.give(l.part)
			set(l.part, false)
			taken = slices.Delete(taken, i, i+1)
			continue
		}
		size := 1 + r.IntN(30*partUnit)
		if r.IntN(200) == 0 {
			size += a.region
		}
		n := (size + partUnit - 1) / partUnit
		want := shortest(n)
		p, b, ok := a.take(size)
		if !ok || len(b) < size || len(b) != p.len() || cap(b) != len(b) {
			t.Fatalf("step %d: %d bytes: %v, %d bytes, %v", step, size, p, len(b), ok)
		}
		if p.region == len(pages) {
			if grew++; want != 0 {
				t.Fatalf("step %d: a new region for %d pages although %d are free", step, n, want)
			}
			pages = append(pages, make([]bool, max(n, a.region/partUnit)))
		} else if got := run(p); got != want {
			t.Fatalf("step %d: %d pages were taken of %d free ones; the shortest run is %d", step, n, got, want)
		}
		set(p, true)
		mark(b, step)
		taken = append(taken, lent{p, b, step})
	}
	for _, l := range taken {
		a.give(l.part)
	}
	if len(a.free) != len(a.regions) || grew < 2 {
		t.Errorf("all is free, in %d parts of %d regions; want one each", len(a.free), len(a.regions))
	}
}

// TestArenaRepeats holds that equal steps take equal parts.
func TestArenaRepeats(t *testing.T) {
	a := newArena()
	step := func() (taken []part) {
		r := rand.New(rand.NewPCG(3, 4))
		var live []part
		for range 100 {
			if i := r.IntN(12); i < len(live) {
				a.give(live[i])
				live = slices.Delete(live, i, i+1)
				continue
			}
			p, _, _ := a.take(1 + r.IntN(20*partUnit))
			live, taken = append(live, p), append(taken, p)
		}
		for _, p := range live {
			a.give(p)
		}
		return taken
	}
	step() // grows
	if first, second := step(), step(); !slices.Equal(first, second) {
		t.Errorf("a step took %v, and then %v", first, second)
	}
}

func TestArenaOfManyGoroutines(t *testing.T) {
	a := newArena()
	var wait sync.WaitGroup
	for id := range uint64(8) {
		wait.Go(func() {
			r := rand.New(rand.NewPCG(5, id))
			for range 500 {
				p, b, ok := a.take(1 + r.IntN(40*partUnit))
				if !ok {
					t.Error("no memory")
					return
				}
				mark(b, id)
				if !marked(b, id) {
					t.Errorf("%v was written to by others", p)
				}
				a.give(p)
			}
		})
	}
	wait.Wait()
}

func TestArenaRefusesWhatIsFree(t *testing.T) {
	a := newArena()
	p, _, _ := a.take(partUnit)
	q, _, _ := a.take(partUnit)
	a.give(p)
	a.give(q)
	for _, again := range []part{p, q} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%v was given back twice", again)
				}
			}()
			a.give(again)
		}()
	}
}

// TestPoolWithoutAddressSpace has memory from Go instead.
func TestPoolWithoutAddressSpace(t *testing.T) {
	defer func(a *arena) { hostMemory = a }(hostMemory)
	hostMemory = &arena{region: 1 << 30, reserve: func(int) []byte { return nil }}
	pool := NewPool(CPU)
	s, err := pool.Get(1 << 20)
	if err != nil || s.Len() < 1<<20 {
		t.Fatalf("%v, %v", s, err)
	}
	pool.Put(s)
}

// TestDroppedMemoryIsReturned to the system: its pages are zero when they are next used.
func TestDroppedMemoryIsReturned(t *testing.T) {
	if reserve(partUnit) == nil {
		t.Skip("pools have no arena in this build")
	}
	defer func(a *arena) { hostMemory = a }(hostMemory)
	hostMemory = &arena{region: 1 << 30, reserve: reserve}
	pool := NewPool(CPU)
	get := func() Storage {
		s, err := pool.Get(8 << 20)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	live, idle := get(), get()
	mark(live.(Host).Bytes(), 1)
	mark(idle.(Host).Bytes(), 2)
	pool.Put(idle)
	if !pool.Drop() {
		t.Error("Drop says that nothing was free")
	}
	if idle = get(); !marked(idle.(Host).Bytes(), 0) {
		t.Error("memory that was dropped still has its content")
	}
	if !marked(live.(Host).Bytes(), 1) {
		t.Error("memory in use was dropped")
	}
}
