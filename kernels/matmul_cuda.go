package kernels

// #include "matmul.h"
import "C"

import (
	"errors"
	"fmt"
	"strings"

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

// An extent is Extent of product.cuh.
type extent struct{ m, n, k, splits, xLies, yLies uint32 }

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

// launchProduct is z = x·y, or with a bias, or its relu.
func (c *Call) launchProduct(p *product, z, x, y, bias *storage.Array, relu bool) error {
	args := productArgs{z: c.first(z), x: c.first(x), y: c.first(y), bias: c.first(bias), batches: 1, axes: int64(p.axes)}
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
		args.batches *= int64(p.batch[i])
		args.batch[i], args.xBatch[i], args.yBatch[i], args.zBatch[i] = int64(p.batch[i]), int64(p.x_batch[i]), int64(p.y_batch[i]), int64(p.z_batch[i])
	}
	return c.launchProducts(args, z.Type, int(p.m), int(p.n), int(p.k))
}

// launchProducts launches the product args of m by n elements, each a sum of k, or halves of it.
func (c *Call) launchProducts(args productArgs, t dtype.Type, m, n, k int) error {
	size := uint64(t.Size())
	rest := args
	switch {
	case int64(m) >= most:
		half := m / 2
		rest.x, rest.z = args.x+uint64(int64(half)*args.xStep[0])*size, args.z+uint64(int64(half)*args.zStep[0])*size
		return errors.Join(c.launchProducts(args, t, half, n, k), c.launchProducts(rest, t, m-half, n, k))
	case int64(n) >= min(most, 64*maxGridY):
		half := n / 2
		rest.y, rest.z = args.y+uint64(int64(half)*args.yStep[1])*size, args.z+uint64(int64(half)*args.zStep[1])*size
		if args.bias != 0 {
			rest.bias += uint64(int64(half)*args.biasStep) * size
		}
		return errors.Join(c.launchProducts(args, t, m, half, k), c.launchProducts(rest, t, m, n-half, k))
	}
	if err := small(k); err != nil {
		return err
	}
	args.e = extent{m: uint32(m), n: uint32(n), k: uint32(k), splits: 1}
	args.e.xLies = args.lies(t, args.x, m, k, args.xStep, args.xBatch)
	args.e.yLies = args.lies(t, args.y, n, k, [2]int64{args.yStep[1], args.yStep[0]}, args.yBatch)
	if args.batches == 1 {
		args.e.split()
	}
	return c.launchTiles("product", t, &args.e, args.batches, &args.part, func(entry string, blocks [3]uint32) error {
		return launchBlocks(c.gpu, entry, blocks, tileThreads, &args)
	}, func(entry string, n int64) error { return launch(c.gpu, entry, n, &args) })
}

// How elements of a factor follow one another: DOWN and FOURS of product.cuh.
const (
	down  = 1 << iota // along rows of x or columns of y, not along the sum
	fours             // in whole, aligned fours, or eights of halves
)

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

// split cuts long sums of small products, so that each multiprocessor of a large GPU has two
// blocks. The parts depend on nothing but the extent, and so do results.
func (e *extent) split() {
	rows, columns := e.tile()
	tiles := ceil(int(e.m), rows) * ceil(int(e.n), columns)
	e.splits = uint32(min(max(1, 2*132/tiles), max(1, int(e.k)/256), 64))
}

// tile is how many rows and columns a block does.
func (e *extent) tile() (rows, columns int) {
	if e.n <= 32 {
		return 128, 32
	}
	return 64, 64
}

// tileThreads is how many threads a block has that does a tile.
const tileThreads = 128

// launchTiles launches a product's tiles and, if it is split, what adds up the
// splits, through part.
func (c *Call) launchTiles(name string, t dtype.Type, e *extent, batches int64, part *uint64, tiles func(entry string, blocks [3]uint32) error, splits func(entry string, n int64) error) error {
	whole := name
	if e.n <= 32 {
		whole += " thin"
	}
	rows, columns := e.tile()
	across := ceil(int(e.n), columns)
	if across > maxGridY {
		return fmt.Errorf("%d columns; GPUs take %d at once: multiply them in parts: %w", e.n, maxGridY*columns, storage.ErrState)
	}
	blocks := [3]uint32{uint32(ceil(int(e.m), rows)), uint32(across), uint32(min(batches*int64(e.splits), maxGridY))}
	whole = c.rounded(entry(whole, t))
	if e.splits == 1 {
		return tiles(whole, blocks)
	}
	return c.gpu.Scratch(int(e.splits)*int(e.m)*int(e.n)*max(t.Size(), 4), func(address uint64) error {
		*part = address
		if err := tiles(whole, blocks); err != nil {
			return err
		}
		return splits(entry(name+" splits", t), int64(e.m)*int64(e.n))
	})
}

// rounded names the entry that rounds factors to TF32, where the GPU is allowed to.
func (c *Call) rounded(entry string) string {
	if r, ok := libraryOf[Rounder](c.gpu); ok && r.RoundsToTF32() && strings.HasSuffix(entry, "_f32") {
		return strings.TrimSuffix(entry, "f32") + "tf32"
	}
	return entry
}

// maxGridY is how many blocks a launch may have along its second and third axis.
const maxGridY = 1<<16 - 1
