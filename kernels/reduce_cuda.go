package kernels

// #include "loops.h"
import "C"

import (
	"math"

	"github.com/h5dnn/h5dnn/storage"
)

var (
	_ = onGPU(Sum, func(c *Call, _ struct{}) error { return c.launchReduce("sum", &c.Out[0], &c.In[0], 1, 0) })

	_ = onGPU(Mean, func(c *Call, _ struct{}) error {
		y, x := &c.Out[0], &c.In[0]
		return c.launchReduce("sum", y, x, float64(x.Len())/float64(y.Len()), math.NaN())
	})

	_ = onGPU(Max, func(c *Call, _ struct{}) error {
		return c.launchReduce("max", &c.Out[0], &c.In[0], 1, 0) // of nothing was refused
	})

	_ = onGPU(MaxSlope, func(c *Call, _ struct{}) error {
		dx, x, y, dy := &c.Out[0], &c.In[0], &c.In[1], &c.In[2]
		if x.Len() == 0 {
			return nil
		}
		stays, goes := axesOf(y, x)
		var kept, over grid
		if err := kept.gpuAlong(stays, dx, x, y, dy); err != nil {
			return err
		}
		if err := over.gpuAlong(goes, dx, x); err != nil {
			return err
		}
		args := maxSlopeArgs{
			c.address(dx, kept.first[0]+over.first[0]-dx.Offset), c.address(x, kept.first[1]+over.first[1]-x.Offset),
			c.address(y, kept.first[2]), c.address(dy, kept.first[3]), kept.count(), over.count(), kept.C, over.C,
		}
		code, blocks := "max slope", int(args.kept)
		if args.over <= shortRow && args.kept >= manyRows {
			code, blocks = "max slope short", ceil(blocks, threads/32)
		}
		return launchBlocks(c.gpu, entry(code, x.Type), [3]uint32{uint32(min(blocks, maxGridX)), 1, 1}, threads, &args)
	})
)

// reduceArgs and maxSlopeArgs are Reduce and MaxSlope of reduce.cu.
type reduceArgs struct {
	y, x, part                uint64
	divisor                   float64
	kept, over, splits, chunk int64
	kind, to                  int64 // types of x and y, as types.cuh numbers them
	k, o                      C.h5k_grid
}

type maxSlopeArgs struct {
	dx, x, y, dy uint64
	kept, over   int64
	k, o         C.h5k_grid
}

// launchReduce is the sum over divisor, or the maximum; of nothing it is none.
func (c *Call) launchReduce(name string, y, x *storage.Array, divisor, none float64) error {
	if y.Len() == 0 {
		return nil
	}
	if x.Len() == 0 {
		return Fill.CUDA(c.gpu, &Call{Out: []storage.Array{*y}, Set: FillSet{none}})
	}
	stays, goes := axesOf(y, x)
	var kept, over grid
	if err := kept.gpuAlong(stays, x, y); err != nil {
		return err
	}
	if err := over.gpuAlong(goes, x); err != nil {
		return err
	}
	args := reduceArgs{
		y: c.address(y, kept.first[1]), x: c.address(x, kept.first[0]+over.first[0]-x.Offset),
		divisor: divisor, kept: kept.count(), over: over.count(), kind: int64(x.Type), to: int64(y.Type),
	}
	code, blocks := args.lay(name, &kept.C, &over.C, x)
	args.k, args.o = kept.C, over.C
	grid := [3]uint32{uint32(min(blocks, maxGridX)), uint32(args.splits), 1}
	if args.splits == 1 {
		return launchBlocks(c.gpu, entry(code, x.Type), grid, threads, &args)
	}
	return c.gpu.Workspace(int(8*args.splits*args.kept), func(part uint64) error {
		args.part = part
		if err := launchBlocks(c.gpu, entry(code, x.Type), grid, threads, &args); err != nil {
			return err
		}
		return launchBlocks(c.gpu, entry(name+" parts", x.Type), [3]uint32{uint32(args.kept), 1, 1}, threads, &args)
	})
}

const (
	fewColumns = 8    // as many are worth 32 threads
	shortRow   = 1024 // of so many elements are rows that a warp adds up, if there are many
	manyRows   = 256
	leastSplit = 8 * threads // elements of a row that are worth a block
	leastStack = threads / 2 // rows likewise, where a block adds up columns
	splitAt    = 8           // is where a pack begins
	manyBlocks = 1024        // fill the largest GPU: eight for each of 132 multiprocessors
)

// lay chooses how blocks share a reduction of x, and returns the code for it and how
// many blocks each split takes.
func (a *reduceArgs) lay(name string, kept, over *C.h5k_grid, x *storage.Array) (code string, blocks int) {
	code, blocks, least := name, int(a.kept), leastSplit
	switch {
	case a.kept >= fewColumns && innermost(kept) < innermost(over):
		code, blocks, least = name+" columns", ceil(blocks, 32), leastStack
	case a.over <= shortRow && a.kept >= manyRows:
		code, blocks = name+" short", ceil(blocks, threads/32)
	}
	splits := min(max(1, manyBlocks/blocks), ceil(int(a.over), least))
	a.chunk = int64(ceil(ceil(int(a.over), splits), splitAt) * splitAt)
	a.splits = int64(ceil(int(a.over), int(a.chunk)))
	a.pack(kept, over, x)
	return code, blocks
}

// pack notes what threads may take at once: neighbours along a row, if rows
// consist of packs or there is one axis, or across columns.
func (a *reduceArgs) pack(kept, over *C.h5k_grid, x *storage.Array) {
	most := packed(x.Type)
	if last := over.rank - 1; last == 0 || int64(over.shape[last])%int64(most) == 0 {
		over.pack = C.uint32_t(most)
	}
	over.rows = rows(over, most, starts{a.x | steps(kept, x)}, []*storage.Array{x})
	if int64(kept.shape[kept.rank-1])%int64(most) == 0 {
		kept.rows = rows(kept, most, starts{a.x | steps(over, x)}, []*storage.Array{x})
	}
}

// steps has the bits of all strides of g's first operand, in bytes.
func steps(g *C.h5k_grid, x *storage.Array) (all uint64) {
	for axis, size := range g.shape[:g.rank] {
		if size > 1 {
			all |= uint64(g.stride[0][axis]) * uint64(x.Type.Size())
		}
	}
	return all
}

// maxGridX is how many blocks share any number of rows: of more, 32 bits would not count the threads.
const maxGridX = 1 << 22

// busy is how many blocks are enough to keep a large GPU busy.
const busy = 512

// innermost returns how far apart neighbours along a grid's last axis are.
func innermost(g *C.h5k_grid) int { return magnitude(int(g.stride[0][g.rank-1])) }
