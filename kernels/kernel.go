// Package kernels is the arithmetic on arrays. Every kernel has a reference implementation
// in Go, which defines its result, and most have optimized ones: in C or by a vendor's
// library on the CPU, in CUDA C++ on GPUs.
//
// A kernel reads and writes arrays through their views, so slices, transposes
// and broadcasts are not copied. It has no derivative: see package tensor.
//
// The optimized implementations on the CPU compute in float32 and float64, and convert
// 16-bit floats to float32. They treat denormal operands and results as zero, because
// processors are many times slower with them.
package kernels

import (
	"fmt"
	"runtime"

	"github.com/h5dnn/h5dnn/kernels/launch"
	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
)

// A Kernel is one operation on arrays.
type Kernel struct {
	Name string
	// Reference computes the result in Go, for every element type that the kernel is
	// defined on. The other implementations must agree with it.
	Reference func(c *Call) error
	// Optimized, unless it is nil, computes the same on the CPU, faster. It returns false,
	// having written nothing, for calls that it leaves to Reference.
	Optimized func(c *Call) (bool, error)
	// CUDA, unless it is nil, computes the same on a GPU.
	CUDA func(g launch.GPU, c *Call) error
	// HostOnly is set for a kernel of this package without device code: GPUs refuse it.
	HostOnly bool

	inputs  int                 // of an elementwise kernel
	inPlace bool                // whether an output may be an input
	check   func(c *Call) error // fails for calls that no implementation takes
}

// InPlace reports whether an output may be one of the inputs: the same view of the same
// storage. All kernels refuse other overlaps of outputs with inputs.
func (k *Kernel) InPlace() bool { return k.inPlace }

// Elementwise returns the number of inputs of a kernel whose operands have one type and
// shape, but for a comparison's output of bools; 0 for other kernels.
func (k *Kernel) Elementwise() int { return k.inputs }

// A Call is a kernel's operands and options. Outputs are uninitialized, unless the kernel
// updates them.
type Call struct {
	Out, In []storage.Array
	Options any // the options, of the type the kernel documents; nil if it has none

	// BF16 lets products and convolutions of float32 on the CPU round their operands to bfloat16, where that makes
	// them faster on processors that multiply such numbers (native.BF16). Sums and results are float32.
	BF16 bool

	Geometry launch.Geometry // blocks and threads on a GPU; ignored on the CPU

	gpu launch.Target // the device of the operands; the zero value is the host
}

// CountWrites raises the version of every output: Runners call it for each kernel that
// they run.
func (c *Call) CountWrites() {
	for i := range c.Out {
		c.Out[i].BumpVersion()
	}
}

// A Runner is a device that can run kernels on its own storages. It counts writes as
// [storage.Versioned] says, by [Call.CountWrites].
type Runner interface {
	storage.Device
	Run(k *Kernel, c *Call) error
}

// CPU is the Runner of host memory.
var CPU Runner = cpu{storage.CPU}

type cpu struct{ storage.Device }

func (cpu) Run(k *Kernel, c *Call) error {
	defer c.CountWrites()
	defer runtime.KeepAlive(c) // C is given the bytes, which do not keep the storages alive
	if k.Optimized != nil {
		if done, err := k.Optimized(c); done || err != nil {
			return err
		}
	}
	if k.Reference == nil {
		return fmt.Errorf("%s: not implemented on the CPU; move its operands to a GPU: %w", k.Name, storage.ErrDevice)
	}
	return k.Reference(c)
}

// On returns the Runner that computes on d.
func On(d storage.Device) (Runner, error) {
	if d == storage.CPU {
		return CPU, nil
	}
	if r, ok := d.(Runner); ok {
		return r, nil
	}
	return nil, fmt.Errorf("%v holds data but cannot compute; move it first: %w", d, storage.ErrDevice)
}

// ThisThread identifies the operating system's thread that calls it.
func ThisThread() uintptr { return native.ThisThread() }
