package kernels

import (
	"fmt"

	"github.com/h5dnn/h5dnn/kernels/launch"
	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

var (
	_ = channelsOnGPU(BatchNorm, func(c *Call, options BatchNormOptions) error {
		x := &c.In[0]
		n := normOf(c, options)
		if n.count < 2 {
			return fmt.Errorf("%v has %d values in each channel, which have no variance: %w", x.Shape, n.count, views.ErrShape)
		}
		n.gamma, n.beta, n.mean, n.std = c.vector(c.In, 1), c.vector(c.In, 2), c.vector(c.Out, 1), c.vector(c.Out, 2)
		n.runningMean, n.runningVariance = c.vector(c.Out, 3), c.vector(c.Out, 4)
		return c.launchNorm(&n, "norm pivot", "norm train", nil, options.ReLU)
	})

	_ = channelsOnGPU(BatchNormEval, func(c *Call, options BatchNormOptions) error {
		n := normOf(c, options)
		n.gamma, n.beta, n.mean, n.std = c.vector(c.In, 1), c.vector(c.In, 2), c.vector(c.In, 3), c.vector(c.In, 4)
		return c.launchNorm(&n, "", "norm eval", nil, options.ReLU)
	})

	_ = channelsOnGPU(BatchNormGrad, func(c *Call, options BatchNormOptions) error { return c.launchNormGrad("norm grad", options) })

	_ = channelsOnGPU(BatchNormEvalGrad, func(c *Call, options BatchNormOptions) error { return c.launchNormGrad("norm eval grad", options) })
)

// channelsOnGPU is onGPU for a kernel of channels, which are the second axis of images and the only
// axis of the other operands. It calls run with as many channels as a launch takes.
func channelsOnGPU[S any](k *Kernel, run func(c *Call, options S) error) *Kernel {
	return onGPU(k, func(c *Call, options S) error {
		n, step := c.In[0].Shape[1], int(min(launch.Limit()-1, manyChannels))
		if n <= step {
			return run(c, options)
		}
		for from := 0; from < n; from += step {
			some := *c
			some.Out, some.In = channelsOf(c.Out, from, min(n, from+step)), channelsOf(c.In, from, min(n, from+step))
			if err := run(&some, options); err != nil {
				return err
			}
		}
		return nil
	})
}

// manyChannels is a number of channels whose coefficients take 200 MB.
const manyChannels = 1 << 22

func channelsOf(arrays []storage.Array, from, to int) (some []storage.Array) {
	for i := range arrays {
		some = append(some, *launch.Slice(&arrays[i], min(1, arrays[i].Rank()-1), from, to))
	}
	return some
}

func (c *Call) launchNormGrad(name string, options BatchNormOptions) error {
	n := normOf(c, options)
	n.gamma, n.mean, n.std = c.vector(c.In, 1), c.vector(c.In, 3), c.vector(c.In, 4)
	n.dgamma, n.dbeta = c.vector(c.Out, 1), c.vector(c.Out, 2)
	return c.launchNorm(&n, "norm grad pivot", name, &c.In[2], false)
}

// A vector is Vector of batchnorm.cu: a number for each channel.
type vector struct {
	p    uint64
	step int64
}

// vector returns the i-th array as a vector, or none if there are fewer.
func (c *Call) vector(arrays []storage.Array, i int) vector {
	if i >= len(arrays) {
		return vector{}
	}
	return vector{c.gpu.First(&arrays[i]), int64(arrays[i].Stride[0])}
}

// channelArgs are Channels of batchnorm.cu: addresses.
type channelArgs struct{ pivot, a, b, k, s, t uint64 }

// normArgs, sumsArgs and mapArgs are Norm, ChannelSums and ChannelMap of batchnorm.cu.
type normArgs struct {
	channels, count                                                        int64
	epsilon, momentum                                                      float64
	x, gamma, beta, mean, std, runningMean, runningVariance, dgamma, dbeta vector
	by                                                                     channelArgs
}

type sumsArgs struct {
	x, dy, y         uint64
	n, xStep, dyStep int64
	by               channelArgs
	g                native.Axes
}

type mapArgs struct {
	z, x, dy, y      uint64
	channel, n, relu int64
	by               channelArgs
	g                native.Axes
}

func normOf(c *Call, options BatchNormOptions) normArgs {
	x := &c.In[0]
	return normArgs{
		channels: int64(x.Shape[1]), count: int64(population(x)), epsilon: options.Epsilon, momentum: options.Momentum,
		x: vector{c.gpu.First(x), int64(x.Stride[1])},
	}
}

// launchNorm computes each channel's pivot and the sums about it, unless pivot is empty, then the
// coefficients of each channel, and from them the first output.
func (c *Call) launchNorm(n *normArgs, pivot, constants string, dy *storage.Array, relu bool) error {
	x := &c.In[0]
	if n.channels == 0 {
		return nil
	}
	return c.gpu.Workspace(int(6*8*n.channels), func(at uint64) error {
		step := uint64(8 * n.channels)
		n.by = channelArgs{at, at + step, at + 2*step, at + 3*step, at + 4*step, at + 5*step}
		if pivot != "" {
			if err := c.launchPivots(pivot, n); err != nil {
				return err
			}
			if err := c.launchSums(n, x, dy); err != nil {
				return err
			}
		}
		if err := launch.Start(c.gpu, launch.Entry(constants, c.In[1].Type), n.channels, n); err != nil {
			return err
		}
		return c.launchMap(n, x, dy, relu)
	})
}

// launchPivots takes each channel's pivot from its images, if there are any, or from its mean.
func (c *Call) launchPivots(name string, n *normArgs) error {
	from := &c.In[1]
	if name == "norm pivot" {
		from = &c.In[0]
	}
	if from.Len() == 0 {
		return nil
	}
	return launch.Start(c.gpu, launch.Entry(name, from.Type), n.channels, n)
}

// launchSums sums over each channel, about its pivot.
func (c *Call) launchSums(n *normArgs, x, dy *storage.Array) error {
	args := sumsArgs{n: n.count, xStep: int64(x.Stride[1]), by: n.by}
	second := x
	if dy != nil {
		second, args.dyStep = dy, int64(dy.Stride[1])
	}
	g, err := launch.Grid(^uint64(2), x, second)
	if err != nil {
		return err
	}
	if args.x = c.gpu.At(x, g.First[0]); dy != nil {
		args.dy = c.gpu.At(dy, g.First[1])
	}
	args.y = c.besideGrad(args.dy)
	args.g = g.Axes
	return launch.Blocks(c.gpu, launch.Entry("channel sums", x.Type), [3]uint32{uint32(n.channels), 1, 1}, launch.Threads, &args)
}

// launchMap computes the first output from x, dy if there is one, and each channel's constants.
func (c *Call) launchMap(n *normArgs, x, dy *storage.Array, relu bool) error {
	channel := storage.Array{View: views.View{Shape: x.Shape, Stride: make([]int, x.Rank())}}
	channel.Stride[1] = 1
	second := x
	if dy != nil {
		second = dy
	}
	return c.gpu.EachGrid([]*storage.Array{&c.Out[0], x, second, &channel}, func(g *native.Axes, at launch.Addresses, count int64) error {
		args := mapArgs{z: at[0], x: at[1], channel: int64(at[3]), n: count, by: n.by, g: *g}
		if dy != nil {
			args.dy = at[2]
			args.y = c.besideGrad(at[2])
		}
		if relu {
			args.relu = 1
		}
		return launch.Start(c.gpu, launch.Entry("channel map", x.Type), count, &args)
	})
}

// besideGrad returns the address of the element of the relu's result whose gradient is at an
// address: both have one layout. It is 0 if there is no relu.
func (c *Call) besideGrad(dy uint64) uint64 {
	y := reluOf(c)
	if y == nil {
		return 0
	}
	return dy - c.gpu.First(&c.In[2]) + c.gpu.First(y)
}
