package cuda_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/cuda"
	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/storagetest"
	"github.com/h5dnn/h5dnn/views"
)

// eachSchedule tries f whenever work may be done.
func eachSchedule(t *testing.T, f func(t *testing.T, gpus [2]*cuda.Device)) {
	for _, s := range cudatest.Schedules {
		t.Run(s.String(), func(t *testing.T) { f(t, cudatest.Devices(t, s)) })
	}
}

func TestDevicesAreStorageDevices(t *testing.T) {
	eachSchedule(t, func(t *testing.T, gpus [2]*cuda.Device) {
		for _, d := range gpus {
			storagetest.TestDevice(t, d)
		}
	})
}

func TestNamesOfDevices(t *testing.T) {
	cudatest.TwoDevices(t)
	gpus := cudatest.Devices(t, cudatest.Eager)
	for name, want := range map[string]*cuda.Device{"cuda": gpus[0], "cuda:0": gpus[0], "cuda:1": gpus[1]} {
		if got, err := cuda.Open(name); got != want || err != nil {
			t.Errorf("%s is %v, %v", name, got, err)
		}
	}
}

// TestUnknownNamesListDevices, even if there are none.
func TestUnknownNamesListDevices(t *testing.T) {
	cudatest.FakeOnly(t)
	none := fmt.Errorf("libcuda.so.1 finds no GPU: %w", cuda.ErrNoDriver)
	for _, machine := range []struct {
		gpus int
		err  error
		want string
	}{
		{0, none, "there is only cpu: libcuda.so.1 finds no GPU: no CUDA"},
		{1, nil, "there are cpu, cuda:0 (model 0): wrong device"},
		{2, nil, "there are cpu, cuda:0 (model 0), cuda:1 (model 1): wrong device"},
	} {
		for _, name := range []string{"cuda:7", "cuda:", "cuda:x", "cuda:-1", "cuda:+1", "cuda:01", "cuda:9999999999999999999", "CUDA:0", "cuda0", "gpu", "tpu", ""} {
			if err := cuda.Pick(name, machine.gpus, machine.err); err == nil || err.Error() != machine.want {
				t.Errorf("%q of %d GPUs: error %v; want %q", name, machine.gpus, err, machine.want)
			}
		}
		for name, place := range map[string]int{"cuda": 1, "cuda:0": 1, "cuda:1": 2} {
			if err := cuda.Pick(name, machine.gpus, machine.err); (err == nil) != (machine.gpus >= place) {
				t.Errorf("%q of %d GPUs: %v", name, machine.gpus, err)
			}
		}
	}
	cudatest.Devices(t, cudatest.Eager)
	if _, err := cuda.Open("cuda:2"); !errors.Is(err, storage.ErrDevice) || !strings.HasPrefix(err.Error(), `device "cuda:2": there are cpu, cuda:0 (interpreter), cuda:1 (interpreter)`) {
		t.Errorf("error %v; want one that names the devices there are", err)
	}
}

func TestDevicesAreDescribed(t *testing.T) {
	cudatest.FakeOnly(t)
	gpus := cudatest.Devices(t, cudatest.Eager)
	if d := gpus[0]; d.Capability != 80 || d.Multiprocessors != 2 || d.Memory != 1<<30 || gpus[1].Capability != 75 {
		t.Errorf("described as %+v", d)
	}
	if d, err := cuda.Find(); err != nil || d.Version != "12.4" || d.Count != 2 {
		t.Errorf("the driver is %+v, %v", d, err)
	}
}

