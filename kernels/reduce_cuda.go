package kernels

import (
	"math"

	"github.com/h5dnn/h5dnn/kernels/launch"
	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
)

var (
	_ = onGPU(Sum, func(c *Call, _ struct{}) error { return c.launchReduce("sum", &c.Out[0], &c.In[0], nil, 1, 0) })

	_ = onGPU(Mean, func(c *Call, _ struct{}) error {
		y, x := &c.Out[0], &c.In[0]
		return c.launchReduce("sum", y, x, nil, float64(x.Len())/float64(y.Len()), math.NaN())
	})

	_ = onGPU(Max, func(c *Call, _ struct{}) error {
		return c.launchReduce("max", &c.Out[0], &c.In[0], nil, 1, 0) // an empty maximum was refused
	})

	_ = onGPU(Min, func(c *Call, _ struct{}) error {
		return c.launchReduce("min", &c.Out[0], &c.In[0], nil, 1, 0) // likewise
	})

	_ = onGPU(Squares, func(c *Call, _ struct{}) error {
		var m *storage.Array
		if len(c.In) > 1 {
			m = &c.In[1]
		}
		return c.launchReduce("squares", &c.Out[0], &c.In[0], m, 1, 0)
	})

	_ = onGPU(MaxGrad, func(c *Call, _ struct{}) error {
		dx, x, y, dy := &c.Out[0], &c.In[0], &c.In[1], &c.In[2]
		if x.Len() == 0 {
			return nil
		}
		stays, goes := axesOf(y, x)
		kept, err := launch.Grid(stays, dx, x, y, dy)
		if err != nil {
			return err
		}
		over, err := launch.Grid(goes, dx, x)
		if err != nil {
			return err
		}
		args := maxGradArgs{
			c.gpu.At(dx, kept.First[0]+over.First[0]-dx.Offset), c.gpu.At(x, kept.First[1]+over.First[1]-x.Offset),
			c.gpu.At(y, kept.First[2]), c.gpu.At(dy, kept.First[3]), kept.Count(), over.Count(), kept.Axes, over.Axes,
		}
		code, blocks := "max grad", int(args.kept)
		if args.over <= shortRow && args.kept >= manyRows {
			code, blocks = "max grad short", launch.Ceil(blocks, launch.Threads/32)
		}
		return launch.Blocks(c.gpu, launch.Entry(code, x.Type), [3]uint32{uint32(min(blocks, launch.MaxX)), 1, 1}, launch.Threads, &args)
	})
)

// reduceArgs and maxGradArgs are Reduce and MaxGrad of reduce.cu.
type reduceArgs struct {
	y, x, m, part             uint64
	divisor                   float64
	kept, over, splits, chunk int64
	kind, to                  int64 // types of x and y, as types.cuh numbers them
	k, o                      native.Axes
}

type maxGradArgs struct {
	dx, x, y, dy uint64
	kept, over   int64
	k, o         native.Axes
}

// launchReduce is a reduction of x with m, unless that is nil, over divisor. An empty one returns none, a number.
func (c *Call) launchReduce(name string, y, x, m *storage.Array, divisor, none float64) error {
	if y.Len() == 0 {
		return nil
	}
	if x.Len() == 0 {
		return c.launch(Fill, &Call{Out: []storage.Array{*y}, Options: FillOptions{none}})
	}
	stays, goes := axesOf(y, x)
	operands := []*storage.Array{x, y}
	if m != nil {
		operands = append(operands, m)
	}
	kept, err := launch.Grid(stays, operands...)
	if err != nil {
		return err
	}
	over, err := launch.Grid(goes, x)
	if err != nil {
		return err
	}
	args := reduceArgs{
		y: c.gpu.At(y, kept.First[1]), x: c.gpu.At(x, kept.First[0]+over.First[0]-x.Offset),
		divisor: divisor, kept: kept.Count(), over: over.Count(), kind: int64(x.Type.Number()), to: int64(y.Type.Number()),
	}
	if m != nil {
		args.m = c.gpu.At(m, kept.First[2])
	}
	code, blocks := args.lay(name, &kept.Axes, &over.Axes, x)
	args.k, args.o = kept.Axes, over.Axes
	grid := [3]uint32{uint32(min(blocks, launch.MaxX)), uint32(args.splits), 1}
	if args.splits == 1 {
		return launch.Blocks(c.gpu, launch.Entry(code, x.Type), grid, launch.Threads, &args)
	}
	return c.gpu.Workspace(int(8*args.splits*args.kept), func(part uint64) error {
		args.part = part
		if err := launch.Blocks(c.gpu, launch.Entry(code, x.Type), grid, launch.Threads, &args); err != nil {
			return err
		}
		return launch.Blocks(c.gpu, launch.Entry(name+" parts", x.Type), [3]uint32{uint32(args.kept), 1, 1}, launch.Threads, &args)
	})
}

const (
	fewColumns = 8    // as many are worth 32 threads
	shortRow   = 1024 // elements of rows that a warp adds up, if there are at least manyRows
	manyRows   = 256
	leastSplit = 8 * launch.Threads // elements of a row that are worth a block
	leastStack = launch.Threads / 2 // rows likewise, where a block adds up columns
	splitAt    = 8                  // is where a pack begins
	manyBlocks = 1024               // fill the largest GPU: eight for each of 132 multiprocessors
)

// lay chooses how blocks share a reduction of x, and returns the code for it and how
// many blocks each split takes.
func (a *reduceArgs) lay(name string, kept, over *native.Axes, x *storage.Array) (code string, blocks int) {
	code, blocks, least := name, int(a.kept), leastSplit
	switch {
	case a.kept >= fewColumns && innermost(kept) < innermost(over):
		code, blocks, least = name+" columns", launch.Ceil(blocks, 32), leastStack
	case a.over <= shortRow && a.kept >= manyRows:
		code, blocks = name+" short", launch.Ceil(blocks, launch.Threads/32)
	}
	splits := min(max(1, manyBlocks/blocks), launch.Ceil(int(a.over), least))
	a.chunk = int64(launch.Ceil(launch.Ceil(int(a.over), splits), splitAt) * splitAt)
	a.splits = int64(launch.Ceil(int(a.over), int(a.chunk)))
	a.pack(kept, over, x)
	return code, blocks
}

// pack sets what threads take at once: neighbours along a row, if rows consist of packs
// or there is one axis, or across columns.
func (a *reduceArgs) pack(kept, over *native.Axes, x *storage.Array) {
	most := launch.PackOfEntry(x.Type)
	if last := over.Rank - 1; last == 0 || over.Shape[last]%int64(most) == 0 {
		over.Pack = uint32(most)
	}
	over.Rows = launch.Rows(over, most, launch.Addresses{a.x | steps(kept, x)}, x)
	if kept.Shape[kept.Rank-1]%int64(most) == 0 {
		kept.Rows = launch.Rows(kept, most, launch.Addresses{a.x | steps(over, x)}, x)
	}
}

// steps has the bits of all strides of g's first operand, in bytes.
func steps(g *native.Axes, x *storage.Array) (all uint64) {
	for axis, size := range g.Shape[:g.Rank] {
		if size > 1 {
			all |= uint64(g.Stride[0][axis]) * uint64(x.Type.Size())
		}
	}
	return all
}

// innermost returns how far apart neighbours along a grid's last axis are.
func innermost(g *native.Axes) int { return magnitude(int(g.Stride[0][g.Rank-1])) }
