package kernels

import (
	"fmt"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels/launch"
	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
)

var _ = onGPU(Cast, func(c *Call, options CastOptions) error {
	y, x := &c.Out[0], &c.In[0]
	options = options.withDefault()
	same := options.identity()
	if same && x.Type == y.Type {
		return c.launchCopy(y, x)
	}
	code, tiled := "cast", ""
	switch {
	case !same && x.Type == dtype.Uint8 && y.Type.IsFloat():
		code = launch.Entry("cast bytes", y.Type)
	case same && (isHalf(x.Type) && y.Type == dtype.Float32 || x.Type == dtype.Float32 && isHalf(y.Type)):
		code, tiled = launch.Entry(launch.Entry("cast", x.Type), y.Type), launch.Entry(launch.Entry("transpose", x.Type), y.Type)
	}
	args := castArgs{a: options.Scale, b: options.Offset, to: int64(y.Type.Number()), from: int64(x.Type.Number())}
	if same {
		args.identity = 1
	}
	for _, t := range []dtype.Type{x.Type, y.Type} {
		if t.IsComplex() || t.StorageOnly() {
			return fmt.Errorf("GPUs do not cast %v; cast it on the cpu: %w", t, dtype.ErrType)
		}
	}
	return c.gpu.EachGrid([]*storage.Array{y, x}, func(g *native.Axes, at launch.Addresses, n int64) error {
		if tiled != "" {
			if done, err := c.launchTransposed(tiled, g, at, y.Type.Size(), x.Type.Size()); done || err != nil {
				return err
			}
		}
		packs := n
		if code != "cast" {
			packs = launch.Pack(g, min(launch.PackOf(x.Type), launch.PackOf(y.Type)), at, y, x)
		}
		args.y, args.x, args.n, args.g = at[0], at[1], n, *g
		return launch.Start(c.gpu, code, packs, &args)
	})
})

// castArgs is Cast of cast.cu, which numbers types as package dtype does.
type castArgs struct {
	y, x                  uint64
	a, b                  float64
	n, to, from, identity int64
	g                     native.Axes
}
