// Package cuda runs kernels on NVIDIA GPUs: it knows the driver, contexts,
// streams, events, memory and launches.
//
// What any kernel computes is package kernels' business: a [Device] takes its
// code from there, ready compiled. The driver is found when it is first asked
// for, so that one program serves machines with and without a GPU.
//
// # Order
//
// A device does what is asked of it, kernels and copies, one after another on
// one [Stream] of its own, while the program goes on; Download and Sync wait.
// Other streams run beside it, and [Event] puts them in order: also behind an
// Upload, which may still be under way when it returns, and behind an Alloc, whose
// memory may have been freed by work that is still to be done. Memory that work on
// another stream uses must be kept, by runtime.KeepAlive, until it is done. Work
// that repeats itself is recorded as a [Graph].
//
// # The same again
//
// The same work gives the same bits, run after run: no kernel sums in an order of
// chance, of NVIDIA's libraries only algorithms that do not are used, and float32
// is computed as such unless AllowTF32 says otherwise. There is nothing to switch on.
// It is a law: of the device code that no atomic adds floats, of package train that
// streamed, resident, eager, recorded and resumed runs end alike.
//
// # Errors
//
// A kernel that fails, fails later: the error comes from the next call that
// waits, and from all that follow, because a GPU does not go on after it.
package cuda

import (
	"fmt"
	"sync"

	"github.com/h5dnn/h5dnn/storage"
)

// Devices returns the GPUs of this machine, or why there are none. They are described,
// no more: Open makes one compute.
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

// Open returns a GPU by its name: "cuda:1", or "cuda" for "cuda:0". The error says
// what devices there are.
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

// pick returns the GPU of that name.
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
