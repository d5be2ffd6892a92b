package kernels

import (
	"github.com/h5dnn/h5dnn/kernels/launch"
	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

var (
	_ = onGPU(Uniform, func(c *Call, options RandomOptions) error { return c.launchDraw("uniform", options) })
	_ = onGPU(Normal, func(c *Call, options RandomOptions) error { return c.launchDraw("normal", options) })
	_ = onGPU(Dropout, func(c *Call, options DropoutOptions) error {
		return c.launchDraw("dropout", RandomOptions{options.Seed, options.Stream, float64(options.least()), 1 / (1 - options.P)})
	})
)

// drawArgs is Draw of random.cu.
type drawArgs struct {
	y, x, base   uint64
	seed, stream uint64
	a, b         float64
	index, n     int64
	g            native.Axes
}

// launchDraw fills the output, from the input if there is one.
func (c *Call) launchDraw(name string, options RandomOptions) error {
	y, x := &c.Out[0], &c.Out[0]
	if len(c.In) > 0 {
		x = &c.In[0]
	}
	var base uint64
	if len(c.In) > 1 {
		base = c.gpu.First(&c.In[1])
	}
	index := storage.Array{View: views.Of(y.Shape...)}
	return c.gpu.EachGrid([]*storage.Array{y, x, &index}, func(g *native.Axes, at launch.Addresses, n int64) error {
		args := drawArgs{at[0], 0, base, options.Seed, options.Stream, options.A, options.B, int64(at[2]), n, *g}
		if len(c.In) > 0 {
			args.x = at[1]
		}
		return launch.Start(c.gpu, launch.Entry(name, y.Type), n, &args)
	})
}
