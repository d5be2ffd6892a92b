package cuda_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/cuda"
	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
)

// ones returns n times 1 on d.
func ones(t *testing.T, d storage.Device, n int) storage.Array {
	t.Helper()
	floats := make([]float32, n)
	for i := range floats {
		floats[i] = 1
	}
	a, err := storage.From(floats, n).To(d)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// add is y = y + x.
func add(d *cuda.Device, y, x storage.Array) error {
	return d.Run(kernels.Add, &kernels.Call{Out: []storage.Array{y}, In: []storage.Array{y, x}})
}

// first returns the first element of a, waiting for it.
func first(t *testing.T, a storage.Array) float32 {
	t.Helper()
	all, err := storage.Read[float32](a)
	if err != nil {
		t.Fatal(err)
	}
	return all[0]
}

func TestGraphsReplay(t *testing.T) {
	eachSchedule(t, func(t *testing.T, gpus [2]*cuda.Device) {
		d := gpus[0]
		x, y := ones(t, d, 1000), ones(t, d, 1000)
		replay, err := d.Capture(kernels.ByData, func() error { return errors.Join(add(d, y, x), add(d, x, x)) })
		if err != nil {
			t.Fatal(err)
		}
		if got := first(t, y); got != 1 {
			t.Errorf("recording does the work: %v", got)
		}
		for range 3 {
			if err := replay.Replay(); err != nil {
				t.Fatal(err)
			}
		}
		if err := add(d, y, y); err != nil {
			t.Fatal(err)
		}
		if got := first(t, y); got != 2*(1+1+2+4) {
			t.Errorf("got %v, want %v", got, 2*(1+1+2+4))
		}
		for range 2 {
			if err := replay.Close(); err != nil {
				t.Error(err)
			}
		}
		if err := replay.Replay(); !errors.Is(err, storage.ErrState) {
			t.Errorf("a closed graph runs: %v", err)
		}
	})
}

// TestReplaysCountAsWrites to the outputs of the graph's kernels, and to nothing else.
func TestReplaysCountAsWrites(t *testing.T) {
	d := cudatest.Devices(t, cudatest.Deferred)[0]
	x, y, z := ones(t, d, 10), ones(t, d, 10), ones(t, d, 10)
	graph, err := d.Capture(kernels.ByData, func() error { return errors.Join(add(d, y, x), add(d, z, x), add(d, y, z)) })
	if err != nil {
		t.Fatal(err)
	}
	defer graph.Close()
	version := func(a storage.Array) uint64 { return a.Data.(storage.Versioned).Version() }
	for range 2 {
		before := [...]uint64{version(x), version(y), version(z)}
		if err := graph.Replay(); err != nil {
			t.Fatal(err)
		}
		if version(x) != before[0] || version(y) == before[1] || version(z) == before[2] {
			t.Errorf("versions of x, y and z are %d, %d and %d, from %d", version(x), version(y), version(z), before)
		}
	}
}

// TestGraphsReadPinnedMemoryAtReplay, not during capture.
func TestGraphsReadPinnedMemoryAtReplay(t *testing.T) {
	eachSchedule(t, func(t *testing.T, gpus [2]*cuda.Device) {
		d := gpus[0]
		x, y := ones(t, d, 1), ones(t, d, 1)
		from, err := d.Pin(4)
		if err != nil {
			t.Fatal(err)
		}
		to, err := d.Pin(4)
		if err != nil {
			t.Fatal(err)
		}
		s := d.Stream()
		graph, err := s.Capture(kernels.ByData, func() error {
			return errors.Join(s.Upload(x.Data, 0, from, 4), add(d, y, x), s.Download(to, y.Data, 0, 4))
		})
		if err != nil {
			t.Fatal(err)
		}
		want := float32(1)
		for i := range 4 {
			dtype.Cast[float32](from.Bytes())[0] = float32(10 * i)
			want += float32(10 * i)
			if err := errors.Join(graph.Replay(), s.Sync()); err != nil {
				t.Fatal(err)
			}
			if got := dtype.Cast[float32](to.Bytes())[0]; got != want {
				t.Errorf("run %d: got %v, want %v", i, got, want)
			}
		}
		if err := graph.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A fork is a graph of two streams: one uploads 7 to x while the other adds 1s to y,
// then x is added to y. It says who waits: the upload for the graph to begin, the
// sum for the upload, or else the graph's end for it.
type fork struct{ upload, sum, end bool }

// record captures the fork, or returns the error.
func (f fork) record(t *testing.T, d *cuda.Device, x, y, one storage.Array) (*cuda.Graph, error) {
	t.Helper()
	side, err := d.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := side.Close(); err != nil {
			t.Error(err)
		}
	})
	begun, arrived := freshEvent(t, d), freshEvent(t, d)
	seven, err := d.Pin(4)
	if err != nil {
		t.Fatal(err)
	}
	dtype.Cast[float32](seven.Bytes())[0] = 7
	main := d.Stream()
	steps := []struct {
		taken bool
		do    func() error
	}{
		{f.upload, func() error { return errors.Join(begun.Record(main), side.WaitEvent(begun)) }},
		{true, func() error {
			return errors.Join(side.Upload(x.Data, 0, seven, 4), arrived.Record(side), add(d, y, one))
		}},
		{f.sum, func() error { return main.WaitEvent(arrived) }},
		{true, func() error { return add(d, y, x) }},
		{f.end, func() error { return main.WaitEvent(arrived) }},
	}
	return main.Capture(kernels.ByData, func() error {
		for _, s := range steps {
			if s.taken {
				if err := s.do(); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func TestGraphsForkAndJoin(t *testing.T) {
	eachSchedule(t, func(t *testing.T, gpus [2]*cuda.Device) {
		d := gpus[0]
		x, y, one := ones(t, d, 1), ones(t, d, 1), ones(t, d, 1)
		graph, err := fork{upload: true, sum: true}.record(t, d, x, y, one)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(graph.Replay(), graph.Replay(), graph.Close()); err != nil {
			t.Fatal(err)
		}
		if got := first(t, y); got != 1+2*(1+7) {
			t.Errorf("got %v, want %v", got, 1+2*(1+7))
		}
	})
}

// TestMissingWaitsInGraphsAreDetected: the sum does not wait for the upload, although
// the graph's end does.
func TestMissingWaitsInGraphsAreDetected(t *testing.T) {
	cudatest.FakeOnly(t)
	d := cudatest.Devices(t, cudatest.Deferred)[0]
	x, y, one := ones(t, d, 1), ones(t, d, 1), ones(t, d, 1)
	graph, err := fork{upload: true, end: true}.record(t, d, x, y, one)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(graph.Replay(), graph.Close()); err != nil {
		t.Fatal(err)
	}
	if got := first(t, y); got == 1+1+7 {
		t.Errorf("the sum is %v, as if it had waited", got)
	}
}

// TestInvalidCapturesAreErrors, which name the call, and leave the device usable.
func TestInvalidCapturesAreErrors(t *testing.T) {
	eachSchedule(t, func(t *testing.T, gpus [2]*cuda.Device) {
		d := gpus[0]
		x, y, one := ones(t, d, 64), ones(t, d, 64), ones(t, d, 64)
		other, err := d.NewStream()
		if err != nil {
			t.Fatal(err)
		}
		event, err := d.NewEvent()
		if err != nil {
			t.Fatal(err)
		}
		pinned, err := d.Pin(8)
		if err != nil {
			t.Fatal(err)
		}
		record := func(f func() error) error {
			_, err := d.Capture(kernels.ByData, f)
			return err
		}
		for want, err := range map[string]error{
			"cuda:0: allocate 8 bytes: not allowed during graph capture": record(func() error { _, err := d.Alloc(8); return err }),
			"cuda:0: pin 8 bytes":              record(func() error { _, err := d.Pin(8); return err }),
			"cuda:0: wait: not allowed during": record(d.Sync),
			"upload 256 bytes that are not":    record(func() error { _ = d.Upload(x.Data, 0, make([]byte, 256)); return nil }),
			"download 256 bytes: not allowed":  record(func() error { return d.Download(make([]byte, 256), x.Data, 0) }),
			"another capture is in progress":   record(func() error { return record(func() error { return nil }) }),
			"is capturing":                     record(d.Stream().Sync),
			"end: operation failed due to a":   record(func() error { _ = d.Stream().Sync(); return nil }),
			"last recorded in a capturing":     record(func() error { return errors.Join(event.Record(d.Stream()), event.Wait()) }),
			"another stream":                   record(func() error { return errors.Join(d.Stream().WaitEvent(freshEvent(t, d))) }),
			"upload: operation not permitted":  record(func() error { return other.Upload(x.Data, 0, pinned, 8) }),
			"unjoined work":                    second(fork{upload: true}.record(t, d, x, y, one)),
			"capture: enough":                  record(func() error { return errors.New("enough") }),
			"no entry frobnicate":              record(func() error { return d.Launch("frobnicate", [3]uint32{1, 1, 1}, 32, make([]byte, 8)) }),
		} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v; want one about %q", err, want)
			}
		}
		panicked := func() (v any) {
			defer func() { v = recover() }()
			return record(func() error { panic("enough") })
		}()
		if panicked != "enough" {
			t.Errorf("a panic becomes %v", panicked)
		}
		if got := first(t, x); got != 1 {
			t.Errorf("work that could not be recorded was done: %v", got)
		}
		if err := errors.Join(other.Close(), event.Close()); err != nil {
			t.Error(err)
		}
	})
}

func second[T any](_ T, err error) error { return err }

// freshEvent returns an event that has not been recorded.
func freshEvent(t *testing.T, d *cuda.Device) *cuda.Event {
	e, err := d.NewEvent()
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestGraphsRetainWhatTheyUse from the collector, until they are closed.
func TestGraphsRetainWhatTheyUse(t *testing.T) {
	d := cudatest.Devices(t, cudatest.Deferred)[0]
	y := ones(t, d, 4)
	x := ones(t, d, 4)
	graph, err := d.Capture(kernels.ByData, func() error { return add(d, y, x) })
	if err != nil {
		t.Fatal(err)
	}
	x = storage.Array{}
	before := collected(t, d)
	if err := graph.Replay(); err != nil {
		t.Fatal(err)
	}
	if got := first(t, y); got != 2 {
		t.Errorf("got %v, want 2", got)
	}
	if err := graph.Close(); err != nil {
		t.Fatal(err)
	}
	if after := collected(t, d); after != before-1 {
		t.Errorf("%d storages are held before it is closed, %d after; want one less", before, after)
	}
	runtime.KeepAlive(y.Data)
}

// TestGraphsRetainWhatTheyCopy holds the same for copies, pinned memory included.
func TestGraphsRetainWhatTheyCopy(t *testing.T) {
	if cudatest.RealGPU() {
		t.Skip("pinned memory is not counted there")
	}
	d := cudatest.Devices(t, cudatest.Deferred)[0]
	y := ones(t, d, 4)
	for name, c := range map[string]struct {
		work             func() func() error
		storages, pinned int
	}{
		"up": {func() func() error {
			x, p := uploaded(t, d)
			return func() error { return d.Stream().Upload(x.Data, 0, p, 16) }
		}, 1, 1},
		"down": {func() func() error {
			x, p := uploaded(t, d)
			return func() error { return d.Stream().Download(p, x.Data, 0, 16) }
		}, 1, 1},
		"from": {func() func() error { x := ones(t, d, 4); return func() error { return x.CopyTo(y) } }, 1, 0},
		"to":   {func() func() error { x := ones(t, d, 4); return func() error { return y.CopyTo(x) } }, 1, 0},
	} {
		graph, err := d.Capture(kernels.ByData, c.work())
		if err != nil {
			t.Fatal(err)
		}
		storages, pinned := collected(t, d), cudatest.LiveObjects()["pinned"]
		if err := errors.Join(graph.Replay(), graph.Close(), d.Sync()); err != nil {
			t.Fatal(err)
		}
		storages, pinned = storages-collected(t, d), pinned-cudatest.LiveObjects()["pinned"]
		if storages != c.storages || pinned != c.pinned {
			t.Errorf("%s: closing it gives back %d storages and %d pieces of pinned memory; want %d and %d", name, storages, pinned, c.storages, c.pinned)
		}
	}
}

// uploaded returns memory on d and pinned memory as large.
func uploaded(t *testing.T, d *cuda.Device) (storage.Array, *cuda.Pinned) {
	p, err := d.Pin(16)
	if err != nil {
		t.Fatal(err)
	}
	return ones(t, d, 4), p
}

// TestClosingAGraphWaitsForItsWork on a stream beside the one that frees their memory.
func TestClosingAGraphWaitsForItsWork(t *testing.T) {
	defer cudatest.Reset()
	d := cudatest.Devices(t, cudatest.Deferred)[0]
	side, err := d.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	y, x := ones(t, d, 4), ones(t, d, 4)
	graph, err := side.Capture(kernels.ByData, func() error {
		return side.Run(kernels.Add, &kernels.Call{Out: []storage.Array{y}, In: []storage.Array{y, x}})
	})
	if err := errors.Join(err, d.Sync(), graph.Replay(), graph.Close()); err != nil {
		t.Fatal(err)
	}
	x = storage.Array{}
	collected(t, d)
	if err := errors.Join(d.Sync(), side.Sync(), side.Close()); err != nil {
		t.Fatal(err)
	}
	if got := first(t, y); got != 2 {
		t.Errorf("got %v, want 2", got)
	}
}

// collected returns how many storages d holds that something can reach.
func collected(t *testing.T, d *cuda.Device) int {
	t.Helper()
	if err := d.Collect(); err != nil {
		t.Fatal(err)
	}
	_, count := d.Allocated()
	return count
}

// TestGraphsUsingFreedMemoryFail checks that the fake driver is as strict as a GPU: a graph
// that uses memory without retaining it fails once that memory is freed.
func TestGraphsUsingFreedMemoryFail(t *testing.T) {
	cudatest.FakeOnly(t)
	eachSchedule(t, func(t *testing.T, gpus [2]*cuda.Device) {
		defer cudatest.Reset()
		d := gpus[0]
		x := ones(t, d, 4)
		args := negArgs(d, d.Address(x.Data))
		graph, err := d.Capture(kernels.ByData, func() error { return d.Launch("neg_f32", [3]uint32{1, 1, 1}, 32, args) })
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(graph.Replay(), d.Sync()); err != nil {
			t.Fatal(err)
		}
		if got := first(t, x); got != -1 {
			t.Errorf("got %v, want -1", got)
		}
		x = storage.Array{}
		collected(t, d)
		if err := errors.Join(graph.Replay(), d.Sync()); err == nil || !strings.Contains(err.Error(), "in memory that was freed") {
			t.Errorf("error %v; want one about freed memory", err)
		}
	})
}

// negArgs are the arguments of neg_f32 for one element, in place.
func negArgs(d *cuda.Device, address uint64) []byte {
	args := make([]byte, d.EntrySize("neg_f32"))
	words := dtype.Cast[uint64](args)
	words[0], words[1], words[2] = address, address, address
	words[6] = 1 // n of struct Elementwise
	return args
}
