package kernels

// #include "loops.h"
import "C"

import (
	"fmt"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
)

var _ = onGPU(Cast, func(c *Call, set CastSet) error {
	y, x := &c.Out[0], &c.In[0]
	same := identity(c, set)
	if same && x.Type == y.Type {
		return c.launchCopy(y, x)
	}
	code := "cast"
	switch {
	case !same && x.Type == dtype.Uint8 && y.Type.IsFloat():
		code = entry("cast bytes", y.Type)
	case same && (isHalf(x.Type) && y.Type == dtype.Float32 || x.Type == dtype.Float32 && isHalf(y.Type)):
		code = entry(entry("cast", x.Type), y.Type)
	}
	args := castArgs{a: set.Scale, b: set.Shift, to: int64(y.Type), from: int64(x.Type)}
	if same {
		args.identity = 1
	}
	for _, t := range []dtype.Type{x.Type, y.Type} {
		if t > dtype.Float64 {
			return fmt.Errorf("GPUs do not cast %v; cast it on the cpu: %w", t, dtype.ErrType)
		}
	}
	return c.eachGrid([]*storage.Array{y, x}, func(g *C.h5k_grid, at starts, n int64) error {
		packs := n
		if code != "cast" {
			packs = pack(g, min(atOnce(x.Type), atOnce(y.Type)), at, y, x)
		}
		args.y, args.x, args.n, args.g = at[0], at[1], n, *g
		return launch(c.gpu, code, packs, &args)
	})
})

// castArgs is Cast of cast.cu, which numbers types as package dtype does.
type castArgs struct {
	y, x                  uint64
	a, b                  float64
	n, to, from, identity int64
	g                     C.h5k_grid
}
