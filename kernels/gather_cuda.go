package kernels

import (
	"github.com/h5dnn/h5dnn/kernels/launch"
	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
)

var (
	_ = onGPU(Gather, func(c *Call, options GatherOptions) error {
		return c.launchGather(c.Out[0], c.In[0], c.In[1], options.Axis)
	})

	_ = onGPU(Scatter, func(c *Call, options ScatterOptions) error {
		y := &c.Out[0]
		code := launch.SizeEntry("scatter", y)
		if options.Add {
			code = launch.Entry("scatter add", y.Type)
		}
		return c.launchScatter(code, y, &c.In[0], &c.In[1], options.Axis)
	})
)

// launchGather is y = x at the index along axis.
func (c *Call) launchGather(y, x, index storage.Array, axis int) error {
	rows := true // the same index for all elements of a row
	order := make([]int, y.Rank())
	for k := range order {
		order[k] = k
		rows = rows && (k == axis || index.Stride[k] == 0 || index.Shape[k] == 1)
	}
	copy(order[1:], order[:axis])
	order[0] = axis
	for _, a := range []*storage.Array{&y, &x, &index} {
		v, err := a.View.Transpose(order...)
		if err != nil {
			return err
		}
		a.View = v
	}
	position := 0 // between the indices that an error counts
	if rows {
		position = index.Stride[0]
		index.Shape, index.Stride = index.Shape[:1], index.Stride[:1]
		c.widen(&y, &x)
	}
	return c.launchTake(launch.SizeEntry("take", &y), y, x, index, position, ScaleOffsetOptions{})
}

// scatterArgs is Scatter of scatter.cu.
type scatterArgs struct {
	y, x, index, fault uint64
	lines, parts       int64
	size, step         int64
	n, xStep, iStep    int64
	kind               int64
	g                  native.Axes
}

// scatterThreads is how many threads share the lines of y and parts of them.
const scatterThreads = launch.FullOccupancy * launch.Threads

// launchScatter changes y at the index along axis.
func (c *Call) launchScatter(code string, y, x, index *storage.Array, axis int) error {
	starts := [3]storage.Array{}
	for k, a := range []*storage.Array{y, x, index} {
		if a.Len() == 0 {
			return nil
		}
		v, err := a.Select(axis, 0)
		if err != nil {
			return err
		}
		starts[k] = a.With(v)
	}
	args := scatterArgs{
		fault: c.gpu.FaultAddress(), size: int64(y.Shape[axis]), step: int64(y.Stride[axis]), n: int64(x.Shape[axis]),
		xStep: int64(x.Stride[axis]), iStep: int64(index.Stride[axis]), kind: int64(y.Type.Number()),
	}
	return c.gpu.EachGrid([]*storage.Array{&starts[0], &starts[1], &starts[2]}, func(g *native.Axes, at launch.Addresses, lines int64) error {
		args.y, args.x, args.index, args.g = at[0], at[1], at[2], *g
		args.lines, args.parts = lines, max(1, min(args.size, scatterThreads/lines))
		return launch.Start(c.gpu, code, lines*args.parts, &args)
	})
}
