package cuda

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/kernels/launch"
	"github.com/h5dnn/h5dnn/storage"
)

// A streamRunner is a device whose kernels are launched on a stream other than its own.
type streamRunner struct {
	launch.GPU
	stream *Stream
}

// Run launches a kernel on s, concurrently with the device's own stream: order the two
// by events, and keep the operands reachable until the kernel is done.
func (s *Stream) Run(k *kernels.Kernel, c *kernels.Call) error {
	return s.device.run(streamRunner{s.device, s}, k, c)
}

// run launches a kernel on d itself or on one of its streams.
func (d *Device) run(way launch.GPU, k *kernels.Kernel, c *kernels.Call) error {
	if k.CUDA == nil {
		return fmt.Errorf("%s: not implemented on GPUs; move its operands to cpu: %w", k.Name, storage.ErrDevice)
	}
	defer c.CountWrites()
	defer runtime.KeepAlive(c)
	if g := d.geometry.Load(); g != nil && c.Geometry == (launch.Geometry{}) {
		on := *c
		on.Geometry = *g
		c = &on
	}
	d.countCopy(k, c)
	g := d.capturing.Load()
	if g != nil {
		g.writes(c.Out)
	}
	if g != nil && g.stream == d.stream && way == launch.GPU(d) {
		err := g.dependencies.run(c, func() error { return k.CUDA(way, c) })
		g.fail(err) // the dependencies of later work are unknown now
		return err
	}
	return k.CUDA(way, c)
}

// StorageDevice returns the device that the stream belongs to.
func (l streamRunner) StorageDevice() storage.Device { return l.stream.device }

// Launch launches an entry on the stream.
func (l streamRunner) Launch(entry string, blocks [3]uint32, threads uint32, args []byte) error {
	return l.stream.device.launch(l.stream, entry, blocks, threads, args)
}

// Workspace provides the device's workspace memory. What use issues runs after all work
// issued to the device's own stream before, and before all that is issued to it later.
func (l streamRunner) Workspace(bytes int, use func(address uint64) error) error {
	own := l.stream.device.stream
	return own.device.Workspace(bytes, func(address uint64) error {
		if err := l.stream.waitStream(own); err != nil {
			return err
		}
		return errors.Join(use(address), own.waitStream(l.stream))
	})
}
