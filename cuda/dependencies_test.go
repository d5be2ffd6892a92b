package cuda_test

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/h5dnn/h5dnn/cuda"
	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// TestCapturedCallsKeepDataDependencies: random calls on a few arrays, and copies between
// them, give the results of running them in order, although a graph may run independent
// calls in any order.
func TestCapturedCallsKeepDataDependencies(t *testing.T) {
	eachSchedule(t, func(t *testing.T, gpus [2]*cuda.Device) {
		d := gpus[0]
		for seed := range uint64(10) {
			recorded, eager := newMaze(t, d, seed), newMaze(t, d, seed)
			if err := errors.Join(recorded.walk(d), eager.walk(d)); err != nil { // takes scratch memory
				t.Fatal(err)
			}
			replay, err := d.Capture(kernels.ByData, func() error { return recorded.walk(d) })
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if err := errors.Join(replay.Replay(), eager.walk(d)); err != nil {
					t.Fatal(err)
				}
			}
			for i := range recorded.arrays {
				if got, want := first(t, recorded.arrays[i]), first(t, eager.arrays[i]); got != want {
					t.Errorf("seed %d, array %d: got %v, want %v", seed, i, got, want)
				}
			}
			if err := replay.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

// A maze is some arrays, and calls that read and write them.
type maze struct {
	arrays []storage.Array
	wide   [2]storage.Array // sums over them need scratch memory
	pinned *cuda.Pinned
	seed   uint64
}

func newMaze(t *testing.T, d *cuda.Device, seed uint64) maze {
	m := maze{wide: [2]storage.Array{ones(t, d, 3000), ones(t, d, 4000)}, seed: seed}
	for range 5 {
		m.arrays = append(m.arrays, ones(t, d, 1))
	}
	var err error
	if m.pinned, err = d.Pin(4); err != nil {
		t.Fatal(err)
	}
	dtype.Cast[float32](m.pinned.Bytes())[0] = 3
	return m
}

// walk issues the calls, the same each time.
func (m maze) walk(d *cuda.Device) error {
	r := rand.New(rand.NewPCG(m.seed, 0))
	any := func() storage.Array { return m.arrays[r.IntN(len(m.arrays))] }
	for range 30 {
		out, in := []storage.Array{any()}, []storage.Array{any(), any()}
		var err error
		switch r.IntN(8) {
		case 0:
			err = d.Run(kernels.Sum, &kernels.Call{Out: out, In: []storage.Array{m.wide[r.IntN(2)]}})
		case 1:
			err = d.Stream().Upload(out[0].Data, 0, m.pinned, 4)
		case 2, 3:
			err = d.Run(kernels.ScaleOffset, &kernels.Call{Out: out, In: in[:1], Options: kernels.ScaleOffsetOptions{Scale: 0.5, Offset: 1}})
		default:
			err = d.Run(kernels.Sub, &kernels.Call{Out: out, In: in})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// TestIndependentCapturedCallsAreConcurrent: two chains of calls that share only what they
// read are as long as one.
func TestIndependentCapturedCallsAreConcurrent(t *testing.T) {
	d := cudatest.Devices(t, cudatest.Eager)[0]
	x, y, one := ones(t, d, 1), ones(t, d, 1), ones(t, d, 1)
	depth := func(work func() error) (calls, deep int) {
		graph, err := d.Stream().Capture(kernels.ByData, work)
		if err != nil {
			t.Fatal(err)
		}
		calls, deep = graph.Depth()
		if err := graph.Close(); err != nil {
			t.Error(err)
		}
		return calls, deep
	}
	beside := func() error { return errors.Join(add(d, x, one), add(d, y, one), add(d, x, one), add(d, y, one)) }
	if calls, deep := depth(beside); calls != 4 || deep != 2 {
		t.Errorf("%d calls, %d of them one after another; want 4 and 2", calls, deep)
	}
	behind := func() error { return errors.Join(add(d, x, one), add(d, y, x), add(d, x, one)) }
	if calls, deep := depth(behind); calls != 3 || deep != 3 {
		t.Errorf("%d calls, %d of them one after another; want 3 and 3", calls, deep)
	}
	pinned, err := d.Pin(4)
	if err != nil {
		t.Fatal(err)
	}
	around := func() error {
		return errors.Join(add(d, x, one), d.Stream().Upload(one.Data, 0, pinned, 4), add(d, y, y))
	}
	if calls, deep := depth(around); calls != 3 || deep != 3 {
		t.Errorf("%d calls, %d of them one after another; want a copy between 2 of them", calls, deep)
	}
}

// TestProductsShareTheWorkspace: those by libraries that need none may
// be done beside each other.
func TestProductsShareTheWorkspace(t *testing.T) {
	cudatest.FakeOnly(t)
	d := cudatest.Devices(t, cudatest.Eager)[0]
	cudatest.UseLibraries(t, d)
	for columns, want := range map[int]int{2: 1, 64: 2} { // the library of tests needs it for many
		square := func() storage.Array {
			a := ones(t, d, columns*columns)
			a.View = views.Of(columns, columns)
			return a
		}
		x, y, z := square(), square(), square()
		work := func() error {
			return errors.Join(
				d.Run(kernels.MatMul, &kernels.Call{Out: []storage.Array{y}, In: []storage.Array{x, x}}),
				d.Run(kernels.MatMul, &kernels.Call{Out: []storage.Array{z}, In: []storage.Array{x, x}}))
		}
		if err := work(); err != nil { // chooses
			t.Fatal(err)
		}
		graph, err := d.Stream().Capture(kernels.ByData, work)
		if err != nil {
			t.Fatal(err)
		}
		if _, deep := graph.Depth(); deep != want {
			t.Errorf("two products of %d columns: %d one after another; want %d", columns, deep, want)
		}
		if err := graph.Close(); err != nil {
			t.Error(err)
		}
	}
}
