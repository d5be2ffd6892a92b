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
type order struct {
	stream *Stream
	calls  []call
	leaves []int // calls that none comes after
	first  int   // the call that all others come after, or -1
	uses   []use

	now *call // what is being issued, nil between calls
}

// A call is recorded work that is done in its own order.
type call struct {
	nodes          []C.h5_handle // the last of the driver's graph
	before         big.Int       // the calls that it comes after, as a set
	inputs, others []storage.Storage
	used           []use
}

// A use is of one call, of a stretch of memory.
type use struct {
	from, to uint64
	call     int
	write    bool
}

// conflicts reports whether two uses of one memory must keep their order.
func (u use) conflicts(v use) bool { return (u.write || v.write) && u.from < v.to && v.from < u.to }

// run records what issue issues for c, which uses the storages of c and those
// whose addresses it asks for.
func (o *order) run(c *kernels.Call, issue func() error) error {
	if err := o.begin(c); err != nil {
		return err
	}
	defer func() { o.now = nil }()
	if err := issue(); err != nil {
		return err
	}
	return o.end()
}

// begin has what is issued next come after nothing but what c has to.
func (o *order) begin(c *kernels.Call) error {
	if err := o.fence(); err != nil {
		return err
	}
	o.now = new(call)
	for _, x := range c.In {
		o.now.inputs = append(o.now.inputs, x.Data)
	}
	for _, x := range c.Out {
		o.now.others = append(o.now.others, x.Data)
	}
	after := []int{}
	if o.first >= 0 {
		after = append(after, o.first)
	}
	for _, x := range slices.Concat(c.In, c.Out) {
		if m, ok := x.Data.(*memory); ok {
			after = append(after, o.note(m)...)
		}
	}
	return o.follow(after, C.H5_CAPTURE_SET)
}

// use has the call come after what its use of m has to, if that is not known yet.
func (o *order) use(m *memory) error {
	if o.now == nil {
		return nil
	}
	return o.follow(o.note(m), C.H5_CAPTURE_ADD)
}

// note adds the use of m by the call, and returns the calls that it conflicts with.
func (o *order) note(m *memory) (after []int) {
	u := use{m.address, m.address + uint64(m.size), len(o.calls), true}
	if slices.Contains(o.now.inputs, storage.Storage(m)) && !slices.Contains(o.now.others, storage.Storage(m)) {
		u.write = false
	}
	if slices.Contains(o.now.used, u) {
		return nil
	}
	o.now.used = append(o.now.used, u)
	for _, v := range o.uses {
		if u.conflicts(v) {
			after = append(after, v.call)
		}
	}
	return after
}

// follow has what is issued next come after calls, but for those that others of
// them come after already.
func (o *order) follow(after []int, how C.unsigned) error {
	slices.Sort(after)
	var nodes []C.h5_handle
	for _, i := range slices.Backward(slices.Compact(after)) {
		if o.now.before.Bit(i) == 0 {
			nodes = append(nodes, o.calls[i].nodes...)
			o.now.before.SetBit(&o.now.before, i, 1)
			o.now.before.Or(&o.now.before, &o.calls[i].before)
		}
	}
	if len(nodes) == 0 && how == C.H5_CAPTURE_ADD {
		return nil
	}
	return o.set(nodes, how)
}

// end takes the call up, and has what is issued beside calls come after all of them.
func (o *order) end() (err error) {
	c := o.now
	if c.nodes, err = o.front(); err != nil {
		return err
	}
	o.uses = slices.DeleteFunc(o.uses, func(old use) bool {
		return slices.ContainsFunc(c.used, func(u use) bool { return u.write && u.from <= old.from && old.to <= u.to })
	})
	o.uses = append(o.uses, c.used...)
	o.add(c)
	return o.set(o.behind(), C.H5_CAPTURE_SET)
}

func (o *order) add(c *call) {
	o.leaves = slices.DeleteFunc(o.leaves, func(i int) bool { return c.before.Bit(i) == 1 })
	o.leaves = append(o.leaves, len(o.calls))
	o.calls = append(o.calls, *c)
}

// behind returns the nodes that no others come after.
func (o *order) behind() (nodes []C.h5_handle) {
	for _, i := range o.leaves {
		nodes = append(nodes, o.calls[i].nodes...)
	}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

// fence makes a call of what was issued beside calls, which all that follow come after.
func (o *order) fence() error {
	now, err := o.front()
	if slices.Sort(now); err != nil || slices.Equal(now, o.behind()) {
		return err
	}
	c := &call{nodes: now}
	for i := range o.calls {
		c.before.SetBit(&c.before, i, 1)
	}
	o.first, o.uses = len(o.calls), nil
	o.add(c)
	return nil
}

// front returns the nodes that what is issued next comes after.
func (o *order) front() ([]C.h5_handle, error) {
	var nodes *C.h5_handle
	var n C.size_t
	if err := check("ask what is recorded", C.h5_capture_front(o.stream.device.context, o.stream.handle, &nodes, &n)); err != nil {
		return nil, err
	}
	return slices.Clone(unsafe.Slice(nodes, int(n))), nil
}

func (o *order) set(nodes []C.h5_handle, how C.unsigned) error {
	return check("order what is recorded", C.h5_capture_follow(o.stream.device.context, o.stream.handle, unsafe.SliceData(append(nodes, 0)), C.size_t(len(nodes)), how))
}

// Depth returns how many calls the graph is made of, work beside calls counted as
// one, and how many of them come one after another at least.
func (g *Graph) Depth() (calls, deep int) {
	depths := make([]int, len(g.order.calls))
	for i, c := range g.order.calls {
		for k := range i {
			if c.before.Bit(k) == 1 {
				depths[i] = max(depths[i], depths[k])
			}
		}
		depths[i]++
		deep = max(deep, depths[i])
	}
	return len(depths), deep
}
