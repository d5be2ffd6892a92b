// Package cuda runs kernels on NVIDIA GPUs: driver, contexts, streams, events,
// memory and kernel launches.
//
// It does not know what a kernel computes: a [Device] launches the compiled code
// that package kernels provides. The driver library is opened on first use, so one
// program serves machines with and without a GPU.
//
// # Streams
//
// A device issues kernels and copies to one [Stream] of its own, asynchronously;
// Download and Sync wait for it. Other streams run concurrently and are ordered by
// [Event]. Order them after an Upload, which may still be in flight when it returns,
// and after an Alloc, whose memory may have been freed by work that is still queued.
// Memory that work on another stream uses must be kept reachable, by
// runtime.KeepAlive, until that work is done. Repeated work is captured as a [Graph].
//
// # Determinism
//
// The same work gives the same bits, run after run. No kernel sums in an undefined
// order, only deterministic algorithms of NVIDIA's libraries are used, and float32 is
// computed as float32 unless AllowTF32 allows otherwise. There is nothing to switch on.
// Tests hold the device code to having no atomic addition of floats, and package train
// to streamed, resident, eager, captured and resumed runs ending with equal weights.
//
// # Errors
//
// Kernel failures are asynchronous: the error is returned by the next call that waits
// and by every later call, because the CUDA context is lost.
package cuda

import (
	"fmt"
	"sync"

	"github.com/h5dnn/h5dnn/storage"
)

// Devices returns the GPUs of this machine, or the reason why there are none. It only
// describes them; Open initializes one for computing.
func Devices() ([]*Device, error) { return devices() }

var devices = sync.OnceValues(func() ([]*Device, error) {
	d, err := Find()
	if err != nil {
		return nil, err
	}
	all := make([]*Device, d.Count)
	for i := range all {
		if all[i], err = newDevice(i); err != nil {
			return nil, err
		}
	}
	return all, nil
})

func init() {
	storage.RegisterDevices("cuda", func(name string) (storage.Device, error) { return Open(name) })
}

// Open returns the GPU of the given name: "cuda:1", or "cuda" for "cuda:0". The error
// lists the available devices.
func Open(name string) (*Device, error) {
	d, err := deviceNamed(name, Devices)
	if err == nil {
		err = d.ready()
	}
	if err != nil {
		return nil, fmt.Errorf("device %q: %w", name, err)
	}
	return d, nil
}

// deviceNamed returns the GPU of the given name.
func deviceNamed(name string, devices func() ([]*Device, error)) (*Device, error) {
	if name == "cuda" {
		name = "cuda:0"
	}
	all, err := devices()
	if err != nil {
		return nil, fmt.Errorf("there is only cpu: %w", err)
	}
	there := "there are cpu"
	for _, d := range all {
		if d.String() == name {
			return d, nil
		}
		there += fmt.Sprintf(", %v (%s)", d, d.Model)
	}
	return nil, fmt.Errorf("%s: %w", there, storage.ErrDevice)
}
