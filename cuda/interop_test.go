package cuda_test

import (
	"runtime"
	"testing"

	"github.com/h5dnn/h5dnn/cuda"
	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
)

// TestPreserveContext lets another program make a context current,
// of the other GPU or none, before and between calls that need ours.
func TestPreserveContext(t *testing.T) {
	gpus := cudatest.Devices(t, cudatest.Eager)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, theirs := range []uintptr{0, 2, 1} {
		for _, d := range gpus {
			cudatest.SetCurrentContext(theirs)
			var x storage.Array
			if err := cuda.PreserveContext(func() { x = numbers(t, d, 4) }); err != nil {
				t.Fatal(err)
			}
			if x.Data.Device() != d || cudatest.CurrentContext() != theirs {
				t.Errorf("%v as a guest leaves context %d, found %d", x, cudatest.CurrentContext(), theirs)
			}
			numbers(t, d, 4) // at home again, the context is ours, for later tests on this thread too
		}
	}
}

// TestExternalStreamWait, and without being told to do not.
func TestExternalStreamWait(t *testing.T) {
	cudatest.FakeOnly(t)
	d := cudatest.Devices(t, cudatest.Deferred)[0]
	for _, told := range []bool{true, false} {
		theirs, err := d.NewStream()
		if err != nil {
			t.Fatal(err)
		}
		seen, err := d.Pin(4)
		if err != nil {
			t.Fatal(err)
		}
		x, err := storage.Make(d, dtype.Float32, 1)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Run(kernels.Fill, &kernels.Call{Options: kernels.FillOptions{Value: 7}, Out: []storage.Array{x}}); err != nil {
			t.Fatal(err)
		}
		if told {
			if err := d.ExternalStreamWait(theirs.Handle()); err != nil {
				t.Fatal(err)
			}
		}
		if err := theirs.Download(seen, x.Data, 0, 4); err != nil {
			t.Fatal(err)
		}
		if err := theirs.Sync(); err != nil {
			t.Fatal(err)
		}
		if got := dtype.Cast[float32](seen.Bytes())[0]; (got == 7) != told {
			t.Errorf("told %v, the other stream saw %v of 7", told, got)
		}
		if err := theirs.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestUnownedMemoryIsShared lets two storages show one place.
func TestUnownedMemoryIsShared(t *testing.T) {
	eachSchedule(t, func(t *testing.T, gpus [2]*cuda.Device) {
		d := gpus[0]
		lent := numbers(t, d, 8)
		ours := storage.Array{Data: d.UnownedMemory(d.Address(lent.Data)+8, 8), Type: dtype.Float32, View: numbers(t, storage.CPU, 2).View}
		held, _ := d.Allocated()
		if err := d.Run(kernels.Fill, &kernels.Call{Options: kernels.FillOptions{Value: 5}, Out: []storage.Array{ours}}); err != nil {
			t.Fatal(err)
		}
		got, err := storage.Read[float32](lent)
		if now, _ := d.Allocated(); err != nil || got[1] == 5 || got[2] != 5 || got[3] != 5 || got[4] == 5 || now != held {
			t.Errorf("the owner sees %v, %v; %d bytes held, were %d", got, err, now, held)
		}
	})
}

func TestSyncContextWaitsForEveryStream(t *testing.T) {
	d := cudatest.Devices(t, cudatest.Deferred)[0]
	side, err := d.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	reached, err := d.NewEvent()
	if err != nil {
		t.Fatal(err)
	}
	pinned, err := d.Pin(16)
	if err != nil {
		t.Fatal(err)
	}
	x := numbers(t, d, 4)
	if err := side.Upload(x.Data, 0, pinned, 16); err != nil {
		t.Fatal(err)
	}
	if err := reached.Record(side); err != nil {
		t.Fatal(err)
	}
	if err := d.SyncContext(); err != nil {
		t.Fatal(err)
	}
	if done, err := reached.Done(); !done || err != nil {
		t.Errorf("another stream's work is done: %v, %v", done, err)
	}
	if err := side.Close(); err != nil {
		t.Fatal(err)
	}
}
