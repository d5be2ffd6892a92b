package cuda

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
)

// A lane is a device whose kernels run on another stream than its own.
type streamRunner struct {
	kernels.GPU
	stream *Stream
}

// Run launches a kernel on s, beside the device's own stream: events put the two
// in order, and operands must be kept until it is done.
func (s *Stream) Run(k *kernels.Kernel, c *kernels.Call) error {
	return s.device.run(streamRunner{s.device, s}, k, c)
}

// run launches a kernel by one of d's ways.
func (d *Device) run(way kernels.GPU, k *kernels.Kernel, c *kernels.Call) error {
	if k.CUDA == nil {
		return fmt.Errorf("%s: has no CUDA side; move its operands to cpu: %w", k.Name, storage.ErrDevice)
	}
	defer runtime.KeepAlive(c)
	d.countCopy(k, c)
	if g := d.capturing.Load(); g != nil && g.stream == d.stream && way == kernels.GPU(d) {
		err := g.dependencies.run(c, func() error { return k.CUDA(way, c) })
		g.fail(err) // what is issued next would not know what to come after
		return err
	}
	return k.CUDA(way, c)
}

// Home returns the device.
func (l streamRunner) Home() storage.Device { return l.stream.device }

// Launch starts an entry on the stream.
func (l streamRunner) Launch(entry string, blocks [3]uint32, threads uint32, args []byte) error {
	return l.stream.device.launch(l.stream, entry, blocks, threads, args)
}

// Scratch lends the device's memory: use comes after all work of the device's own
// stream, and before what that is given later.
func (l streamRunner) Workspace(bytes int, use func(address uint64) error) error {
	own := l.stream.device.stream
	return own.device.Workspace(bytes, func(address uint64) error {
		if err := l.stream.waitStream(own); err != nil {
			return err
		}
		return errors.Join(use(address), own.waitStream(l.stream))
	})
}
