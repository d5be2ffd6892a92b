package kernels

import (
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels/launch"
	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

var (
	_ = onGPU(Gather, func(c *Call, options GatherOptions) error {
		return c.launchGather(c.Out[0], c.In[0], c.In[1], options.Axis)
	})

	_ = onGPU(Scatter, func(c *Call, options ScatterOptions) error {
		y := &c.Out[0]
		code := launch.SizeEntry("scatter", y)
		if options.Reduce != ScatterPut {
			code = launch.Entry(scatterEntries[options.Reduce], y.Type)
		}
		return c.launchScatter(code, y, &c.In[0], &c.In[1], options.Axis)
	})

	_ = onGPU(GatherCast, func(c *Call, options ScaleOffsetOptions) error {
		return c.launchTake(launch.Entry("take cast", c.Out[0].Type), c.Out[0], c.In[0], c.In[1], c.In[1].Stride[0], options.withDefault())
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

// takeArgs is Take of training.cu.
type takeArgs struct {
	y, x, rows, first, fault uint64
	n, step, all, rowStep    int64
	a, b                     float64
	g                        native.Axes
}

// launchTake is y = x at rows, of y's shape or of its first axis; position is the stride between the indices that an
// error counts.
func (c *Call) launchTake(code string, y, x, rows storage.Array, position int, options ScaleOffsetOptions) error {
	first := c.gpu.First(&rows)
	rows.Shape, rows.Stride = y.Shape, append(slices.Clone(rows.Stride), make([]int, y.Rank()-len(rows.Stride))...)
	args := takeArgs{
		first: first, step: int64(x.Stride[0]), all: int64(x.Shape[0]), rowStep: int64(position),
		fault: c.gpu.FaultAddress(), a: options.Scale, b: options.Offset,
	}
	x.Shape, x.Stride = y.Shape, slices.Clone(x.Stride)
	x.Stride[0] = 0 // the kernel adds the row's
	return c.gpu.EachGrid([]*storage.Array{&y, &x, &rows}, func(g *native.Axes, at launch.Addresses, n int64) error {
		args.y, args.x, args.rows, args.n, args.g = at[0], at[1], at[2], n, *g
		return launch.Start(c.gpu, code, n, &args)
	})
}

// widen reinterprets rows of adjacent elements as rows of fewer, larger elements, if sizes and alignment allow it.
func (c *Call) widen(y, x *storage.Array) {
	size := y.Type.Size()
	row := views.Of(y.Shape[1:]...).Len() * size
	for _, a := range []*storage.Array{y, x} {
		if inside := (views.View{Shape: a.Shape[1:], Stride: a.Stride[1:]}); !inside.Contiguous() {
			return
		}
	}
	for _, t := range []dtype.Type{dtype.Complex128, dtype.Uint64, dtype.Uint32, dtype.Uint16, dtype.Uint8} {
		wide := t.Size()
		fits := func(a *storage.Array) bool {
			return c.gpu.First(a)%uint64(wide) == 0 && a.Offset*size%wide == 0 && a.Stride[0]*size%wide == 0
		}
		if wide < size || row%wide != 0 || !fits(y) || !fits(x) {
			continue
		}
		for _, a := range []*storage.Array{y, x} {
			a.Type = t
			a.View = views.View{Offset: a.Offset * size / wide, Shape: []int{a.Shape[0], row / wide}, Stride: []int{a.Stride[0] * size / wide, 1}}
		}
		return
	}
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
