package kernels

import (
	"fmt"
	"math"
	"slices"
	"unsafe"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels/launch"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// define returns a kernel. Before each implementation runs, c.Options must be an S, or nil for
// the zero S, and check must return nil. Errors are prefixed with the kernel's name. On GPUs
// the entry of that name is launched, unless onGPU sets another launch.
func define[S any](name string, check func(c *Call, options S) error, reference func(c *Call, options S) error, optimized func(c *Call, options S) (bool, error)) *Kernel {
	k := &Kernel{Name: name}
	begin := func(c *Call) (S, error) {
		options, ok := c.Options.(S)
		if !ok && c.Options != nil {
			return options, fmt.Errorf("%s: options are a %T; want a %T: %w", name, c.Options, options, storage.ErrState)
		}
		if err := check(c, options); err != nil {
			return options, fmt.Errorf("%s: %w", name, err)
		}
		if err := c.apart(k.inPlace); err != nil {
			return options, fmt.Errorf("%s: %w", name, err)
		}
		return options, nil
	}
	k.check = func(c *Call) error {
		_, err := begin(c)
		return err
	}
	k.Reference = func(c *Call) error {
		options, err := begin(c)
		if err != nil {
			return err
		}
		if err := reference(c, options); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	}
	all = append(all, k)
	onGPU(k, func(c *Call, options S) error { return c.gpu.LaunchElementwise(name, c.Out, c.In, options) })
	if optimized == nil {
		return k
	}
	k.Optimized = func(c *Call) (bool, error) {
		options, err := begin(c)
		if err != nil {
			return false, err
		}
		done, err := optimized(c, options)
		if err != nil {
			return false, fmt.Errorf("%s: %w", name, err)
		}
		return done, nil
	}
	return k
}

// all lists the kernels in the order of their initialization.
var all []*Kernel

// All returns all kernels.
func All() []*Kernel { return all }

// checkOperands checks the numbers of outputs and inputs, and that all operands are on the kernel's
// device and inside their storages.
func (c *Call) checkOperands(outs, ins int) error {
	if len(c.Out) != outs || len(c.In) != ins {
		return fmt.Errorf("%d outputs and %d inputs; want %d and %d: %w", len(c.Out), len(c.In), outs, ins, views.ErrShape)
	}
	for i := range c.Out {
		if err := c.usable(&c.Out[i]); err != nil {
			return fmt.Errorf("output %d: %w", i, err)
		}
		if c.Out[i].MayOverlapItself() {
			return fmt.Errorf("output %d: elements of %v share memory, as after broadcasting or in overlapping windows; it cannot be written: %w", i, c.Out[i].Shape, views.ErrShape)
		}
	}
	for i := range c.In {
		if err := c.usable(&c.In[i]); err != nil {
			return fmt.Errorf("input %d: %w", i, err)
		}
	}
	return nil
}

// updatesInPlace declares that outputs of k may be inputs: k reads an element, or a line of
// elements, before it writes it. It returns k.
func updatesInPlace(k *Kernel) *Kernel {
	k.inPlace = true
	return k
}

// apart fails if an output shares memory with an input, unless inPlace allows an input of the
// very same elements.
func (c *Call) apart(inPlace bool) error {
	inputs := make([]span, 0, 16)
	for k := range c.In {
		inputs = append(inputs, spanOf(&c.In[k]))
	}
	for i := range c.Out {
		out := spanOf(&c.Out[i])
		for k := range inputs {
			switch y, x := &c.Out[i], &c.In[k]; {
			case !out.meets(inputs[k]): // most of the 30,000 pairs of an update of 100 parameters by Adam
			case Clobbers(*y, *x):
				return fmt.Errorf("output %d overlaps input %d; copy one first: %w", i, k, storage.ErrState)
			case !inPlace && x.Overlaps(*y):
				return fmt.Errorf("output %d is input %d, which this kernel does not update in place; copy it first: %w", i, k, storage.ErrState)
			}
		}
	}
	return nil
}

// A span is the range of addresses of a storage.
type span struct{ from, to uint64 }

// spanOf returns the addresses of a's storage, or all addresses if they are unknown.
func spanOf(a *storage.Array) span {
	switch s := a.Data.(type) {
	case storage.Host:
		from := uint64(uintptr(unsafe.Pointer(unsafe.SliceData(s.Bytes()))))
		return span{from, from + uint64(s.Len())}
	case storage.Addressed:
		return span{s.Address(), s.Address() + uint64(s.Len())}
	}
	return span{0, math.MaxUint64}
}

func (s span) meets(t span) bool { return s.from < t.to && t.from < s.to }

// Clobbers reports whether writing y may change elements of x before an elementwise kernel
// has read them: they overlap and are not one view of equally large elements.
func Clobbers(y, x storage.Array) bool {
	same := y.Data == x.Data && y.Offset == x.Offset && y.Type.Size() == x.Type.Size() &&
		slices.Equal(y.Shape, x.Shape) && slices.Equal(y.Stride, x.Stride)
	return !same && x.Overlaps(y)
}

// Check returns an error unless all operands are on g and inside their storages, and
// outputs repeat no elements and overlap no input but one of the very same elements. Kernels of
// this package do so themselves.
func (c *Call) Check(g launch.GPU) error {
	on := *c
	on.gpu.GPU = g
	if err := on.checkOperands(len(c.Out), len(c.In)); err != nil {
		return err
	}
	return on.apart(true)
}

// usable returns an error unless all elements of a are in memory that the kernel may access.
func (c *Call) usable(a *storage.Array) error {
	if a.Data == nil {
		return fmt.Errorf("no storage: %w", storage.ErrState)
	}
	if !a.Type.Valid() || len(a.Stride) != len(a.Shape) {
		return fmt.Errorf("%v has no layout: %w", *a, storage.ErrState)
	}
	if n := a.Data.Len() / a.Type.Size(); !a.Within(n) {
		return fmt.Errorf("%v reaches outside the %d elements of its storage: %w", *a, n, views.ErrShape)
	}
	if c.gpu.GPU != nil {
		if d := launch.StorageDevice(c.gpu.GPU); a.Data.Device() != d {
			return fmt.Errorf("%v is not on %v; move it first: %w", *a, d, storage.ErrDevice)
		}
		return nil
	}
	host, ok := a.Data.(storage.Host)
	if !ok || a.Data.Device() != storage.CPU {
		return fmt.Errorf("%v is not in host memory; move it first: %w", *a, storage.ErrDevice)
	}
	if !dtype.Aligned(host.Bytes(), a.Type) {
		return fmt.Errorf("%v is not aligned; copy it first: %w", *a, storage.ErrState)
	}
	return nil
}

// oneShape checks that all operands have the first output's shape.
func (c *Call) oneShape() error {
	for _, list := range [2][]storage.Array{c.Out, c.In} {
		for i := range list {
			if !slices.Equal(list[i].Shape, c.Out[0].Shape) {
				return fmt.Errorf("shapes %v and %v differ; broadcast one first: %w", c.Out[0].Shape, list[i].Shape, views.ErrShape)
			}
		}
	}
	return nil
}

// oneShape checks that arrays have one shape.
func oneShape(arrays ...storage.Array) error {
	c := Call{Out: arrays}
	return c.oneShape()
}

// allFloats checks that arrays have one floating-point type to compute with.
func allFloats(arrays ...storage.Array) error {
	if t := arrays[0].Type; computeTypeOf(t) != dtype.Float64 {
		return notDefined(t)
	}
	return oneType(arrays[0].Type, arrays...)
}

// allFloats checks that all operands have one floating-point type to compute with.
func (c *Call) allFloats() error {
	if err := allFloats(c.Out...); err != nil {
		return err
	}
	return oneType(c.Out[0].Type, c.In...)
}

// oneType checks that arrays have type t.
func oneType(t dtype.Type, arrays ...storage.Array) error {
	for i := range arrays {
		if arrays[i].Type != t {
			return fmt.Errorf("types %v and %v differ; cast one first: %w", t, arrays[i].Type, dtype.ErrType)
		}
	}
	return nil
}

// notDefined is the error of a kernel that is not defined on t.
func notDefined(t dtype.Type) error {
	return fmt.Errorf("not defined on %v; cast it first: %w", t, dtype.ErrType)
}
