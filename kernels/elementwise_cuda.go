package kernels

// #include "loops.h"
import "C"

import (
	"github.com/h5dnn/h5dnn/storage"
)

var _ = onGPU(Affine, func(c *Call, set AffineSet) error { return c.launchLoop("affine", set.Scale, set.Shift) })

// loopArgs is Elementwise of elementwise.cu.
type loopArgs struct {
	z, x, y uint64
	a, b    float64

	n, kind int64 // the type, as types.cuh numbers it
	g       C.h5k_grid
}

// launchLoop is operation.run on a GPU, for the line of that name; of integers
// too, for lines that device/elementwise.cu lists.
func (c *Call) launchLoop(name string, a, b float64) error {
	z, x, y := &c.Out[0], &c.In[0], &c.In[len(c.In)-1]
	return c.eachGrid([]*storage.Array{z, x, y}, func(g *C.h5k_grid, at starts, n int64) error {
		packs := pack(g, packed(x.Type), at, z, x, y)
		return launch(c.gpu, entry(name, x.Type), packs, &loopArgs{at[0], at[1], at[2], a, b, n, int64(x.Type), *g})
	})
}
