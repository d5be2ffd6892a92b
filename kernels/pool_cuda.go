package kernels

var (
	_ = poolOnGPU(MaxPool2d, findMaxPool, false)
	_ = poolOnGPU(MaxPool2dGrad, findMaxPoolGrad, true)
	_ = poolOnGPU(AvgPool2d, findAvgPool, false)
	_ = poolOnGPU(AvgPool2dGrad, findAvgPoolGrad, true)
)

// poolArgs is Pool of pool.cu.
type poolArgs struct {
	x, y, at, relu               uint64
	n                            int64
	xs, ys, as                   [4]int64
	channels                     uint32
	xSize, ySize, kernel, stride [2]uint32
	pad                          [2]uint32
	wide                         uint32
}

// poolOnGPU gives k its CUDA side: a thread for each element of y or, of a slope, of x.
func poolOnGPU(k *Kernel, find func(c *Call) pool, slope bool) *Kernel {
	return onGPU(k, func(c *Call, set Pool2dSet) error {
		p := find(c)
		p.set = set.whole()
		code := entry(k.Name, p.x.Type)
		return eachBatch(p.x.Shape[0], max(p.x.Len(), p.y.Len())/max(1, p.x.Shape[0]), func(from, to int) error {
			part := pool{samples(p.x, from, to), samples(p.y, from, to), samples(p.at, from, to), samples(p.relu, from, to), p.set}
			args := c.poolArgs(&part)
			if args.n = int64(part.y.Len()); slope {
				args.n = int64(part.x.Len())
			}
			if args.n == 0 {
				return nil
			}
			return launch(c.gpu, code, args.n, &args)
		})
	})
}

func (c *Call) poolArgs(p *pool) poolArgs {
	args := poolArgs{x: c.first(p.x), y: c.first(p.y), at: c.first(p.at), relu: c.first(p.relu), channels: uint32(p.x.Shape[1])}
	for i := range 4 {
		args.xs[i], args.ys[i] = int64(p.x.Stride[i]), int64(p.y.Stride[i])
		if p.at != nil {
			args.as[i] = int64(p.at.Stride[i])
		}
	}
	if p.at != nil && p.at.Type.Size() > 1 {
		args.wide = 1
	}
	for i := range 2 {
		args.xSize[i], args.ySize[i] = uint32(p.x.Shape[2+i]), uint32(p.y.Shape[2+i])
		args.kernel[i], args.stride[i], args.pad[i] = uint32(p.set.Kernel[i]), uint32(p.set.Stride[i]), uint32(p.set.Padding[i])
	}
	return args
}
