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
	stream *Stream
	handle C.h5_handle // 0 once closed
	order  order

	mu      sync.Mutex
	kept    map[any]struct{}
	refused error // the first call that must not be recorded
}

var (
	_ kernels.Recorder = (*Device)(nil)
	_ kernels.Replay   = (*Graph)(nil)
)

// Record records what work issues to d's own stream, as [kernels.Recorder] says.
func (d *Device) Record(work func() error) (kernels.Replay, error) {
	g, err := d.stream.Record(work)
	if err != nil {
		return nil, err
	}
	return g, nil
}

// Record calls work and returns what it issued to s, undone, and what it issued
// to streams that it made wait for s by events, which s has to wait for in turn.
// [kernels.Recorder] says what work must not do. Close the Graph.
func (s *Stream) Record(work func() error) (*Graph, error) {
	d := s.device
	g := &Graph{stream: s, order: order{stream: s, first: -1}, kept: map[any]struct{}{}}
	if !d.recording.CompareAndSwap(nil, g) {
		return nil, fmt.Errorf("%v: record: work is being recorded already: %w", d, storage.ErrState)
	}
	defer d.recording.Store(nil)
	template, err := g.capture(work)
	if err != nil {
		return nil, fmt.Errorf("%v: record: %w", d, err)
	}
	err = d.check("make a graph", C.h5_graph(d.context, &g.handle, template))
	if again := d.check("free a recording", C.h5_graph_forget(d.context, template)); err == nil {
		err = again
	}
	calls, deep := g.Depth()
	d.note("record", fmt.Sprintf("%d calls, %d one after another", calls, deep), 0)
	return g, err
}

// capture returns the driver's handle of what work issues.
func (g *Graph) capture(work func() error) (template C.h5_handle, err error) {
	context, stream := g.stream.device.context, g.stream.handle
	if err := check("begin", C.h5_record(context, stream)); err != nil {
		return 0, err
	}
	defer func() { // also if work panics: the stream would record for ever
		end := check("end", C.h5_recorded(context, stream, &template))
		if err == nil {
			err = g.refused
		}
		if err == nil {
			err = end
		} else if end == nil {
			C.h5_graph_forget(context, template)
		}
	}()
	err = errPanic
	return 0, work()
}

// errPanic is why there is no recording where work has panicked.
var errPanic = errors.New("panic")

// keep keeps what the work uses from the collector.
func (g *Graph) keep(thing any) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.kept[thing] = struct{}{}
}

// Run issues the work to the stream that it was recorded on, and does not wait.
func (g *Graph) Run() error {
	d := g.stream.device
	if g.handle == 0 {
		return fmt.Errorf("%v: run a graph: it is closed: %w", d, storage.ErrState)
	}
	d.note("replay", "", 0)
	return d.check("run a graph", C.h5_graph_run(d.context, g.handle, g.stream.handle))
}

// Close frees the graph, once its work is done, which what is issued to the device's
// own stream then comes after. Memory that it kept may be freed there.
func (g *Graph) Close() error {
	if g.handle == 0 {
		return nil
	}
	d := g.stream.device
	err := d.check("close a graph", C.h5_graph_destroy(d.context, g.handle))
	if g.stream != d.stream { // which frees memory
		err = errors.Join(err, d.stream.follow(g.stream))
	}
	g.handle, g.kept = 0, nil
	return err
}

// unrecorded returns an error if work of d is being recorded, which act would break.
func (d *Device) unrecorded(act string) error {
	g := d.recording.Load()
	if g == nil {
		return nil
	}
	err := fmt.Errorf("%v: %s: not while work is being recorded; do it before: %w", d, act, storage.ErrState)
	g.refuse(err)
	return err
}

// refuse has recording fail with the first error.
func (g *Graph) refuse(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.refused == nil {
		g.refused = err
	}
}

// keep keeps what work of d uses while it is being recorded.
func (d *Device) keep(thing any) {
	if g := d.recording.Load(); g != nil {
		g.keep(thing)
		if m, ok := thing.(*memory); ok {
			g.refuse(g.order.use(m))
		}
	}
}
