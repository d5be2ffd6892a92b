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

// A Graph is recorded work, which the driver issues all at once. It keeps the
// storages and the pinned memory that the work uses until it is closed.
type Graph struct {
	stream       *Stream
	handle       C.h5_handle // 0 once closed
	dependencies dependencies

	mu       sync.Mutex
	retained map[any]struct{}
	err      error // the first call that must not be recorded
}

var (
	_ kernels.GraphCapturer = (*Device)(nil)
	_ kernels.Graph         = (*Graph)(nil)
)

// Record records what work issues to d's own stream, as [kernels.Recorder] says.
func (d *Device) Capture(work func() error) (kernels.Graph, error) {
	g, err := d.stream.Capture(work)
	if err != nil {
		return nil, err
	}
	return g, nil
}

// Record calls work and returns what it issued to s, undone, and what it issued
// to streams that it made wait for s by events, which s has to wait for in turn.
// [kernels.Recorder] says what work must not do. Close the Graph.
func (s *Stream) Capture(work func() error) (*Graph, error) {
	d := s.device
	g := &Graph{stream: s, dependencies: dependencies{stream: s, barrierCall: -1}, retained: map[any]struct{}{}}
	if !d.capturing.CompareAndSwap(nil, g) {
		return nil, fmt.Errorf("%v: record: work is being recorded already: %w", d, storage.ErrState)
	}
	defer d.capturing.Store(nil)
	template, err := g.capture(work)
	if err != nil {
		return nil, fmt.Errorf("%v: record: %w", d, err)
	}
	err = d.check("make a graph", C.h5_graph_instantiate(d.context, &g.handle, template))
	if again := d.check("free a recording", C.h5_graph_destroy(d.context, template)); err == nil {
		err = again
	}
	calls, deep := g.Depth()
	d.count("record", fmt.Sprintf("%d calls, %d one after another", calls, deep), 0)
	return g, err
}

// capture returns the driver's handle of what work issues.
func (g *Graph) capture(work func() error) (template C.h5_handle, err error) {
	context, stream := g.stream.device.context, g.stream.handle
	if err := check("begin", C.h5_capture_begin(context, stream)); err != nil {
		return 0, err
	}
	defer func() { // also if work panics: the stream would record for ever
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

// errPanic is why there is no recording where work has panicked.
var errPanic = errors.New("panic")

// keep keeps what the work uses from the collector.
func (g *Graph) retain(thing any) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.retained[thing] = struct{}{}
}

// Run issues the work to the stream that it was recorded on, and does not wait.
func (g *Graph) Replay() error {
	d := g.stream.device
	if g.handle == 0 {
		return fmt.Errorf("%v: run a graph: it is closed: %w", d, storage.ErrState)
	}
	d.count("replay", "", 0)
	return d.check("run a graph", C.h5_graph_launch(d.context, g.handle, g.stream.handle))
}

// Close frees the graph, once its work is done, which what is issued to the device's
// own stream then comes after. Memory that it kept may be freed there.
func (g *Graph) Close() error {
	if g.handle == 0 {
		return nil
	}
	d := g.stream.device
	err := d.check("close a graph", C.h5_graph_exec_destroy(d.context, g.handle))
	if g.stream != d.stream { // which frees memory
		err = errors.Join(err, d.stream.waitStream(g.stream))
	}
	g.handle, g.retained = 0, nil
	return err
}

// unrecorded returns an error if work of d is being recorded, which act would break.
func (d *Device) refuseDuringCapture(act string) error {
	g := d.capturing.Load()
	if g == nil {
		return nil
	}
	err := fmt.Errorf("%v: %s: not while work is being recorded; do it before: %w", d, act, storage.ErrState)
	g.fail(err)
	return err
}

// refuse has recording fail with the first error.
func (g *Graph) fail(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err == nil {
		g.err = err
	}
}

// keep keeps what work of d uses while it is being recorded.
func (d *Device) retain(thing any) {
	if g := d.capturing.Load(); g != nil {
		g.retain(thing)
		if m, ok := thing.(*memory); ok {
			g.fail(g.dependencies.addAccess(m))
		}
	}
}
