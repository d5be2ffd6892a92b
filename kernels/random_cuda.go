package kernels

import (
	"github.com/h5dnn/h5dnn/kernels/launch"
	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

var (
	_ = onGPU(Uniform, func(c *Call, options RandomOptions) error { return c.launchDraw("uniform", 0, options) })
	_ = onGPU(Normal, func(c *Call, options RandomOptions) error { return c.launchDraw("normal", 0, options) })
	_ = onGPU(Dropout, func(c *Call, options DropoutOptions) error {
		return c.launchDraw("dropout", 1, RandomOptions{options.Seed, options.Stream, float64(options.least()), 1 / (1 - options.P)})
	})
)

// drawArgs is Draw of random.cu.
type drawArgs struct {
	y, x, base   uint64
	seed, stream uint64
	a, b         float64
	index, n     int64
	fours        int64
	step         [2]int64
	wide         int64
	g            native.Axes
}

// group makes four elements of one block of random words the units of a, where the layout has them.
func (a *drawArgs) group(size uint64) {
	g := a.g
	steps, ok := launch.Group(&g, 2, 4, a.index)
	if !ok {
		return
	}
	a.g, a.n, a.fours, a.step = g, a.n/4, 1, [2]int64(steps[:2])
	unit := min(16, 4*size)
	for k, address := range []uint64{a.y, a.x} {
		odd := address
		for _, stride := range g.Stride[k][:g.Rank] {
			odd |= uint64(stride) * size
		}
		if steps[k] == 1 && odd%unit == 0 {
			a.wide |= 1 << k
		}
	}
}

// launchDraw fills the output, from the first input if operands is 1. The input after the operands, if there is one, is added to the stream.
func (c *Call) launchDraw(name string, operands int, options RandomOptions) error {
	y, x := &c.Out[0], &c.Out[0]
	if operands > 0 {
		x = &c.In[0]
	}
	var base uint64
	if len(c.In) > operands {
		base = c.gpu.First(&c.In[operands])
	}
	index := storage.Array{View: views.Of(y.Shape...)}
	return c.gpu.EachGrid([]*storage.Array{y, x, &index}, func(g *native.Axes, at launch.Addresses, n int64) error {
		args := drawArgs{y: at[0], base: base, seed: options.Seed, stream: options.Stream, a: options.A, b: options.B, index: int64(at[2]), n: n, g: *g}
		if operands > 0 {
			args.x = at[1]
		}
		args.group(uint64(y.Type.Size()))
		return launch.Start(c.gpu, launch.Entry(name, y.Type), args.n, &args)
	})
}
