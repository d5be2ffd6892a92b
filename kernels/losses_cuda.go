package kernels

// #include "loops.h"
import "C"

import "math"

var (
	_ = onGPU(CrossEntropy, func(c *Call, _ struct{}) error {
		args := c.labelled()
		if len(c.Out) == 2 {
			dx := &c.Out[1]
			args.dx, args.dxRow, args.dxCol = c.first(dx), int64(dx.Stride[0]), int64(dx.Stride[1])
		}
		if args.rows == 0 {
			return Fill.CUDA(c.gpu, &Call{Out: c.Out[:1], Set: FillSet{math.NaN()}})
		}
		return c.launchRows("cross entropy", entry("mean of rows", c.In[0].Type), &args)
	})

	_ = onGPU(Hits, func(c *Call, _ struct{}) error {
		args := c.labelled()
		if args.rows == 0 {
			return Fill.CUDA(c.gpu, &Call{Out: c.Out, Set: FillSet{0}})
		}
		return c.launchRows("hits", "sum_of_rows", &args)
	})

	_ = onGPU(MeanSquaredError, func(c *Call, _ struct{}) error {
		x, y, dx := &c.In[0], &c.In[1], &c.In[0]
		if len(c.Out) == 2 {
			dx = &c.Out[1]
		}
		if x.Len() == 0 {
			return Fill.CUDA(c.gpu, &Call{Out: c.Out[:1], Set: FillSet{math.NaN()}})
		}
		var g grid
		if err := g.gpuAlong(^uint64(0), x, y, dx); err != nil {
			return err
		}
		args := squaredErrorArgs{x: c.address(x, g.first[0]), y: c.address(y, g.first[1]), loss: c.first(&c.Out[0]), n: g.count(), all: float64(x.Len()), g: g.C}
		if len(c.Out) == 2 {
			args.dx = c.address(dx, g.first[2])
		}
		args.blocks = int64(min(ceil(x.Len(), threads), busy))
		return c.gpu.Scratch(int(8*args.blocks), func(part uint64) error {
			args.part = part
			if err := launchBlocks(c.gpu, entry("squared error", x.Type), [3]uint32{uint32(args.blocks), 1, 1}, threads, &args); err != nil {
				return err
			}
			return launchBlocks(c.gpu, entry("mean of blocks", x.Type), [3]uint32{1, 1, 1}, threads, &args)
		})
	})
)

// labelledArgs and squaredErrorArgs are Labelled and SquaredError of losses.cu.
type labelledArgs struct {
	x, labels, result, dx, part, fault uint64
	rows, cols, row, col               int64
	dxRow, dxCol, step, size, sign     int64
}

type squaredErrorArgs struct {
	x, y, dx, loss, part uint64
	n, blocks            int64
	all                  float64
	g                    C.h5k_grid
}

// labelled describes rows of x and their labels.
func (c *Call) labelled() labelledArgs {
	x, labels := &c.In[0], &c.In[1]
	args := labelledArgs{
		x: c.first(x), labels: c.first(labels), result: c.first(&c.Out[0]), fault: c.gpu.Fault(),
		rows: int64(x.Shape[0]), cols: int64(x.Shape[1]), row: int64(x.Stride[0]), col: int64(x.Stride[1]),
		step: int64(labels.Stride[0]), size: int64(labels.Type.Size()),
	}
	if labels.Type.IsSigned() {
		args.sign = 1
	}
	return args
}

// launchRows computes a number for each row, and then the result from them.
func (c *Call) launchRows(name, result string, args *labelledArgs) error {
	x := &c.In[0]
	return c.gpu.Scratch(8*x.Shape[0], func(part uint64) error {
		args.part = part
		blocks := [3]uint32{uint32(min(ceil(x.Shape[0], threads/32), 1<<16)), 1, 1}
		if err := launchBlocks(c.gpu, entry(name, x.Type), blocks, threads, args); err != nil {
			return err
		}
		return launchBlocks(c.gpu, result, [3]uint32{1, 1, 1}, threads, args)
	})
}
