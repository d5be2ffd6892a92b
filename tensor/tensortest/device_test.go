package tensortest_test

import (
	"fmt"
	"slices"
	"testing"
	"unsafe"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/storagetest"
	"github.com/h5dnn/h5dnn/tensor"
	_ "github.com/h5dnn/h5dnn/tensor/fft"    // its samples
	_ "github.com/h5dnn/h5dnn/tensor/linalg" // and its
	"github.com/h5dnn/h5dnn/tensor/tensortest"
)

// An accelerator is a device as a package outside of this module would write it: with
// exported names only. Its memory is its own, and the host cannot address it. It computes
// by the kernels' references, as a new device would until it has code of its own.
type accelerator struct{ name string }

var _ kernels.Runner = (*accelerator)(nil)

// A region is memory of an accelerator.
type region struct {
	device  *accelerator
	words   []uint64 // aligned for every type
	size    int
	version uint64
	mapped  storage.Storage // the same bytes as the kernels' references see them
}

func (r *region) Len() int               { return r.size }
func (r *region) Device() storage.Device { return r.device }
func (r *region) Version() uint64        { return r.version }
func (r *region) BumpVersion()           { r.version++ }
func (r *region) Address() uint64        { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(r.words)))) }
func (r *region) bytes() []byte          { return dtype.Bytes(r.words)[:r.size] }

func (a *accelerator) String() string { return a.name }
func (a *accelerator) Sync() error    { return nil }

func (a *accelerator) Alloc(size int) (storage.Storage, error) {
	if size < 0 {
		return nil, fmt.Errorf("%v: allocate %d bytes: %w", a, size, storage.ErrState)
	}
	r := &region{device: a, words: make([]uint64, (size+7)/8), size: size}
	for i := range r.words {
		r.words[i] = 0xa5a5a5a5a5a5a5a5 // shows who relies on zeros
	}
	r.mapped = storage.Wrap(r.bytes())
	return r, nil
}

func (a *accelerator) Upload(dst storage.Storage, offset int, src []byte) error {
	r, err := a.own(dst)
	if err == nil {
		err = storage.CheckRange(r, offset, len(src))
	}
	if err == nil {
		copy(r.bytes()[offset:], src)
	}
	return err
}

func (a *accelerator) Download(dst []byte, src storage.Storage, offset int) error {
	r, err := a.own(src)
	if err == nil {
		err = storage.CheckRange(r, offset, len(dst))
	}
	if err == nil {
		copy(dst, r.bytes()[offset:])
	}
	return err
}

func (a *accelerator) own(s storage.Storage) (*region, error) {
	r, ok := s.(*region)
	if !ok || r.device != a {
		return nil, fmt.Errorf("storage of %v is not on %v: %w", s.Device(), a, storage.ErrDevice)
	}
	return r, nil
}

// Run computes k by its reference, on the memory of this device.
func (a *accelerator) Run(k *kernels.Kernel, c *kernels.Call) error {
	if k.Reference == nil || k.HostOnly {
		return fmt.Errorf("%s: not implemented on %v; move its operands to the cpu: %w", k.Name, a, storage.ErrDevice)
	}
	here := &kernels.Call{Out: slices.Clone(c.Out), In: slices.Clone(c.In), Options: c.Options}
	for _, operands := range [][]storage.Array{here.Out, here.In} {
		for i := range operands {
			r, err := a.own(operands[i].Data)
			if err != nil {
				return fmt.Errorf("%s: %w", k.Name, err)
			}
			operands[i].Data = r.mapped
		}
	}
	defer c.CountWrites()
	return k.Reference(here)
}

func TestDeviceOfAnotherModule(t *testing.T) {
	d := &accelerator{"accelerator:0"}
	storagetest.TestDevice(t, d)
	tensortest.Each(t, func(t *testing.T, s tensortest.Sample) { tensortest.CheckDevice(t, s, d) })
}

// A device gets a name by RegisterDevices, in the init function of its package.
func ExampleCheckDevice() {
	d := &accelerator{"accelerator"}
	storage.RegisterDevices("accelerator", func(string) (storage.Device, error) { return d, nil })
	x := tensor.Arange(tensor.Float32, 0, 6, 1).Reshape(2, 3).To("accelerator")
	y := x.MatMul(x.T()).Softmax(1)
	fmt.Println(y)
	fmt.Println(y.CPU())
	// Output:
	// float32[2 2] on accelerator
	// [[1.2339458e-04 9.9987662e-01]
	//  [2.3195227e-16 1.0000000e+00]] float32[2 2]
}
