package cuda

// #include "calls.h"
import "C"

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/kernels/device"
	"github.com/h5dnn/h5dnn/kernels/launch"
	"github.com/h5dnn/h5dnn/storage"
)

// A Device is one GPU: memory that arrays live in, and a [kernels.Runner] that
// computes on them.
type Device struct {
	Model           string // "NVIDIA H200"
	Capability      int    // 90 for compute capability 9.0
	Multiprocessors int
	Memory          int // total, in bytes

	index    int
	handle   C.h5_device
	context  C.h5_handle
	stream   *Stream
	pool     C.h5_handle // 0 if memory pools are refused
	scratch  *storage.Pool
	code     code
	fault    kernelFaults
	counters blockCounters
	staging  staging
	peers    peers
	garbage  garbage
	vendor   vendor
	ready    func() error

	straightLine bool // whether captured calls are ordered as issued, because dependencies cannot be edited
	fallbacks    fallbacks

	capturing atomic.Pointer[Graph]   // nil unless a capture is in progress
	profile   atomic.Pointer[Profile] // nil unless d is profiled
	geometry  atomic.Pointer[launch.Geometry]
}

// SetGeometry sets how kernels whose elements any thread may take are divided, where a call does not say so: copies, casts,
// fills and elementwise operations, also of package saturate. The zero Geometry leaves the choice to the kernels, as at first.
// Results do not depend on it. Geometries that GPUs do not take are an error.
func (d *Device) SetGeometry(g launch.Geometry) error {
	if err := g.Check(); err != nil {
		return fmt.Errorf("%v: %w", d, err)
	}
	d.geometry.Store(&g)
	return nil
}

var (
	_ kernels.Runner = (*Device)(nil)
	_ launch.GPU     = (*Device)(nil)
)

// newDevice describes a device without initializing it.
func newDevice(index int) (*Device, error) {
	d := &Device{index: index}
	if err := check("find "+d.String(), C.h5_device_get(&d.handle, C.int(index))); err != nil {
		return nil, err
	}
	var name [256]C.char
	var major, minor, units C.int
	var total C.size_t
	for _, code := range []C.h5_result{
		C.h5_name(&name[0], C.int(len(name)), d.handle),
		C.h5_attribute(&major, C.H5_MAJOR, d.handle),
		C.h5_attribute(&minor, C.H5_MINOR, d.handle),
		C.h5_attribute(&units, C.H5_MULTIPROCESSORS, d.handle),
		C.h5_total(&total, d.handle),
	} {
		if err := check("describe "+d.String(), code); err != nil {
			return nil, err
		}
	}
	d.Model, d.Capability, d.Multiprocessors, d.Memory = C.GoString(&name[0]), int(10*major+minor), int(units), int(total)
	d.stream, d.scratch, d.peers.all = &Stream{device: d}, storage.NewPool(d), map[*Device]bool{}
	d.vendor.off = override != nil // tests with their own driver enable their own libraries
	d.ready = sync.OnceValue(d.start)
	return d, nil
}

// start initializes the device for computing.
func (d *Device) start() error {
	if err := d.check("open", C.h5_context_retain(&d.context, d.handle)); err != nil {
		return err
	}
	if err := d.check("create a stream", C.h5_stream(d.context, &d.stream.handle)); err != nil {
		return err
	}
	d.tryFeatures()
	if _, err := device.Target(d.Capability); err != nil {
		return err
	}
	if err := d.fault.start(d); err != nil {
		return err
	}
	return d.counters.start(d)
}

// String returns the device's name, such as "cuda:0".
func (d *Device) String() string { return fmt.Sprintf("cuda:%d", d.index) }

// check is the function check for an act of d.
func (d *Device) check(act string, code C.h5_result) error {
	if err := check(act, code); err != nil {
		return fmt.Errorf("%v: %w", d, err)
	}
	return nil
}

// Stream returns the stream that kernels and copies of d are issued to.
func (d *Device) Stream() *Stream { return d.stream }

// Sync waits for everything issued so far.
func (d *Device) Sync() error {
	if err := d.refuseDuringCapture("wait"); err != nil {
		return err
	}
	if err := d.stream.Sync(); err != nil {
		return err
	}
	return d.fault.err(d)
}

// Upload copies src to this device, on its own stream. It returns once src has been
// read, which may be before the copy has completed.
func (d *Device) Upload(dst storage.Storage, offset int, src []byte) error {
	m, err := d.memoryRange("upload to", dst, offset, len(src))
	if err != nil || len(src) == 0 {
		return err
	}
	if err := d.refuseDuringCapture(fmt.Sprintf("upload %d bytes that are not pinned", len(src))); err != nil {
		return err
	}
	defer runtime.KeepAlive(m)
	d.count("upload", "", len(src))
	return d.staging.upload(d, m.address+uint64(offset), src)
}

// Download waits for all work issued before and copies from this device to dst.
func (d *Device) Download(dst []byte, src storage.Storage, offset int) error {
	m, err := d.memoryRange("download from", src, offset, len(dst))
	if err != nil || len(dst) == 0 {
		return err
	}
	if err := d.refuseDuringCapture(fmt.Sprintf("download %d bytes", len(dst))); err != nil {
		return err
	}
	defer runtime.KeepAlive(m)
	defer runtime.KeepAlive(dst)
	d.count("download", "", len(dst))
	code := C.h5_download(d.context, unsafe.Pointer(&dst[0]), C.h5_address(m.address+uint64(offset)), C.size_t(len(dst)), d.stream.handle)
	if err := d.check("download", code); err != nil {
		return err
	}
	return d.Sync()
}

// memoryRange returns the memory of d that s is; it has n bytes at offset.
func (d *Device) memoryRange(act string, s storage.Storage, offset, n int) (*memory, error) {
	m, ok := s.(*memory)
	if !ok || m.device != d {
		return nil, fmt.Errorf("%s %v: the storage is on %v: %w", act, d, s.Device(), storage.ErrDevice)
	}
	if err := storage.CheckRange(m, offset, n); err != nil {
		return nil, fmt.Errorf("%s %v: %w", act, d, err)
	}
	d.retain(m)
	return m, nil
}

// Run launches a kernel. A kernel without a CUDA implementation is an error.
func (d *Device) Run(k *kernels.Kernel, c *kernels.Call) error {
	return d.run(d, k, c)
}
