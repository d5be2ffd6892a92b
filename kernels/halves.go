package kernels

import (
	"sync"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// isHalf reports whether t is a float of 16 bits.
func isHalf(t dtype.Type) bool { return t == dtype.Float16 || t == dtype.BFloat16 }

// A division says how a call is computed in parts.
type division struct {
	out, in []int // for each operand the axis that is divided, undivided or summed
	least   int   // indices of a part, at least
	reads   bool  // outputs are read as well
}

const (
	undivided = -1 // the operand is the same in every part
	summed    = -2 // the output is the sum of those of all parts
)

// halfTile is the number of elements of the largest operand in a part of a call. Tests change it.
var halfTile = 1 << 18

// withHalfFloats makes k, which is written for float32 and float64, take float16 and bfloat16 on the CPU as well. Operands are
// converted to float64 for the reference. For the optimized implementation, which divide allows to compute part by part, each
// part is converted to float32 and its results are rounded, so that little more memory is needed than for the operands that
// are undivided. It returns k.
func withHalfFloats(k *Kernel, divide func(c *Call) division) *Kernel {
	reference, optimized := k.Reference, k.Optimized
	k.Reference = func(c *Call) error {
		if !c.hasHalfFloats() {
			return reference(c)
		}
		if err := k.check(c); err != nil {
			return err
		}
		all := c.inOnePart()
		all.reads = true
		return c.converted(dtype.Float64, all, reference)
	}
	k.Optimized = func(c *Call) (done bool, err error) {
		if !c.hasHalfFloats() {
			return optimized(c)
		}
		if err := k.check(c); err != nil {
			return false, err
		}
		err = c.converted(dtype.Float32, divide(c), func(wide *Call) (err error) {
			if done, err = optimized(wide); !done && err == nil {
				done, err = true, reference(wide)
			}
			return err
		})
		return done, err
	}
	return k
}

// byFirst is the division of a call along the first axis of all operands but those from a number of inputs on.
func byFirst(divided int) func(c *Call) division {
	return func(c *Call) division {
		d := c.inOnePart()
		clear(d.out)
		clear(d.in[:min(divided, len(d.in))])
		return d
	}
}

// inOnePart is the division of a call that is not divided.
func (c *Call) inOnePart() (d division) {
	axes := make([]int, len(c.Out)+len(c.In))
	for i := range axes {
		axes[i] = undivided
	}
	return division{out: axes[:len(c.Out)], in: axes[len(c.Out):]}
}

func (c *Call) hasHalfFloats() bool {
	for _, list := range [2][]storage.Array{c.Out, c.In} {
		for i := range list {
			if isHalf(list[i].Type) {
				return true
			}
		}
	}
	return false
}

// wideMemory is memory of operands in another type.
var wideMemory = sync.Pool{New: func() any { return new(wideBuffers) }}

type wideBuffers struct {
	free []storage.Storage
	used []storage.Storage
}

// alloc returns an array of a shape with its axes in the order of a view.
func (w *wideBuffers) alloc(t dtype.Type, like views.View) storage.Array {
	v := views.Like(like)
	n := v.Len() * t.Size()
	for i, s := range w.free {
		if s.Len() >= n {
			w.free = append(w.free[:i], w.free[i+1:]...)
			w.used = append(w.used, s)
			return storage.Array{Data: s, Type: t, View: v}
		}
	}
	s, err := storage.CPU.Alloc((n + 63) &^ 63)
	must(err)
	w.used = append(w.used, s)
	return storage.Array{Data: s, Type: t, View: v}
}

// release keeps what is small for other calls.
func (w *wideBuffers) release() {
	const kept, bytes = 4, 2 << 20
	for _, s := range w.used {
		if s.Len() <= bytes && len(w.free) < kept {
			w.free = append(w.free, s)
		}
	}
	w.used = w.used[:0]
	wideMemory.Put(w)
}

// converted runs a checked call on copies of its float operands as type t, part by part, and stores its outputs.
func (c *Call) converted(t dtype.Type, d division, run func(wide *Call) error) error {
	n, most := 1, 0 // indices that are divided, and elements of one
	for i, axes := range [2][]int{d.out, d.in} {
		for k, axis := range axes {
			if a := &[2][]storage.Array{c.Out, c.In}[i][k]; axis >= 0 {
				n = a.Shape[axis]
				most = max(most, a.Len()/max(n, 1))
			}
		}
	}
	parts := 1
	if most > 0 {
		parts = max(1, min((n*most+halfTile-1)/halfTile, n/max(d.least, 1)))
	}
	w := wideMemory.Get().(*wideBuffers)
	defer w.release()
	wide := Call{Out: make([]storage.Array, len(c.Out)), In: make([]storage.Array, len(c.In)), Options: c.Options}
	sums := make([]storage.Array, len(c.Out))
	for i := range c.In {
		if d.in[i] == undivided {
			wide.In[i] = w.converted(&c.In[i], t)
		}
	}
	for i := range c.Out {
		if d.out[i] == undivided || d.out[i] == summed {
			wide.Out[i] = w.result(&c.Out[i], t, d.reads)
		}
	}
	always := len(w.used)
	for part := range parts {
		first, end := n*part/parts, n*(part+1)/parts
		outs := make([]storage.Array, len(c.Out))
		for i := range c.In {
			if axis := d.in[i]; axis >= 0 {
				in := c.In[i].With(c.In[i].Narrow(axis, first, end))
				wide.In[i] = w.converted(&in, t)
			}
		}
		for i := range c.Out {
			if axis := d.out[i]; axis >= 0 {
				outs[i] = c.Out[i].With(c.Out[i].Narrow(axis, first, end))
				wide.Out[i] = w.result(&outs[i], t, d.reads)
			}
		}
		if err := run(&wide); err != nil {
			return err
		}
		for i := range c.Out {
			switch {
			case d.out[i] >= 0:
				store16(&outs[i], &wide.Out[i])
			case d.out[i] == summed && parts > 1:
				addTo(&sums[i], &wide.Out[i])
			}
		}
		w.free, w.used = append(w.free, w.used[always:]...), w.used[:always]
	}
	for i := range c.Out {
		switch {
		case sums[i].Data != nil:
			store16(&c.Out[i], &sums[i])
		case d.out[i] < 0:
			store16(&c.Out[i], &wide.Out[i])
		}
	}
	return nil
}

// converted returns a copy of a as type t with its axes in the same order in memory; an array of that type or
// of another kind than floats is returned unchanged.
func (w *wideBuffers) converted(a *storage.Array, t dtype.Type) storage.Array {
	if !a.Type.IsFloat() || a.Type == t {
		return *a
	}
	wide := w.alloc(t, a.View)
	store16(&wide, a)
	return wide
}

// result is converted for an output, which need not be read.
func (w *wideBuffers) result(a *storage.Array, t dtype.Type, reads bool) storage.Array {
	if reads || !a.Type.IsFloat() || a.Type == t {
		return w.converted(a, t)
	}
	return w.alloc(t, a.View)
}

// store16 sets y to the numbers of x, unless it is x.
func store16(y, x *storage.Array) {
	if y.Type.IsFloat() && y.Data != x.Data && !nativeCast(y, x, CastOptions{Scale: 1}) {
		convertElements(y, x)
	}
}

// addTo adds x, float32, to the sums, float64, which are made if there are none.
func addTo(sums, x *storage.Array) {
	if sums.Data == nil {
		*sums = zeros(x.Shape)
	}
	all, elems := storage.Elements[float64](*sums), storage.Elements[float32](*x)
	views.Walk(func(at, step []int, n int) {
		for i := range n {
			all[at[0]+i*step[0]] += float64(elems[at[1]+i*step[1]])
		}
	}, sums.View, x.View)
}
