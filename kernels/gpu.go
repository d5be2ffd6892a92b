package kernels

import (
	"fmt"

	"github.com/h5dnn/h5dnn/kernels/launch"
)

// A Fault is an error of device code, which a launch cannot return: the error of the first kernel
// that found one. Row is its first bad row, whose Label is not one of Classes classes; or, if
// Classes is −1 − n, index number Row is Label, which is not one of n rows.
type Fault struct{ Row, Label, Classes int64 }

// NoFault is the initial state.
var NoFault = Fault{Row: 1<<63 - 1}

// Err returns the fault as an error, or nil.
func (f Fault) Err() error {
	if f == NoFault {
		return nil
	}
	if f.Classes < 0 {
		return badRow(int(f.Row), f.Label, int(-1-f.Classes))
	}
	return badLabel(int(f.Row), f.Label, int(f.Classes))
}

// onGPU gives k its launch, in place of [launch.Target.LaunchElementwise]. Options and operands are
// checked as on the CPU. It returns k.
func onGPU[O any](k *Kernel, run func(c *Call, options O) error) *Kernel {
	k.CUDA = func(g launch.GPU, c *Call) error {
		on := *c
		on.gpu = launch.Target{GPU: g, Geometry: c.Geometry}
		if err := k.check(&on); err != nil {
			return err
		}
		options, _ := c.Options.(O)
		err := c.Geometry.Check()
		if err == nil {
			err = run(&on, options)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", k.Name, err)
		}
		return nil
	}
	return k
}

// hostOnly makes k a kernel without device code, which GPUs refuse by name. It returns k.
func hostOnly(k *Kernel) *Kernel {
	k.CUDA, k.HostOnly = nil, true
	return k
}

// launch runs another kernel on c's GPU, with c's geometry.
func (c *Call) launch(k *Kernel, call *Call) error {
	call.Geometry = c.Geometry
	return k.CUDA(c.gpu.GPU, call)
}