// numbers returns n floats on d.
func numbers(t *testing.T, d storage.Device, n int) storage.Array {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	floats := make([]float32, n)
	for i := range floats {
		floats[i] = float32(r.NormFloat64())
	}
	a, err := storage.From(floats, n).To(d)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestKernelsRunInOrder(t *testing.T) {
	eachSchedule(t, func(t *testing.T, gpus [2]*cuda.Device) {
		d := gpus[0]
		x := numbers(t, d, 1000)
		want, err := storage.Read[float32](x)
		if err != nil {
			t.Fatal(err)
		}
		for range 5 {
			if err := d.Run(kernels.Add, &kernels.Call{Out: []storage.Array{x}, In: []storage.Array{x, x}}); err != nil {
				t.Fatal(err)
			}
		}
		got, err := storage.Read[float32](x)
		if err != nil {
			t.Fatal(err)
		}
		for i := range want {
			if want[i] *= 32; got[i] != want[i] {
				t.Fatalf("element %d is %v, want %v", i, got[i], want[i])
			}
		}
	})
}

func TestOperandsMustBeOnTheDevice(t *testing.T) {
	cudatest.TwoDevices(t)
	gpus := cudatest.Devices(t, cudatest.Eager)
	here, there, host := numbers(t, gpus[0], 4), numbers(t, gpus[1], 4), numbers(t, storage.CPU, 4)
	for _, other := range []storage.Array{there, host} {
		err := gpus[0].Run(kernels.Add, &kernels.Call{Out: []storage.Array{here}, In: []storage.Array{here, other}})
		if !errors.Is(err, storage.ErrDevice) || !strings.Contains(err.Error(), "add: input 1: float32[4] on "+other.Data.Device().String()+" is not on cuda:0") {
			t.Errorf("error %v; want one that says where input 1 is", err)
		}
	}
}

// TestArraysMoveBetweenDevices, in order with the work of both, and not through the host
// if there is peer access.
func TestArraysMoveBetweenDevices(t *testing.T) {
	eachSchedule(t, func(t *testing.T, gpus [2]*cuda.Device) {
		for _, apart := range []bool{false, true} {
			if apart {
				cudatest.DisablePeerAccess(t)
			}
			for i, d := range gpus {
				moves(t, d, gpus[1-i], apart)
				moves(t, d, d, false)
			}
		}
	})
}

// moves has an array move from one device to another and back while both work on it.
func moves(t *testing.T, from, to *cuda.Device, apart bool) {
	t.Helper()
	one, x := ones(t, from, 100), ones(t, from, 101)
	y, err := storage.Make(to, dtype.Float32, 100)
	if err != nil {
		t.Fatal(err)
	}
	tail, err := x.Slice(0, 1, 101, 1)
	if err != nil {
		t.Fatal(err)
	}
	traffic := through([2]*cuda.Device{from, to}, func() {
		for range 3 {
			part := x.With(tail)
			if err := errors.Join(add(from, part, one), part.CopyTo(y), add(from, part, part), add(to, y, y), y.CopyTo(part)); err != nil {
				t.Fatal(err)
			}
		}
	})
	if len(traffic) > 0 != apart {
		t.Errorf("%v to %v, apart %v: through the host %v", from, to, apart, traffic)
	}
	if got := first(t, x.With(tail)); got != 22 { // 1, 4, 10, 22: one more, twice
		t.Errorf("%v to %v, apart %v: got %v, want 22", from, to, apart, got)
	}
}

// TestStridedArraysMoveBetweenDevices without passing through the host.
func TestStridedArraysMoveBetweenDevices(t *testing.T) {
	layouts := []views.View{
		views.Of(5, 7), {Shape: []int{5, 7}, Stride: []int{1, 5}},
		{Offset: 34, Shape: []int{5, 7}, Stride: []int{-7, -1}}, {Offset: 3, Shape: []int{5, 7}, Stride: []int{20, 2}},
	}
	eachSchedule(t, func(t *testing.T, gpus [2]*cuda.Device) {
		for _, pair := range [][2]*cuda.Device{{gpus[0], gpus[0]}, {gpus[0], gpus[1]}, {gpus[1], gpus[0]}} {
			for _, from := range layouts {
				for _, to := range layouts {
					x, y := numbers(t, pair[0], 100).With(from), ones(t, pair[1], 100).With(to)
					traffic := through(pair, func() {
						if err := errors.Join(add(pair[0], x, x), x.CopyTo(y), add(pair[0], x, x), add(pair[1], y, y)); err != nil {
							t.Fatal(err)
						}
					})
					if want, got := elements(t, x), elements(t, y); len(traffic) > 0 || !slices.Equal(got, want) {
						t.Errorf("%v to %v, %v to %v: %v, want %v; through the host: %v", pair[0], pair[1], from, to, got, want, traffic)
					}
				}
			}
		}
	})
}

// through returns the profile of the copies of use that pass through the host.
func through(gpus [2]*cuda.Device, use func()) (rows []cuda.Row) {
	profiles := []*cuda.Profile{gpus[0].Profile(), gpus[1].Profile()}
	use()
	for _, p := range profiles {
		p.Stop()
		rows = append(rows, slices.DeleteFunc(p.Rows(), func(r cuda.Row) bool { return r.Activity != "upload" && r.Activity != "download" })...)
	}
	return rows
}

func elements(t *testing.T, a storage.Array) []float32 {
	t.Helper()
	all, err := storage.Read[float32](a)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestWritesToStridedArraysKeepTheGaps of a device's that stay as they are.
func TestWritesToStridedArraysKeepTheGaps(t *testing.T) {
	eachSchedule(t, func(t *testing.T, gpus [2]*cuda.Device) {
		x := ones(t, gpus[0], 6)
		every := x.With(views.View{Offset: 5, Shape: []int{3}, Stride: []int{-2}})
		if err := storage.From([]int16{7, 8, 9}, 3).CopyTo(every); err != nil {
			t.Fatal(err)
		}
		if got := elements(t, x); !slices.Equal(got, []float32{1, 9, 1, 8, 1, 7}) {
			t.Errorf("got %v", got)
		}
	})
}

// TestArraysThatShareMemoryAreCopiedWhole, though they show it by storages of their own.
func TestArraysThatShareMemoryAreCopiedWhole(t *testing.T) {
	eachSchedule(t, func(t *testing.T, gpus [2]*cuda.Device) {
		d := gpus[1]
		whole := numbers(t, d, 101)
		want := elements(t, whole)
		imported := func(from, n int) storage.Array {
			lent := d.UnownedMemory(d.Address(whole.Data)+uint64(4*from), 4*n)
			return storage.Array{Data: lent, Type: dtype.Float32, View: views.Of(n)}
		}
		if err := imported(0, 100).CopyTo(imported(1, 100)); err != nil {
			t.Fatal(err)
		}
		backwards := imported(0, 101).With(views.View{Offset: 100, Shape: []int{101}, Stride: []int{-1}})
		if err := backwards.CopyTo(imported(0, 101)); err != nil {
			t.Fatal(err)
		}
		if err := imported(0, 101).With(views.View{Offset: 2, Shape: []int{2}, Stride: []int{1}}).CopyTo(imported(1, 2)); err != nil {
			t.Fatal(err)
		}
		copy(want[1:], slices.Clone(want))
		slices.Reverse(want)
		copy(want[1:], want[2:4])
		if got := elements(t, whole); !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

func TestCopiesBetweenDevicesStayInTheirMemory(t *testing.T) {
	cudatest.TwoDevices(t)
	gpus := cudatest.Devices(t, cudatest.Eager)
	here, there := ones(t, gpus[0], 4), ones(t, gpus[1], 4)
	beyond := views.View{Offset: 2, Shape: []int{3}, Stride: []int{1}}
	for want, err := range map[string]error{
		"copy from cuda:1: bytes 8 to 20 of 16":    second(gpus[0].CopyFrom(here.With(views.Of(3)), there.With(beyond))),
		"copy to cuda:0: bytes 8 to 20 of 16":      second(gpus[0].CopyFrom(here.With(beyond), there.With(views.Of(3)))),
		"copy to cuda:0: the storage is on cuda:1": second(gpus[0].CopyFrom(there, here)),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want one about %q", err, want)
		}
	}
}

func TestOutOfMemoryListsAllocations(t *testing.T) {
	d := cudatest.Devices(t, cudatest.Deferred)[0]
	held, _ := d.Allocated()
	cudatest.LimitMemory(t, d, held+10<<20)
	keep := []storage.Storage{}
	for {
		s, err := d.Alloc(3 << 20)
		if err == nil {
			keep = append(keep, s)
			continue
		}
		if all, _ := d.Allocated(); len(keep) < 3 || all > held+10<<20 { // more than 3, where arrays of other tests were freed
			t.Errorf("%d blocks of 3 MiB fit into 10, and %d bytes into %d", len(keep), all, held+10<<20)
		}
		said := regexp.MustCompile(`^cuda:0: allocate 3 MiB: out of memory \(CUDA_ERROR_OUT_OF_MEMORY, 2\): of \S+ MiB, \d+ arrays use \S+ MiB, the driver and other programs \S+ \w+, and \S+ \w+ are free; use smaller`)
		if now, _ := d.Allocated(); now < 9<<20 || !said.MatchString(err.Error()) {
			t.Errorf("error %v; want one that says what holds how much", err)
		}
		break
	}
	keep = nil
	if _, err := d.Alloc(3 << 20); err != nil {
		t.Errorf("memory that nobody holds is not used again: %v", err)
	}
}

// TestFreedMemoryIsAvailable although the pool keeps it for later allocations.
func TestFreedMemoryIsAvailable(t *testing.T) {
	if cudatest.RealGPU() {
		t.Skip("other programs may take it there")
	}
	eachSchedule(t, func(t *testing.T, gpus [2]*cuda.Device) {
		d := gpus[1]
		available := func() int {
			if err := d.Collect(); err != nil {
				t.Fatal(err)
			}
			n, err := d.FreeMemory()
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		before := available()
		x := ones(t, d, 1<<20)
		if now := available(); now > before-4<<20 {
			t.Errorf("%d bytes are available with 4 MiB held, %d without", now, before)
		}
		runtime.KeepAlive(x.Data)
		x = storage.Array{}
		if now := available(); now != before {
			t.Errorf("%d bytes are available after 4 MiB were freed, %d before they were allocated", now, before)
		}
	})
}

// TestFailedFreesAreNotRepeated, nor are those before them.
func TestFailedFreesAreNotRepeated(t *testing.T) {
	d := cudatest.Devices(t, cudatest.Eager)[0]
	held := collected(t, d)
	for range 2 {
		ones(t, d, 8)
		d.Discard(7)
		if err := d.Collect(); err == nil || !strings.Contains(err.Error(), "cuda:0: free: invalid argument") {
			t.Errorf("error %v; want one about what cannot be freed", err)
		}
		if err := d.Collect(); err != nil {
			t.Errorf("reported twice: %v", err)
		}
	}
	if now := collected(t, d); now != held {
		t.Errorf("%d storages are held, were %d", now, held)
	}
}

// TestPoolsReleaseMemoryWhenFull: memory that a pool keeps for other sizes is
// no reason to have too little.
func TestPoolsReleaseMemoryWhenFull(t *testing.T) {
	d := cudatest.Devices(t, cudatest.Deferred)[1]
	held, _ := d.Allocated()
	cudatest.LimitMemory(t, d, held+10<<20)
	pool := storage.NewPool(d)
	for range 3 {
		s, err := pool.Get(6 << 20)
		if err != nil {
			t.Fatal(err)
		}
		pool.Put(s)
		if s, err = pool.Get(7 << 20); err != nil {
			t.Fatal(err)
		}
		pool.Put(s)
	}
	if _, err := pool.Get(11 << 20); err == nil || !strings.Contains(err.Error(), "arrays use") {
		t.Errorf("error %v; want one that says what is held", err)
	}
}

func TestEventsOrderStreams(t *testing.T) {
	eachSchedule(t, func(t *testing.T, gpus [2]*cuda.Device) {
		if got, err := stream(gpus[0], waits{true, true, true}); err != nil || got != 1+2+3+4 {
			t.Errorf("sum is %v, %v; want %v", got, err, 1+2+3+4)
		}
	})
}

// TestMissingWaitsAreDetected checks that the fake driver is as strict as a GPU.
func TestMissingWaitsAreDetected(t *testing.T) {
	cudatest.FakeOnly(t)
	d := cudatest.Devices(t, cudatest.Deferred)[0]
	for _, w := range []waits{{kernel: false, host: true, copy: true}, {kernel: true, host: false, copy: true}, {kernel: true, host: true, copy: false}} {
		if got, err := stream(d, w); err != nil || got == 1+2+3+4 {
			t.Errorf("%+v: sum is %v, %v, as if all waited", w, got, err)
		}
	}
}

// waits says which waits there are: of a kernel for its input, of the host before it
// reuses pinned memory, of a copy for the read of what it overwrites.
type waits struct{ kernel, host, copy bool }

// stream adds up, on d's own stream, 1 to 4, which another stream uploads one
// after another through the same memory.
func stream(d *cuda.Device, w waits) (sum float32, err error) {
	must := func(e error) {
		if err == nil {
			err = e
		}
	}
	side, e := d.NewStream()
	must(e)
	arrived, e := d.NewEvent()
	must(e)
	read, e := d.NewEvent()
	must(e)
	pinned, e := d.Pin(4)
	must(e)
	x, e := storage.From([]float32{0}, 1).To(d)
	must(e)
	y, e := storage.From([]float32{0}, 1).To(d)
	must(e)
	if err != nil {
		return 0, err
	}
	must(read.Record(d.Stream())) // x has been written
	for i := range 4 {
		if w.host {
			must(arrived.Wait())
		}
		dtype.Cast[float32](pinned.Bytes())[0] = float32(i + 1)
		if w.copy {
			must(side.WaitEvent(read))
		}
		must(side.Upload(x.Data, 0, pinned, 4))
		must(arrived.Record(side))
		if w.kernel {
			must(d.Stream().WaitEvent(arrived))
		}
		must(d.Run(kernels.Add, &kernels.Call{Out: []storage.Array{y}, In: []storage.Array{y, x}}))
		must(read.Record(d.Stream()))
	}
	all, e := storage.Read[float32](y)
	must(e)
	for _, close := range []func() error{side.Sync, side.Close, arrived.Close, read.Close} {
		must(close())
	}
	if err != nil {
		return 0, err
	}
	return all[0], nil
}

func TestTimersKeepTime(t *testing.T) {
	cudatest.FakeOnly(t)
	d := cudatest.Devices(t, cudatest.Deferred)[0]
	from, err := d.NewTimer()
	if err != nil {
		t.Fatal(err)
	}
	to, err := d.NewTimer()
	if err != nil {
		t.Fatal(err)
	}
	x := numbers(t, d, 10)
	if err := from.Record(d.Stream()); err != nil {
		t.Fatal(err)
	}
	if err := d.Run(kernels.Neg, &kernels.Call{Out: []storage.Array{x}, In: []storage.Array{x}}); err != nil {
		t.Fatal(err)
	}
	if err := to.Record(d.Stream()); err != nil {
		t.Fatal(err)
	}
	if done, err := to.Done(); done || err != nil {
		t.Errorf("done before anyone waits: %v, %v", done, err)
	}
	if err := to.Wait(); err != nil {
		t.Fatal(err)
	}
	if done, err := to.Done(); !done || err != nil {
		t.Errorf("not done after a wait: %v, %v", done, err)
	}
	if took, err := to.Since(from); took <= 0 || err != nil {
		t.Errorf("took %v, %v", took, err)
	}
}

func TestLaunchesAreCheckedAgainstTheCode(t *testing.T) {
	d := cudatest.Devices(t, cudatest.Eager)[0]
	blocks := [3]uint32{1, 1, 1}
	for want, err := range map[string]error{
		"no entry frobnicate":  d.Launch("frobnicate", blocks, 32, make([]byte, 8)),
		"bytes, not of [8]":    d.Launch("add_f32", blocks, 32, make([]byte, 8)),
		"launch neg_f32: inva": d.Launch("neg_f32", blocks, 2048, make([]byte, d.EntrySize("neg_f32"))),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want one about %q", err, want)
		}
	}
	cudatest.Reset()
}

// TestAFailedKernelFailsLaterCalls, with the place of the failure.
func TestAFailedKernelFailsLaterCalls(t *testing.T) {
	cudatest.FakeOnly(t)
	defer cudatest.Reset()
	d := cudatest.Devices(t, cudatest.Deferred)[0]
	x := numbers(t, d, 4)
	args := make([]byte, d.EntrySize("neg_f32"))
	args[40], args[48], args[56] = 1, 1, 1 // one element, at address 0
	if err := d.Launch("neg_f32", [3]uint32{1, 1, 1}, 32, args); err != nil {
		t.Fatalf("a launch knows beforehand that it will fail: %v", err)
	}
	for range 2 {
		if _, err := storage.Read[float32](x); err == nil || !strings.Contains(err.Error(), "neg_f32, block [0 0 0], thread [0 0 0]: address 0x0") {
			t.Errorf("error %v; want one that says where the kernel failed", err)
		}
	}
}
