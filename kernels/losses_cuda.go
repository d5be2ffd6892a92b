package kernels

import (
	"math"

	"github.com/h5dnn/h5dnn/kernels/launch"
	"github.com/h5dnn/h5dnn/kernels/native"
)

var (
	_ = onGPU(CrossEntropy, func(c *Call, _ struct{}) error {
		args := c.labelled()
		args.loss = c.gpu.First(&c.Out[0])
		if len(c.Out) > 1 {
			dx := &c.Out[1]
			args.dx, args.dxRow, args.dxCol = c.gpu.First(dx), int64(dx.Stride[0]), int64(dx.Stride[1])
		}
		if len(c.Out) > 2 {
			args.correct = c.gpu.First(&c.Out[2])
		}
		if args.rows > 0 {
			return c.launchRows("cross entropy", 2, &args)
		}
		if err := c.launch(Fill, &Call{Out: c.Out[:1], Options: FillOptions{math.NaN()}}); err != nil || args.correct == 0 {
			return err
		}
		return c.launch(Fill, &Call{Out: c.Out[2:], Options: FillOptions{0}})
	})

	_ = onGPU(Correct, func(c *Call, _ struct{}) error {
		args := c.labelled()
		if args.correct = c.gpu.First(&c.Out[0]); args.rows == 0 {
			return c.launch(Fill, &Call{Out: c.Out, Options: FillOptions{0}})
		}
		return c.launchRows("correct", 1, &args)
	})

	_ = onGPU(MeanSquaredError, func(c *Call, _ struct{}) error {
		x, y, dx := &c.In[0], &c.In[1], &c.In[0]
		if len(c.Out) == 2 {
			dx = &c.Out[1]
		}
		if x.Len() == 0 {
			return c.launch(Fill, &Call{Out: c.Out[:1], Options: FillOptions{math.NaN()}})
		}
		g, err := launch.Grid(^uint64(0), x, y, dx)
		if err != nil {
			return err
		}
		args := squaredErrorArgs{
			x: c.gpu.At(x, g.First[0]), y: c.gpu.At(y, g.First[1]), loss: c.gpu.First(&c.Out[0]),
			counter: c.gpu.BlockCounters(), n: g.Count(), all: float64(x.Len()), g: g.Axes,
		}
		if len(c.Out) == 2 {
			args.dx = c.gpu.At(dx, g.First[2])
		}
		blocks := min(launch.Ceil(x.Len(), launch.Threads), launch.FullOccupancy)
		return c.gpu.Workspace(8*blocks, func(part uint64) error {
			args.part = part
			return launch.Blocks(c.gpu, launch.Entry("squared error", x.Type), [3]uint32{uint32(blocks), 1, 1}, launch.Threads, &args)
		})
	})
)

// labelledArgs and squaredErrorArgs are Labelled and SquaredError of losses.cu.
type labelledArgs struct {
	x, labels, loss, dx, correct, part, fault, counter uint64
	rows, cols, row, col                               int64
	dxRow, dxCol, step, size, sign                     int64
}

type squaredErrorArgs struct {
	x, y, dx, loss, part, counter uint64
	n                             int64
	all                           float64
	g                             native.Axes
}

// labelled describes rows of x and their labels.
func (c *Call) labelled() labelledArgs {
	x, labels := &c.In[0], &c.In[1]
	args := c.labelledOf(labels, x.Shape[1])
	args.x, args.row, args.col, args.counter = c.gpu.First(x), int64(x.Stride[0]), int64(x.Stride[1]), c.gpu.BlockCounters()
	return args
}

// launchRows launches a loss kernel whose workspace holds the given count of numbers per row.
func (c *Call) launchRows(name string, numbers int, args *labelledArgs) error {
	x := &c.In[0]
	return c.gpu.Workspace(8*numbers*x.Shape[0], func(part uint64) error {
		args.part = part
		blocks := [3]uint32{uint32(min(launch.Ceil(x.Shape[0], launch.Threads/32), 1<<16)), 1, 1}
		return launch.Blocks(c.gpu, launch.Entry(name, x.Type), blocks, launch.Threads, args)
	})
}
