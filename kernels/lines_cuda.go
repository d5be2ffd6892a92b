package kernels

// #include "loops.h"
import "C"

import "github.com/h5dnn/h5dnn/storage"

var (
	_ = linesOnGPU(Softmax)
	_ = linesOnGPU(LogSoftmax)
	_ = linesOnGPU(SoftmaxSlope)
	_ = linesOnGPU(LogSoftmaxSlope)

	_ = onGPU(ArgMax, func(c *Call, _ struct{}) error {
		y, x := &c.Out[0], &c.In[0]
		axis := reducedAxis(y, x)
		if axis < 0 { // every element is the only one
			return Fill.CUDA(c.gpu, &Call{Out: c.Out, Set: FillSet{0}})
		}
		return c.launchLines("argmax", axis, y, x, x)
	})
)

func linesOnGPU(k *Kernel) *Kernel {
	return onGPU(k, func(c *Call, set SoftmaxSet) error {
		return c.launchLines(k.Name, set.Axis, &c.Out[0], &c.In[0], &c.In[len(c.In)-1])
	})
}

// linesArgs is Lines of lines.cu.
type linesArgs struct {
	z, x, y uint64
	n       int64
	step    [3]int64
	lines   int64
	kind    int64 // x's type, as types.cuh numbers it
	k       C.h5k_grid
}

// longLine is how many elements are worth a block of their own.
const longLine = 1024

// launchLines computes z's lines along axis from those of x and y.
func (c *Call) launchLines(name string, axis int, z, x, y *storage.Array) error {
	if x.Len() == 0 {
		return nil
	}
	if x.Shape[axis] >= longLine {
		name += " long"
	}
	var kept grid
	if err := kept.gpuAlong(^(uint64(1) << axis), z, x, y); err != nil {
		return err
	}
	args := linesArgs{
		c.address(z, kept.first[0]), c.address(x, kept.first[1]), c.address(y, kept.first[2]), int64(x.Shape[axis]),
		[3]int64{int64(z.Stride[axis]), int64(x.Stride[axis]), int64(y.Stride[axis])}, kept.count(), int64(x.Type), kept.C,
	}
	blocks := int(args.lines)
	if x.Shape[axis] < longLine {
		blocks = ceil(blocks, threads/32)
	}
	return launchBlocks(c.gpu, entry(name, x.Type), [3]uint32{uint32(min(blocks, 1<<16)), 1, 1}, threads, &args)
}
