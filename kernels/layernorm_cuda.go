package kernels

import (
	"github.com/h5dnn/h5dnn/kernels/launch"
	"github.com/h5dnn/h5dnn/storage"
)

var (
	_ = onGPU(LayerNorm, func(c *Call, options LayerNormOptions) error {
		args := c.layerNormOf(&c.In[0], c.Out[1:3], c.In[1:])
		args.epsilon, args.y = options.Epsilon, c.rows(&c.Out[0])
		if len(c.In) > 1 {
			args.beta = c.columns(&c.In[2])
		}
		return c.launchLayerNorm("layer norm", &args)
	})

	_ = onGPU(LayerNormGrad, func(c *Call, _ struct{}) error {
		args := c.layerNormOf(&c.In[0], c.In[2:4], c.In[4:])
		args.dy, args.y = c.rows(&c.In[1]), c.rows(&c.Out[0])
		if err := c.launchLayerNorm("layer norm grad", &args); err != nil || len(c.In) < 5 || args.n == 0 {
			return err
		}
		args.dgamma, args.dbeta, args.counter = c.columns(&c.Out[1]), c.columns(&c.Out[2]), c.gpu.BlockCounters()
		tiles := launch.Ceil(int(args.n), 32)
		args.splits = 1
		if tiles <= launch.Counters && args.rows > 0 {
			args.splits = int64(splits(int(args.rows), min(max(1, launch.FullOccupancy/tiles), launch.Ceil(int(args.rows), 64))))
		}
		parts := 0
		if args.splits > 1 {
			parts = int(8 * 2 * args.splits * args.n)
		}
		return c.gpu.Workspace(parts, func(part uint64) error {
			args.part = part
			blocks := [3]uint32{uint32(min(tiles, 1<<16)), uint32(args.splits), 1}
			return launch.Blocks(c.gpu, launch.Entry("layer norm parameters", c.In[0].Type), blocks, launch.Threads, &args)
		})
	})
)

// rowsArgs and layerNormArgs are Rows and LayerNorm of layernorm.cu.
type rowsArgs struct {
	p           uint64
	row, column int64
}

type layerNormArgs struct {
	rows, n                                            int64
	epsilon                                            float64
	x, dy, y, mean, invstd, gamma, beta, dgamma, dbeta rowsArgs
	part, counter                                      uint64
	splits                                             int64
}

// rows describes a matrix, and a vector with an element for each row.
func (c *Call) rows(a *storage.Array) rowsArgs {
	args := rowsArgs{p: c.gpu.First(a), row: int64(a.Stride[0])}
	if a.Rank() > 1 {
		args.column = int64(a.Stride[1])
	}
	return args
}

// columns describes a vector with an element for each column.
func (c *Call) columns(a *storage.Array) rowsArgs {
	return rowsArgs{p: c.gpu.First(a), column: int64(a.Stride[0])}
}

// layerNormOf describes x with its mean and invstd, and gamma if there are parameters.
func (c *Call) layerNormOf(x *storage.Array, statistics, parameters []storage.Array) layerNormArgs {
	args := layerNormArgs{
		rows: int64(x.Shape[0]), n: int64(x.Shape[1]), x: c.rows(x),
		mean: c.rows(&statistics[0]), invstd: c.rows(&statistics[1]),
	}
	if len(parameters) > 0 {
		args.gamma = c.columns(&parameters[0])
	}
	return args
}

// launchLayerNorm has a warp, or a block if they are long, for each row.
func (c *Call) launchLayerNorm(name string, args *layerNormArgs) error {
	if args.rows == 0 {
		return nil
	}
	blocks := int(args.rows)
	if args.n >= longLine {
		name += " long"
	} else {
		blocks = launch.Ceil(blocks, launch.Threads/32)
	}
	return launch.Blocks(c.gpu, launch.Entry(name, c.In[0].Type), [3]uint32{uint32(min(blocks, 1<<16)), 1, 1}, launch.Threads, args)
}
