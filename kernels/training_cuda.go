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
	_ = onGPU(Take, func(c *Call, _ struct{}) error {
		return c.launchGather(c.Out[0], c.In[0], *c.rowIndex(), 0)
	})

	_ = onGPU(GatherCast, func(c *Call, options ScaleOffsetOptions) error {
		return c.launchTake(launch.Entry("take cast", c.Out[0].Type), c.Out[0], c.In[0], c.In[1], c.In[1].Stride[0], options.withDefault())
	})
)

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
