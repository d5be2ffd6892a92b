package cuda

// #include "calls.h"
import "C"

import (
	"errors"
	"fmt"
	"sync"

	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
)

// A Graph is captured work, which the driver launches as a whole. Until it is closed it
// retains the storages and the pinned memory that the work uses.
type Graph struct {
	stream       *Stream
	handle       C.h5_handle // 0 once closed
	dependencies dependencies

	mu       sync.Mutex
	retained map[any]struct{}
	written  map[storage.Versioned]struct{} // by kernels
	err      error                          // of the first call that capture does not allow
}

var (
	_ kernels.GraphCapturer = (*Device)(nil)
	_ kernels.Graph         = (*Graph)(nil)
)

// Capture captures what work issues to d's own stream; see [kernels.GraphCapturer].
func (d *Device) Capture(order kernels.GraphOrder, work func() error) (kernels.Graph, error) {
	g, err := d.stream.Capture(order, work)
	if err != nil {
		return nil, err
	}
	return g, nil
}

// Capture calls work and returns a graph of what it issued to s and to streams that it
// forked from s by events, which must be joined to s again. Nothing runs during capture.
// [kernels.GraphCapturer] lists what work must not do. Close the Graph after use.
func (s *Stream) Capture(order kernels.GraphOrder, work func() error) (*Graph, error) {
	d := s.device
	if err := driverHas("cuStreamBeginCapture_v2", "cuStreamEndCapture", "cuGraphInstantiateWithFlags", "cuGraphDestroy", "cuGraphLaunch", "cuGraphExecDestroy"); err != nil {
		return nil, fmt.Errorf("%v: capture: %w", d, err)
	}
	g := &Graph{stream: s, dependencies: dependencies{stream: s, barrierCall: -1, straight: -1}, retained: map[any]struct{}{}, written: map[storage.Versioned]struct{}{}}
	if d.straightLine || order == kernels.StraightLine {
		g.dependencies.straight = 0
	}
	if !d.capturing.CompareAndSwap(nil, g) {
		return nil, fmt.Errorf("%v: capture: another capture is in progress: %w", d, storage.ErrState)
	}
	defer d.capturing.Store(nil)
	template, err := g.capture(work)
	if err != nil {
		if refused := g.dependencies.refused; errors.Is(err, refused) { // and nothing failed before
			g.refuseBranches(refused)
		}
		return nil, fmt.Errorf("%v: capture: %w", d, err)
	}
	err = d.check("instantiate a graph", C.h5_graph_instantiate(d.context, &g.handle, template))
	g.refuseBranches(err)
	if again := d.check("destroy a graph", C.h5_graph_destroy(d.context, template)); err == nil {
		err = again
	}
	calls, deep := g.Depth()
	d.count("capture", fmt.Sprintf("%d calls, longest chain %d", calls, deep), 0)
	return g, err
}

// refuseBranches makes later graphs straight lines if the driver has refused this one's
// branches.
func (g *Graph) refuseBranches(why error) {
	if d := g.stream.device; why != nil && g.dependencies.straight < 0 {
		d.straightLine = true
		d.fallBack("the kernels of a graph run one after another, because the driver refuses concurrent ones", why)
	}
}

// capture returns the driver's handle of the captured graph, to be instantiated.
func (g *Graph) capture(work func() error) (template C.h5_handle, err error) {
	context, stream := g.stream.device.context, g.stream.handle
	if err := check("begin", C.h5_capture_begin(context, stream)); err != nil {
		return 0, err
	}
	defer func() { // also if work panics: the stream must not stay in capture mode
		end := check("end", C.h5_capture_end(context, stream, &template))
		if err == nil {
			err = g.err
		}
		if err == nil {
			err = end
		} else if end == nil {
			C.h5_graph_destroy(context, template)
		}
	}()
	err = errPanic
	return 0, work()
}

// errPanic is the error of a capture whose work panics.
var errPanic = errors.New("panic")

// retain keeps an object that the work uses reachable.
func (g *Graph) retain(thing any) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.retained[thing] = struct{}{}
}

// writes notes the outputs of a captured kernel, whose versions each replay raises.
func (g *Graph) writes(outputs []storage.Array) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := range outputs {
		if data, ok := outputs[i].Data.(storage.Versioned); ok {
			g.written[data] = struct{}{}
		}
	}
}

// Replay launches the graph on the stream it was captured from, and does not wait. It
// counts as a write to every output of its kernels.
func (g *Graph) Replay() error {
	d := g.stream.device
	if g.handle == 0 {
		return fmt.Errorf("%v: replay a graph: it is closed: %w", d, storage.ErrState)
	}
	d.count("replay", "", 0)
	for data := range g.written {
		data.BumpVersion()
	}
	return d.check("replay a graph", C.h5_graph_launch(d.context, g.handle, g.stream.handle))
}

// Close destroys the graph once its work has completed. The device's own stream waits
// for that work, because the memory that the graph retained is freed there.
func (g *Graph) Close() error {
	if g.handle == 0 {
		return nil
	}
	d := g.stream.device
	err := d.check("close a graph", C.h5_graph_exec_destroy(d.context, g.handle))
	if g.stream != d.stream { // d.stream frees the memory
		err = errors.Join(err, d.stream.waitStream(g.stream))
	}
	g.handle, g.retained, g.written = 0, nil, nil
	return err
}

// refuseDuringCapture returns an error if work of d is being captured; act is not
// allowed then.
func (d *Device) refuseDuringCapture(act string) error {
	g := d.capturing.Load()
	if g == nil {
		return nil
	}
	err := fmt.Errorf("%v: %s: not allowed during graph capture; do it before: %w", d, act, storage.ErrState)
	g.fail(err)
	return err
}

// fail makes the capture fail with the first error.
func (g *Graph) fail(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err == nil {
		g.err = err
	}
}

// retain keeps an object that work of d uses reachable if that work is being captured.
func (d *Device) retain(thing any) {
	if g := d.capturing.Load(); g != nil {
		g.retain(thing)
		if m, ok := thing.(*memory); ok {
			g.fail(g.dependencies.addAccess(m))
		}
	}
}
