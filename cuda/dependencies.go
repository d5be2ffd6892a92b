package cuda

// #include "calls.h"
import "C"

import (
	"math/big"
	"slices"
	"unsafe"

	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
)

// An order is which recorded calls come after which: one that writes a storage after
// all that used it, one that reads it after what wrote it last. A graph may do the
// others at once. Work that is issued beside calls comes after all before it, and before
// all behind it.
type dependencies struct {
	stream      *Stream
	calls       []callNodes
	leaves      []int // calls that none comes after
	barrierCall int   // the call that all others come after, or -1
	accesses    []access

	current *callNodes // what is being issued, nil between calls
}

// A call is recorded work that is done in its own order.
type callNodes struct {
	nodes           []C.h5_handle // the last of the driver's graph
	ancestors       big.Int       // the calls that it comes after, as a set
	inputs, outputs []storage.Storage
	accesses        []access
}

// A use is of one call, of a stretch of memory.
type access struct {
	from, to uint64
	call     int
	write    bool
}

// conflicts reports whether two uses of one memory must keep their order.
func (u access) conflicts(v access) bool {
	return (u.write || v.write) && u.from < v.to && v.from < u.to
}

// run records what issue issues for c, which uses the storages of c and those
// whose addresses it asks for.
func (o *dependencies) run(c *kernels.Call, issue func() error) error {
	if err := o.begin(c); err != nil {
		return err
	}
	defer func() { o.current = nil }()
	if err := issue(); err != nil {
		return err
	}
	return o.end()
}

// begin has what is issued next come after nothing but what c has to.
func (o *dependencies) begin(c *kernels.Call) error {
	if err := o.barrier(); err != nil {
		return err
	}
	o.current = new(callNodes)
	for _, x := range c.In {
		o.current.inputs = append(o.current.inputs, x.Data)
	}
	for _, x := range c.Out {
		o.current.outputs = append(o.current.outputs, x.Data)
	}
	after := []int{}
	if o.barrierCall >= 0 {
		after = append(after, o.barrierCall)
	}
	for _, x := range slices.Concat(c.In, c.Out) {
		if m, ok := x.Data.(*memory); ok {
			after = append(after, o.recordAccess(m)...)
		}
	}
	return o.dependOn(after, C.H5_CAPTURE_SET)
}

// use has the call come after what its use of m has to, if that is not known yet.
func (o *dependencies) addAccess(m *memory) error {
	if o.current == nil {
		return nil
	}
	return o.dependOn(o.recordAccess(m), C.H5_CAPTURE_ADD)
}

// note adds the use of m by the call, and returns the calls that it conflicts with.
func (o *dependencies) recordAccess(m *memory) (after []int) {
	u := access{m.address, m.address + uint64(m.size), len(o.calls), true}
	if slices.Contains(o.current.inputs, storage.Storage(m)) && !slices.Contains(o.current.outputs, storage.Storage(m)) {
		u.write = false
	}
	if slices.Contains(o.current.accesses, u) {
		return nil
	}
	o.current.accesses = append(o.current.accesses, u)
	for _, v := range o.accesses {
		if u.conflicts(v) {
			after = append(after, v.call)
		}
	}
	return after
}

// follow has what is issued next come after calls, but for those that others of
// them come after already.
func (o *dependencies) dependOn(after []int, how C.unsigned) error {
	slices.Sort(after)
	var nodes []C.h5_handle
	for _, i := range slices.Backward(slices.Compact(after)) {
		if o.current.ancestors.Bit(i) == 0 {
			nodes = append(nodes, o.calls[i].nodes...)
			o.current.ancestors.SetBit(&o.current.ancestors, i, 1)
			o.current.ancestors.Or(&o.current.ancestors, &o.calls[i].ancestors)
		}
	}
	if len(nodes) == 0 && how == C.H5_CAPTURE_ADD {
		return nil
	}
	return o.setDependencies(nodes, how)
}

// end takes the call up, and has what is issued beside calls come after all of them.
func (o *dependencies) end() (err error) {
	c := o.current
	if c.nodes, err = o.captured(); err != nil {
		return err
	}
	o.accesses = slices.DeleteFunc(o.accesses, func(old access) bool {
		return slices.ContainsFunc(c.accesses, func(u access) bool { return u.write && u.from <= old.from && old.to <= u.to })
	})
	o.accesses = append(o.accesses, c.accesses...)
	o.add(c)
	return o.setDependencies(o.leafNodes(), C.H5_CAPTURE_SET)
}

func (o *dependencies) add(c *callNodes) {
	o.leaves = slices.DeleteFunc(o.leaves, func(i int) bool { return c.ancestors.Bit(i) == 1 })
	o.leaves = append(o.leaves, len(o.calls))
	o.calls = append(o.calls, *c)
}

// behind returns the nodes that no others come after.
func (o *dependencies) leafNodes() (nodes []C.h5_handle) {
	for _, i := range o.leaves {
		nodes = append(nodes, o.calls[i].nodes...)
	}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

// fence makes a call of what was issued beside calls, which all that follow come after.
func (o *dependencies) barrier() error {
	now, err := o.captured()
	if slices.Sort(now); err != nil || slices.Equal(now, o.leafNodes()) {
		return err
	}
	c := &callNodes{nodes: now}
	for i := range o.calls {
		c.ancestors.SetBit(&c.ancestors, i, 1)
	}
	o.barrierCall, o.accesses = len(o.calls), nil
	o.add(c)
	return nil
}

// front returns the nodes that what is issued next comes after.
func (o *dependencies) captured() ([]C.h5_handle, error) {
	var nodes *C.h5_handle
	var n C.size_t
	if err := check("ask what is recorded", C.h5_capture_dependencies(o.stream.device.context, o.stream.handle, &nodes, &n)); err != nil {
		return nil, err
	}
	return slices.Clone(unsafe.Slice(nodes, int(n))), nil
}

func (o *dependencies) setDependencies(nodes []C.h5_handle, how C.unsigned) error {
	return check("order what is recorded", C.h5_capture_set_dependencies(o.stream.device.context, o.stream.handle, unsafe.SliceData(append(nodes, 0)), C.size_t(len(nodes)), how))
}

// Depth returns how many calls the graph is made of, work beside calls counted as
// one, and how many of them come one after another at least.
func (g *Graph) Depth() (calls, deep int) {
	depths := make([]int, len(g.dependencies.calls))
	for i, c := range g.dependencies.calls {
		for k := range i {
			if c.ancestors.Bit(k) == 1 {
				depths[i] = max(depths[i], depths[k])
			}
		}
		depths[i]++
		deep = max(deep, depths[i])
	}
	return len(depths), deep
}
