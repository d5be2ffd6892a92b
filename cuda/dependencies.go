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

// dependencies are the edges of a graph during capture. A kernel call that writes a
// storage depends on all calls that used it; a call that reads it depends on the last
// call that wrote it. All other calls may run concurrently. Work that is issued outside
// of kernel calls, such as copies, depends on everything before it, and everything after
// it depends on it.
type dependencies struct {
	stream      *Stream
	calls       []callNodes
	leaves      []int // calls that no other depends on
	barrierCall int   // the last call that all later ones depend on, or -1
	accesses    []access
	straight    int   // the number of calls, if each depends on the one before; else -1
	refused     error // of the driver's, to query or set dependencies

	current *callNodes // the call being issued, nil between calls
}

// callNodes is the part of a graph that one kernel call has issued.
type callNodes struct {
	nodes           []C.h5_handle // the last ones issued
	ancestors       big.Int       // the set of calls that it depends on, directly or not
	inputs, outputs []storage.Storage
	accesses        []access
}

// An access is a range of memory that a call uses.
type access struct {
	from, to uint64
	call     int
	write    bool
}

// conflicts reports whether two accesses must keep their order.
func (u access) conflicts(v access) bool {
	return (u.write || v.write) && u.from < v.to && v.from < u.to
}

// run captures what issue issues for c. It uses the storages of c and those whose
// addresses it takes.
func (o *dependencies) run(c *kernels.Call, issue func() error) error {
	if o.straight >= 0 {
		o.straight++
		return issue()
	}
	if err := o.begin(c); err != nil {
		return err
	}
	defer func() { o.current = nil }()
	if err := issue(); err != nil {
		return err
	}
	return o.end()
}

// begin makes the next node depend on what c depends on, and nothing else.
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

// addAccess adds the dependencies that the current call's access of m creates.
func (o *dependencies) addAccess(m *memory) error {
	if o.current == nil {
		return nil
	}
	return o.dependOn(o.recordAccess(m), C.H5_CAPTURE_ADD)
}

// recordAccess adds an access of m to the current call, and returns the calls that it
// conflicts with.
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

// dependOn makes the next node depend on calls, leaving out those that it depends on
// indirectly.
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

// end adds the call, and makes work outside of calls depend on all calls so far.
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

// leafNodes returns the nodes that no others depend on.
func (o *dependencies) leafNodes() (nodes []C.h5_handle) {
	for _, i := range o.leaves {
		nodes = append(nodes, o.calls[i].nodes...)
	}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

// barrier turns work issued outside of calls into a call that all later ones depend on.
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

// captured returns the nodes that the next node depends on.
func (o *dependencies) captured() ([]C.h5_handle, error) {
	var nodes *C.h5_handle
	var n C.size_t
	if err := check("query a capture", C.h5_capture_dependencies(o.stream.device.context, o.stream.handle, &nodes, &n)); err != nil {
		o.refused = err
		return nil, err
	}
	return slices.Clone(unsafe.Slice(nodes, int(n))), nil
}

func (o *dependencies) setDependencies(nodes []C.h5_handle, how C.unsigned) error {
	err := check("set the dependencies of a capture", C.h5_capture_set_dependencies(o.stream.device.context, o.stream.handle, unsafe.SliceData(append(nodes, 0)), C.size_t(len(nodes)), how))
	if err != nil {
		o.refused = err
	}
	return err
}

// Depth returns the number of calls in the graph, consecutive work outside of calls
// counted as one, and the length of its longest chain of dependent calls.
func (g *Graph) Depth() (calls, deep int) {
	if n := g.dependencies.straight; n >= 0 {
		return n, n
	}
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
