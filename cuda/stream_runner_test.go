package cuda_test

import (
	"errors"
	"runtime"
	"testing"

	"github.com/h5dnn/h5dnn/cuda"
	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/kernels/launch"
	"github.com/h5dnn/h5dnn/storage"
)

// TestStreamsRunKernelsConcurrently: a sum, which uses workspace memory that the device's
// own stream uses too, with and without waiting for its input.
func TestStreamsRunKernelsConcurrently(t *testing.T) {
	eachSchedule(t, func(t *testing.T, gpus [2]*cuda.Device) {
		d := gpus[0]
		side, err := d.NewStream()
		if err != nil {
			t.Fatal(err)
		}
		const n = 100_000
		x, y := ones(t, d, n), ones(t, d, n)
		a, b := ones(t, d, 1), ones(t, d, 1)
		ready, done := freshEvent(t, d), freshEvent(t, d)
		sum := func(out, in storage.Array) *kernels.Call {
			return &kernels.Call{Out: []storage.Array{out}, In: []storage.Array{in}}
		}
		err = errors.Join(add(d, x, x), ready.Record(d.Stream()), side.WaitEvent(ready),
			side.Run(kernels.Sum, sum(a, x)), d.Run(kernels.Sum, sum(b, y)), side.Run(kernels.Add, &kernels.Call{Out: []storage.Array{a}, In: []storage.Array{a, a}}),
			done.Record(side), d.Stream().WaitEvent(done))
		if err != nil {
			t.Fatal(err)
		}
		if got := first(t, a); got != 4*n {
			t.Errorf("the other stream's sum is %v, want %v", got, 4*n)
		}
		if got := first(t, b); got != n {
			t.Errorf("the device's sum is %v, want %v", got, n)
		}
		if err := errors.Join(side.Close(), ready.Close(), done.Close()); err != nil {
			t.Error(err)
		}
		runtime.KeepAlive(x.Data)
	})
}

// TestStreamsWaitForTheWorkspace that the device's own stream has used before.
func TestStreamsWaitForTheWorkspace(t *testing.T) {
	d := cudatest.Devices(t, cudatest.Deferred)[0]
	side, err := d.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	x, y, z := ones(t, d, 100_000), ones(t, d, 1), ones(t, d, 1)
	lent := freshEvent(t, d)
	sum := func(out storage.Array) *kernels.Call {
		return &kernels.Call{Out: []storage.Array{out}, In: []storage.Array{x}}
	}
	if err := errors.Join(d.Sync(), d.Run(kernels.Sum, sum(y)), lent.Record(d.Stream()), side.Run(kernels.Sum, sum(z)), side.Sync()); err != nil {
		t.Fatal(err)
	}
	if done, err := lent.Done(); !done || err != nil {
		t.Errorf("the sum before is done: %v, %v", done, err)
	}
	if err := errors.Join(side.Close(), lent.Close()); err != nil {
		t.Error(err)
	}
	runtime.KeepAlive(x.Data)
}

func TestStreamsRefuseMemoryOfOtherDevices(t *testing.T) {
	cudatest.TwoDevices(t)
	eachSchedule(t, func(t *testing.T, gpus [2]*cuda.Device) {
		side, err := gpus[1].NewStream()
		if err != nil {
			t.Fatal(err)
		}
		x := ones(t, gpus[0], 4)
		err = side.Run(kernels.Neg, &kernels.Call{Out: []storage.Array{x}, In: []storage.Array{x}})
		if !errors.Is(err, storage.ErrDevice) {
			t.Errorf("error %v; want one about the device", err)
		}
		if err := side.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestLaunchConfigurationIsTheCallers(t *testing.T) {
	cudatest.FakeOnly(t)
	d := cudatest.Devices(t, cudatest.Eager)[0]
	x := ones(t, d, 4000) // 1000 packs of four
	call := &kernels.Call{Out: []storage.Array{x}, In: []storage.Array{x}}
	for _, c := range []struct {
		set             launch.Geometry
		blocks, threads uint32
	}{
		{launch.Geometry{}, 4, 256},
		{launch.Geometry{Threads: 64}, 16, 64},
		{launch.Geometry{Threads: 64, Blocks: 3}, 3, 64},
		{launch.Geometry{Blocks: 3}, 3, 256},
	} {
		for _, ofCall := range []bool{true, false} {
			var ofDevice launch.Geometry
			if call.Geometry = c.set; !ofCall {
				call.Geometry, ofDevice = launch.Geometry{}, c.set
			}
			if err := errors.Join(d.SetGeometry(ofDevice), d.Run(kernels.Neg, call)); err != nil {
				t.Fatal(err)
			}
			if blocks, threads := cudatest.LastLaunch(); blocks != [3]uint32{c.blocks, 1, 1} || threads != c.threads {
				t.Errorf("%+v, of the call %v: %v blocks of %d threads, want %d of %d", c.set, ofCall, blocks, threads, c.blocks, c.threads)
			}
		}
	}
	if err := d.SetGeometry(launch.Geometry{}); err != nil {
		t.Error(err)
	}
	for _, wrong := range []launch.Geometry{{Threads: 257}, {Threads: -1}, {Blocks: -1}} {
		call.Geometry = wrong
		if err := d.Run(kernels.Neg, call); !errors.Is(err, storage.ErrState) {
			t.Errorf("%+v: error %v", wrong, err)
		}
		if err := d.SetGeometry(wrong); !errors.Is(err, storage.ErrState) {
			t.Errorf("%+v of the device: error %v", wrong, err)
		}
	}
}

// TestNewMemoryBelongsToTheDevicesStream: what another stream writes before the device's
// own stream has reached the allocation is lost, unless it waits for that.
func TestNewMemoryBelongsToTheDevicesStream(t *testing.T) {
	cudatest.FakeOnly(t)
	d := cudatest.Devices(t, cudatest.Deferred)[0]
	pinned, err := d.Pin(4)
	if err != nil {
		t.Fatal(err)
	}
	pinned.Bytes()[0] = 7
	for _, waits := range []bool{true, false} {
		side, err := d.NewStream()
		if err != nil {
			t.Fatal(err)
		}
		allocated := freshEvent(t, d)
		s, err := d.Alloc(4)
		if err == nil && waits {
			err = errors.Join(allocated.Record(d.Stream()), side.WaitEvent(allocated))
		}
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 1)
		if err := errors.Join(side.Upload(s, 0, pinned, 4), side.Sync(), d.Download(got, s, 0), side.Close(), allocated.Close()); err != nil {
			t.Fatal(err)
		}
		if (got[0] == 7) != waits {
			t.Errorf("waiting %v: %d arrived", waits, got[0])
		}
	}
}
