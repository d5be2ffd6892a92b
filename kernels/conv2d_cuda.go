package kernels

import (
	"github.com/h5dnn/h5dnn/storage"
)

var (
	_ = onGPU(Conv2d, func(c *Call, set Conv2dSet) error {
		g := forwardRoles(c)
		g.set = set.whole()
		if done, err := c.convolve(&g, SideY); done || err != nil {
			return err
		}
		pixels, taps := g.y.Shape[2]*g.y.Shape[3], g.x.Shape[1]*g.w.Shape[2]*g.w.Shape[3]
		if err := c.launchConvs("conv", &g, g.x, [3]int{pixels, g.y.Shape[1], taps}); err != nil {
			return err
		}
		return c.activate(g.y, set.Act.unlessRelu())
	})

	_ = onGPU(Conv2dGradX, func(c *Call, set Conv2dSet) error {
		g := gradXRoles(c)
		g.set = set.whole()
		if done, err := c.convolve(&g, SideX); done || err != nil {
			return err
		}
		pixels, taps := g.x.Shape[2]*g.x.Shape[3], g.w.Shape[0]*g.w.Shape[2]*g.w.Shape[3]
		return c.launchConvs("conv grad x", &g, g.y, [3]int{pixels, g.x.Shape[1], taps})
	})

	_ = onGPU(Conv2dGradW, func(c *Call, set Conv2dSet) error {
		g := gradWRoles(c)
		g.set = set.whole()
		done, err := c.convolve(&g, SideW)
		if !done && err == nil {
			pixels, taps := g.y.Shape[0]*g.y.Shape[2]*g.y.Shape[3], g.x.Shape[1]*g.w.Shape[2]*g.w.Shape[3]
			err = c.launchConv("conv grad w", &g, [3]int{taps, g.y.Shape[1], pixels})
		}
		if err != nil || g.b == nil {
			return err
		}
		return c.launchReduce("sum", channelwise(g.b, g.y), g.y, 1, 0)
	})
)

// channelwise returns b (C) as what an (N, C, …) array becomes when all but its
// channels is reduced.
func channelwise(b, of *storage.Array) *storage.Array {
	sums := b.With(b.View)
	sums.Shape, sums.Stride = make([]int, of.Rank()), make([]int, of.Rank())
	for axis := range sums.Shape {
		sums.Shape[axis] = 1
	}
	sums.Shape[1], sums.Stride[1] = b.Shape[0], b.Stride[0]
	return &sums
}

// convArgs is Conv of conv2d.cu.
type convArgs struct {
	x, w, b, y, part   uint64
	e                  extent
	xs, ws, ys         [4]int64
	bStep, relu        int64
	xSize, ySize, taps [2]uint32
	stride, pad        [2]uint32
	last, _            uint32
}

// launchConvs is launchConv for images, each of so many rows. Weights are few: where
// many windows of images whose channels lie next to each other meet them, theirs are brought
// next to each other, too.
func (c *Call) launchConvs(name string, g *conv, images *storage.Array, size [3]int) error {
	if n := int64(g.w.Len()); channelsNext(images) && !lieAs(g.w, channelsLast(g.w.Shape)) && images.Shape[0]*size[0] >= manyWindows && n > 0 && n < most {
		return c.beside(g.w, channelsLast(g.w.Shape), func(moved *storage.Array) error {
			if err := c.launchCopy(moved, g.w); err != nil {
				return err
			}
			near := *g
			near.w = moved
			return c.launchImages(name, &near, size)
		})
	}
	return c.launchImages(name, g, size)
}

// manyWindows are worth a launch: each tile of them reads all weights.
const manyWindows = 1024

func (c *Call) launchImages(name string, g *conv, size [3]int) error {
	return eachBatch(g.x.Shape[0], size[0], func(from, to int) error {
		part := *g
		part.x, part.y = samples(g.x, from, to), samples(g.y, from, to)
		return c.launchConv(name, &part, [3]int{(to - from) * size[0], size[1], size[2]})
	})
}

// launchConv computes one of a convolution's arrays from the others: a product of
// so many rows and columns, each a sum of so many.
func (c *Call) launchConv(name string, g *conv, size [3]int) error {
	if size[0] == 0 || size[1] == 0 {
		return nil
	}
	for _, n := range size {
		if err := small(n); err != nil {
			return err
		}
	}
	args := convArgs{
		x: c.first(g.x), w: c.first(g.w), y: c.first(g.y),
		e: extent{m: uint32(size[0]), n: uint32(size[1]), k: uint32(size[2]), splits: 1},
	}
	args.lie(name, g)
	if g.b != nil && name == "conv" {
		args.b, args.bStep = c.first(g.b), int64(g.b.Stride[0])
	}
	if g.set.Act == ReluActivation {
		args.relu = 1
	}
	for i := range 4 {
		args.xs[i], args.ws[i], args.ys[i] = int64(g.x.Stride[i]), int64(g.w.Stride[i]), int64(g.y.Stride[i])
	}
	for i := range 2 {
		args.xSize[i], args.ySize[i] = uint32(g.x.Shape[2+i]), uint32(g.y.Shape[2+i])
		args.stride[i], args.pad[i] = uint32(g.set.Stride[i]), uint32(g.set.Padding[i])
	}
	return c.launchTiles(name, g.x.Type, &args.e, 1, &args.part, func(entry string, blocks [3]uint32) error {
		return launchBlocks(c.gpu, entry, blocks, tileThreads, &args)
	}, func(entry string, n int64) error { return launch(c.gpu, entry, n, &args) })
}

// lie has neighbouring threads read what lies next to each other: taps of images
// whose channels do, else pixels.
func (a *convArgs) lie(name string, g *conv) {
	of, channels := g.x, g.w.Shape[1]
	if name == "conv grad x" {
		of, channels = g.y, g.w.Shape[0]
	}
	a.taps = [2]uint32{uint32(g.w.Shape[3]), uint32(g.w.Shape[2])}
	last := channelsNext(of)
	if last {
		a.taps, a.last = [2]uint32{uint32(channels), uint32(g.w.Shape[3])}, 1
	}
	switch name {
	case "conv":
		a.e.xLies, a.e.yLies = down, 0
		if last {
			a.e.xLies = channelFours(a.x, g.x)
			a.e.yLies = channelFours(a.w, g.w)
		}
	case "conv grad x":
		a.e.xLies, a.e.yLies = down, down
		if last {
			a.e.xLies = channelFours(a.y, g.y)
		}
		a.e.yLies |= channelFours(a.w, g.w)
	case "conv grad w":
		a.e.xLies, a.e.yLies = 0, 0
		if last {
			a.e.xLies = down | channelFours(a.x, g.x)
		}
		if channelsNext(g.y) {
			a.e.yLies = down | channelFours(a.y, g.y)
		}
		a.e.split()
	}
}

// channelFours is fours if the channels of an image at an address are.
func channelFours(address uint64, a *storage.Array) uint32 {
	if a.Stride[1] == 1 && inFours(a.Type, address, a.Shape[1], int64(a.Stride[0]), int64(a.Stride[2]), int64(a.Stride[3])) {
		return fours
	}
	return 0
}

// channelsNext reports whether an image's channels are closer to each other than its columns.
func channelsNext(a *storage.Array) bool { return magnitude(a.Stride[1]) < magnitude(a.Stride[3]) }
