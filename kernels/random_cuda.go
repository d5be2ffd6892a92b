package kernels

import (
	"github.com/h5dnn/h5dnn/kernels/launch"
	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

var (
	_ = onGPU(Uniform, func(c *Call, set RandomSet) error { return c.launchDraw("uniform", set) })
	_ = onGPU(Normal, func(c *Call, set RandomSet) error { return c.launchDraw("normal", set) })
	_ = onGPU(Dropout, func(c *Call, set DropoutSet) error {
		return c.launchDraw("dropout", RandomSet{set.Seed, set.Stream, float64(set.least()), 1 / (1 - set.P)})
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
func (c *Call) launchDraw(name string, set RandomSet) error {
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
		args := drawArgs{at[0], 0, base, set.Seed, set.Stream, set.A, set.B, int64(at[2]), n, *g}
		if len(c.In) > 0 {
			args.x = at[1]
		}
		return launch.Start(c.gpu, launch.Entry(name, y.Type), n, &args)
	})
}
