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
		return launchBlocks(c.gpu, entry("max slope", x.Type), [3]uint32{uint32(min(kept.count(), maxGridX)), 1, 1}, threads, &args)
	})
)

// reduceArgs and maxSlopeArgs are Reduce and MaxSlope of reduce.cu.
type reduceArgs struct {
	y, x, part         uint64
	divisor            float64
	kept, over, splits int64
	kind, to           int64 // types of x and y, as types.cuh numbers them
	k, o               C.h5k_grid
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
		divisor: divisor, kept: kept.count(), over: over.count(), kind: int64(x.Type), to: int64(y.Type), k: kept.C, o: over.C,
	}
	width, tiles := 1, entry(name, x.Type)
	if args.kept >= 32 && innermost(&kept) < innermost(&over) {
		width, tiles = 32, entry(name+" wide", x.Type)
	}
	blocks := ceil(int(args.kept), width)
	args.splits = int64(min(max(1, busy/blocks), ceil(int(args.over), 8*threads/width)))
	grid := [3]uint32{uint32(min(blocks, maxGridX)), uint32(args.splits), 1}
	if args.splits == 1 {
		return launchBlocks(c.gpu, tiles, grid, threads, &args)
	}
	return c.gpu.Scratch(int(8*args.splits*args.kept), func(part uint64) error {
		args.part = part
		if err := launchBlocks(c.gpu, tiles, grid, threads, &args); err != nil {
			return err
		}
		return launch(c.gpu, entry(name+" parts", x.Type), args.kept, &args)
	})
}

// maxGridX is how many blocks a launch may have along its first axis.
const maxGridX = 1<<31 - 1

// busy is how many blocks are enough to keep a large GPU busy.
const busy = 512

// innermost returns how far apart neighbours along a grid's last axis are.
func innermost(g *grid) int { return magnitude(int(g.C.stride[0][g.C.rank-1])) }
