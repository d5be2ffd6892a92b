package kernels

// #include "matmul.h"
import "C"

import (
	"fmt"
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
)

var (
	_ = onGPU(MatMul, func(c *Call, _ struct{}) error {
		z, x, y := &c.Out[0], &c.In[0], &c.In[1]
		var p product
		if z.Len() == 0 {
			return nil
		}
		if !p.of(z, x, y) {
			return fmt.Errorf("%v has more than %d leading axes that cannot be joined; copy it first: %w", z.Shape, C.H5K_BATCH_AXES, storage.ErrState)
		}
		if done, err := c.multiply(&p, z, x, y, nil, NoActivation); done || err != nil {
			return err
		}
		return c.launchProduct(&p, z, x, y, nil, false)
	})

	_ = onGPU(Linear, func(c *Call, set LinearSet) error {
		l := linearOf(c, set)
		if l.y.Len() == 0 {
			return nil
		}
		var p product
		p.m, p.k, p.n = C.int64_t(l.x.Shape[0]), C.int64_t(l.x.Shape[1]), C.int64_t(l.w.Shape[0])
		for i := range 2 {
			p.x[i], p.y[1-i], p.z[i] = lastStride(l.x, i), lastStride(l.w, i), lastStride(l.y, i)
		}
		if done, err := c.multiply(&p, l.y, l.x, l.wT(), l.b, set.Act); done || err != nil {
			return err
		}
		if err := c.launchProduct(&p, l.y, l.x, l.w, l.b, set.Act == ReluActivation); err != nil {
			return err
		}
		return c.activate(l.y, set.Act.unlessRelu())
	})
)

// unlessRelu is what is left to apply where relu has been.
func (a Activation) unlessRelu() Activation {
	if a == ReluActivation {
		return NoActivation
	}
	return a
}

// activate applies an activation in place.
func (c *Call) activate(y *storage.Array, act Activation) error {
	if act == NoActivation {
		return nil
	}
	on := Call{Out: []storage.Array{*y}, In: []storage.Array{*y}, gpu: c.gpu}
	return on.launchLoop(act.String(), 0, 0)
}

// productArgs is Product of matmul.cu.
type productArgs struct {
	z, x, y, bias, part uint64
	biasStep, relu      int64
	e                   extent
	batches             int64
	xStep, yStep, zStep [2]int64
	axes                int64
	batch, xBatch       [C.H5K_BATCH_AXES]int64
	yBatch, zBatch      [C.H5K_BATCH_AXES]int64
}

// A matrices is a tiled matrix product, of m by n elements, each a sum of k.
type matrices struct {
	productArgs
	t       dtype.Type
	m, n, k int64
}

// launchProduct is z = x·y, or with a bias, or its relu.
func (c *Call) launchProduct(p *product, z, x, y, bias *storage.Array, relu bool) error {
	args := productArgs{z: c.first(z), x: c.first(x), y: c.first(y), bias: c.first(bias), axes: int64(p.axes)}
	if bias != nil {
		args.biasStep = int64(bias.Stride[0])
	}
	if relu {
		args.relu = 1
	}
	for i := range 2 {
		args.xStep[i], args.yStep[i], args.zStep[i] = int64(p.x[i]), int64(p.y[i]), int64(p.z[i])
	}
	for i := range p.axes {
		args.batch[i], args.xBatch[i], args.yBatch[i], args.zBatch[i] = int64(p.batch[i]), int64(p.x_batch[i]), int64(p.y_batch[i]), int64(p.z_batch[i])
	}
	return c.launchTiles(z.Type, &matrices{args, z.Type, int64(p.m), int64(p.n), int64(p.k)})
}

func (p *matrices) size() [4]int {
	batches := 1
	for _, n := range p.batch[:p.axes] {
		batches *= int(n)
	}
	return [4]int{batches, int(p.m), int(p.n), int(p.k)}
}

func (p *matrices) halves(side int) (tiled, tiled) {
	first, rest := *p, *p
	half, _ := first.side(side)
	left, step := rest.side(side)
	*half = halved(*half)
	*left -= *half
	for i, address := range []*uint64{&rest.x, &rest.y, &rest.z, &rest.bias} {
		*address += uint64(*half * step[i] * int64(p.t.Size()))
	}
	return &first, &rest
}

// side is how long p is along a side, and steps there of x, y, z and the bias: along batches,
// on the first axis that has several.
func (p *matrices) side(side int) (n *int64, step [4]int64) {
	switch side {
	case rowSide:
		return &p.m, [4]int64{p.xStep[0], 0, p.zStep[0]}
	case columnSide:
		return &p.n, [4]int64{0, p.yStep[1], p.zStep[1], p.biasStep}
	case sumSide:
		return &p.k, [4]int64{p.xStep[1], p.yStep[0]}
	}
	axis := slices.IndexFunc(p.batch[:p.axes], func(n int64) bool { return n > 1 })
	return &p.batch[axis], [4]int64{p.xBatch[axis], p.yBatch[axis], p.zBatch[axis]}
}

func (p *matrices) extent() extent {
	e := extentOf(p.size())
	e.xLies = p.lies(p.t, p.x, int(p.m), int(p.k), p.xStep, p.xBatch)
	e.yLies = p.lies(p.t, p.y, int(p.n), int(p.k), [2]int64{p.yStep[1], p.yStep[0]}, p.yBatch)
	if p.size()[batchSide] == 1 {
		e.split(1)
	}
	return e
}

func (p *matrices) tiles(e extent, part uint64) (string, []byte) {
	args := p.productArgs
	args.e, args.part, args.batches = e, part, int64(p.size()[batchSide])
	return "product", bytesOf(&args)
}

func (p *matrices) sums(e extent, part uint64) (string, []byte) { return p.tiles(e, part) }

func (*matrices) even() bool { return true }

// lies says how a factor's elements follow one another, of so many rows, or columns of y, and so
// many along the sum, which are these steps apart.
func (a *productArgs) lies(t dtype.Type, address uint64, rows, deep int, step [2]int64, batch [C.H5K_BATCH_AXES]int64) uint32 {
	near, far, run := step[1], step[0], deep
	how := uint32(0)
	if magnitude(int(step[0])) < magnitude(int(step[1])) {
		near, far, run, how = step[0], step[1], rows, down
	}
	if near == 1 && inFours(t, address, run, append(batch[:a.axes:a.axes], far)...) {
		how |= fours
	}
	return how
}

// inFours reports whether runs of so many elements are whole fours, or eights of
// halves, and begin where 16 bytes do, if they are these steps apart.
func inFours(t dtype.Type, address uint64, run int, steps ...int64) bool {
	n := max(4, 16/t.Size())
	for _, step := range append(steps, int64(run)) {
		if step%int64(n) != 0 {
			return false
		}
	}
	return address%uint64(n*t.Size()) == 0
}
