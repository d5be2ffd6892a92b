package kernels

import "github.com/h5dnn/h5dnn/storage"

var (
	_ = poolOnGPU(MaxPool, maxPoolOperands)
	_ = poolOnGPU(MaxPoolGrad, maxPoolGradOperands)
	_ = poolOnGPU(AvgPool, avgPoolOperands)
	_ = poolOnGPU(AvgPoolGrad, avgPoolGradOperands)
)

// poolSettings is Pooling of pool.cu.
type poolSettings struct {
	kernel, stride, dilation, pad, end [3]int
	exclude                            bool
}

// poolOnGPU launches the entry of k's name, which takes two or three spatial axes; an axis
// of size 1 is added to a single one.
func poolOnGPU(k *Kernel, operands func(c *Call) pool) *Kernel {
	return onGPU(k, func(c *Call, o PoolOptions) error {
		p := operands(c)
		must(p.set(o))
		s := poolSettings{kernel: p.size, stride: p.stride, dilation: p.dilation, exclude: p.exclude}
		size := spatial(p.x).Shape[2:]
		for axis, pad := range p.padding {
			s.pad[axis], s.end[axis] = pad[0], size[axis]+pad[1]
		}
		axes := max(p.x.Rank()-2, 2)
		images := func(arrays []storage.Array) []storage.Array {
			with := make([]storage.Array, len(arrays))
			for i := range arrays {
				with[i] = withSpatial(&arrays[i], axes)
			}
			return with
		}
		return c.gpu.Own(k.Name, images(c.Out), images(c.In), s)
	})
}
