// Package kernels is the arithmetic: loops over elements, each written once in
// Go, as what it means, and where speed asks for it once more for a machine: in
// C or by a vendor's library for the CPU, in CUDA C++ for the GPU.
//
// A kernel reads and writes arrays through their views, so slices, transposes
// and broadcasts reach it without being copied. It knows no derivatives.
//
// The fast ways on the CPU are for float32 and float64, and for half floats by way
// of those. In them denormals count as zero, in operands and in results: processors
// take many times as long over them.
package kernels

import (
	"fmt"
	"runtime"

	"github.com/h5dnn/h5dnn/kernels/launch"
	"github.com/h5dnn/h5dnn/storage"
)

// A Kernel is one loop over the elements of its operands.
type Kernel struct {
	Name string
	// Reference is the loop in Go, for every element type it is defined on. It is
	// the meaning of the kernel: all other ways must agree with it.
	Reference func(c *Call) error
	// Optimized, where there is one, computes the same on the CPU. It reports false,
	// having written nothing, for calls it leaves to Reference.
	Optimized func(c *Call) (bool, error)
	// CUDA, where there is one, computes the same on a GPU.
	CUDA func(g launch.GPU, c *Call) error

	inputs int                 // of an elementwise kernel
	check  func(c *Call) error // finds what Plain, Fast and CUDA must refuse
}

// Elementwise returns the number of inputs of a kernel whose operands have one type and
// shape, but for a comparison's output of bools; 0 for other kernels.
func (k *Kernel) Elementwise() int { return k.inputs }

// A Call is one use of a kernel: what it writes, what it reads, how.
// Outputs come uninitialised, unless the kernel says that it updates them.
type Call struct {
	Out, In []storage.Array
	Options any // the options, of the type the kernel documents; nil if it has none

	Geometry launch.Geometry // how a GPU divides the work; the CPU has its own ways

	gpu launch.Target // where the operands should be; the zero value is host memory
}

// A Runner is a device that can run kernels on its own storages.
type Runner interface {
	storage.Device
	Run(k *Kernel, c *Call) error
}

// CPU is the Runner of host memory.
var CPU Runner = cpu{storage.CPU}

type cpu struct{ storage.Device }

func (cpu) Run(k *Kernel, c *Call) error {
	defer runtime.KeepAlive(c) // C sees the bytes, the collector the storages
	if k.Optimized != nil {
		if done, err := k.Optimized(c); done || err != nil {
			return err
		}
	}
	if k.Reference == nil {
		return fmt.Errorf("%s: has no side for the cpu; move its operands to a GPU: %w", k.Name, storage.ErrDevice)
	}
	return k.Reference(c)
}

// On returns the Runner that computes on a's device.
func On(a storage.Array) (Runner, error) {
	d := a.Data.Device()
	if d == storage.CPU {
		return CPU, nil
	}
	if r, ok := d.(Runner); ok {
		return r, nil
	}
	return nil, fmt.Errorf("%v holds data but cannot compute; move it first: %w", d, storage.ErrDevice)
}
