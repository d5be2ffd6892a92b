package kernels

import (
	"github.com/h5dnn/h5dnn/kernels/launch"
	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
)

var _ = onGPU(ScaleOffset, func(c *Call, options ScaleOffsetOptions) error {
	options = options.withDefault()
	return c.launchLoop("scale offset", options.Scale, options.Offset)
})

// loopArgs is Elementwise of elementwise.cu.
type loopArgs struct {
	z, x, y, w uint64
	a, b       float64
	n, kind    int64 // the type, as types.cuh numbers it
	g          native.Axes
}

// launchLoop is runOp on a GPU, for the operation of that name.
func (c *Call) launchLoop(name string, a, b float64) error {
	z, x, y := &c.Out[0], &c.In[0], &c.In[min(1, len(c.In)-1)]
	operands := []*storage.Array{z, x, y}
	if len(c.In) == 3 {
		operands = append(operands, &c.In[2])
	}
	return c.gpu.EachGrid(operands, func(g *native.Axes, at launch.Addresses, n int64) error {
		packs := launch.Pack(g, launch.PackOfEntry(x.Type), at, operands...)
		return launch.Start(c.gpu, launch.Entry(name, x.Type), packs, &loopArgs{at[0], at[1], at[2], at[3], a, b, n, int64(x.Type.Number()), *g})
	})
}
