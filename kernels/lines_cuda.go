package kernels

import (
	"github.com/h5dnn/h5dnn/kernels/launch"
	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
)

var (
	_ = linesOnGPU(Softmax)
	_ = linesOnGPU(LogSoftmax)
	_ = linesOnGPU(SoftmaxGrad)
	_ = linesOnGPU(LogSoftmaxGrad)

	_ = onGPU(ArgMax, func(c *Call, _ struct{}) error {
		y, x := &c.Out[0], &c.In[0]
		axis := reducedAxis(y, x)
		if axis < 0 { // every element is the only one
			return c.launch(Fill, &Call{Out: c.Out, Options: FillOptions{0}})
		}
		return c.launchLines("argmax", axis, y, x, x)
	})

	_ = onGPU(MaxIndex, func(c *Call, _ struct{}) error {
		y, index, x := &c.Out[0], &c.Out[1], &c.In[0]
		axis := reducedAxis(y, x)
		if axis < 0 {
			if err := c.launchCopy(y, x); err != nil {
				return err
			}
			return c.launch(Fill, &Call{Out: c.Out[1:], Options: FillOptions{0}})
		}
		return c.launchLines("max with index", axis, y, x, index)
	})
)

func linesOnGPU(k *Kernel) *Kernel {
	return onGPU(k, func(c *Call, options SoftmaxOptions) error {
		return c.launchLines(k.Name, options.Axis, &c.Out[0], &c.In[0], &c.In[len(c.In)-1])
	})
}

// linesArgs is Lines of lines.cu.
type linesArgs struct {
	z, x, y uint64
	n       int64
	step    [3]int64
	lines   int64
	kind    int64 // x's type, as types.cuh numbers it
	k       native.Axes
}

// longLine is how many elements are worth a block of their own.
const longLine = 1024

// launchLines computes z's lines along axis from the lines of x and y.
func (c *Call) launchLines(name string, axis int, z, x, y *storage.Array) error {
	if x.Len() == 0 {
		return nil
	}
	if x.Shape[axis] >= longLine {
		name += " long"
	}
	kept, err := launch.Grid(^(uint64(1) << axis), z, x, y)
	if err != nil {
		return err
	}
	args := linesArgs{
		c.gpu.At(z, kept.First[0]), c.gpu.At(x, kept.First[1]), c.gpu.At(y, kept.First[2]), int64(x.Shape[axis]),
		[3]int64{int64(z.Stride[axis]), int64(x.Stride[axis]), int64(y.Stride[axis])}, kept.Count(), int64(x.Type.Number()), kept.Axes,
	}
	blocks := int(args.lines)
	if x.Shape[axis] < longLine {
		blocks = launch.Ceil(blocks, launch.Threads/32)
	}
	return launch.Blocks(c.gpu, launch.Entry(name, x.Type), [3]uint32{uint32(min(blocks, 1<<16)), 1, 1}, launch.Threads, &args)
}
