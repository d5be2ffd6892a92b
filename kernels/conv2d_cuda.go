package kernels

import (
	"slices"

	"github.com/h5dnn/h5dnn/storage"
)

var (
	_ = onGPU(Conv2d, func(c *Call, set Conv2dSet) error {
		g := forwardRoles(c)
		g.set = set.whole()
		if done, err := c.convolve(&g, SideY); done || err != nil {
			return err
		}
		if err := c.launchConv(&convolution{g, c, SideY}, g.x); err != nil {
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
		return c.launchConv(&convolution{g, c, SideX}, g.y)
	})

	_ = onGPU(Conv2dGradW, func(c *Call, set Conv2dSet) error {
		g := gradWRoles(c)
		g.set = set.whole()
		done, err := c.convolve(&g, SideW)
		if !done && err == nil {
			err = c.launchTiles(g.x.Type, &convolution{g, c, SideW})
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

// A convolution is a tiled product, which computes one of its arrays from the other two.
type convolution struct {
	conv
	c        *Call
	computes Side
}

// launchConv computes p from images. Weights are few: where many windows of images whose channels
// lie next to each other meet them, theirs are brought next to each other, too.
func (c *Call) launchConv(p *convolution, images *storage.Array) error {
	t, n := p.x.Type, int64(p.w.Len())
	if !channelsNext(images) || lieAs(p.w, channelsLast(p.w.Shape)) || p.size()[rowSide] < manyWindows || n == 0 || n >= most {
		return c.launchTiles(t, p)
	}
	return c.beside(p.w, channelsLast(p.w.Shape), func(moved *storage.Array) error {
		if err := c.launchCopy(moved, p.w); err != nil {
			return err
		}
		near := *p
		near.w = moved
		return c.launchTiles(t, &near)
	})
}

// manyWindows are worth a launch: each tile of them reads all weights.
const manyWindows = 1024

// A convAxis is which of the axes of x, w and y it is; −1 of those that do not have it.
type convAxis struct{ x, w, y int }

var (
	imageAxis, outputAxis, channelAxis = convAxis{0, -1, 0}, convAxis{-1, 0, 1}, convAxis{1, 1, -1}
	xDown, xAcross                     = convAxis{2, -1, -1}, convAxis{3, -1, -1}
	tapsDown, tapsAcross               = convAxis{-1, 2, -1}, convAxis{-1, 3, -1}
	yDown, yAcross                     = convAxis{-1, -1, 2}, convAxis{-1, -1, 3}
)

// convSides are the axes that the sides of a tiled product are made of.
var convSides = [...][4][]convAxis{
	SideY: {rowSide: {imageAxis, yDown, yAcross}, columnSide: {outputAxis}, sumSide: {channelAxis, tapsDown, tapsAcross}},
	SideX: {rowSide: {imageAxis, xDown, xAcross}, columnSide: {channelAxis}, sumSide: {outputAxis, tapsDown, tapsAcross}},
	SideW: {rowSide: {channelAxis, tapsDown, tapsAcross}, columnSide: {outputAxis}, sumSide: {imageAxis, yDown, yAcross}},
}

func (p *convolution) size() (n [4]int) {
	for side, axes := range convSides[p.computes] {
		n[side] = 1
		for _, axis := range axes {
			n[side] *= p.along(axis)
		}
	}
	return n
}

// along is how long an axis is.
func (p *convolution) along(a convAxis) int {
	switch {
	case a.x >= 0:
		return p.x.Shape[a.x]
	case a.w >= 0:
		return p.w.Shape[a.w]
	}
	return p.y.Shape[a.y]
}

func (p *convolution) halves(side int) (tiled, tiled) {
	axes := convSides[p.computes][side]
	axis := axes[slices.IndexFunc(axes, func(a convAxis) bool { return p.along(a) > 1 })]
	n := p.along(axis)
	half := int(halved(int64(n)))
	return p.stretch(axis, 0, half), p.stretch(axis, half, n)
}

// stretch is p from one place along an axis to another. Where a window meets x from then on,
// is told by its padding, which may be less than none.
func (p *convolution) stretch(a convAxis, from, to int) *convolution {
	part := *p
	part.x, part.w, part.y = stretch(p.x, a.x, from, to), stretch(p.w, a.w, from, to), stretch(p.y, a.y, from, to)
	switch a {
	case outputAxis:
		part.b = stretch(p.b, 0, from, to)
	case xDown, xAcross:
		part.set.Padding[a.x-2] += from
	case tapsDown, tapsAcross:
		part.set.Padding[a.w-2] -= from
	case yDown, yAcross:
		part.set.Padding[a.y-2] -= from * p.set.Stride[a.y-2]
	}
	return &part
}

// extent has neighbouring threads read what lies next to each other: taps of images
// whose channels do, else pixels.
func (p *convolution) extent() extent {
	e := extentOf(p.size())
	last := channelsNext(p.images())
	switch p.computes {
	case SideY:
		e.xLies = down
		if last {
			e.xLies, e.yLies = p.channelFours(p.x), p.channelFours(p.w)
		}
	case SideX:
		e.xLies, e.yLies = down, down|p.channelFours(p.w)
		if last {
			e.xLies = p.channelFours(p.y)
		}
	case SideW:
		if last {
			e.xLies = down | p.channelFours(p.x)
		}
		if channelsNext(p.y) {
			e.yLies = down | p.channelFours(p.y)
		}
		e.split(1)
	}
	return e
}

// images are those that taps are of.
func (p *convolution) images() *storage.Array {
	if p.computes == SideX {
		return p.y
	}
	return p.x
}

func (p *convolution) tiles(e extent, part uint64) (string, []byte) {
	args := convArgs{x: p.c.first(p.x), w: p.c.first(p.w), y: p.c.first(p.y), part: part, e: e}
	args.taps = [2]uint32{uint32(p.w.Shape[3]), uint32(p.w.Shape[2])}
	if channelsNext(p.images()) {
		args.taps, args.last = [2]uint32{uint32(p.images().Shape[1]), uint32(p.w.Shape[3])}, 1
	}
	if p.computes == SideY {
		args.b, args.bStep, args.relu = p.finish()
	}
	for i := range 4 {
		args.xs[i], args.ws[i], args.ys[i] = int64(p.x.Stride[i]), int64(p.w.Stride[i]), int64(p.y.Stride[i])
	}
	for i := range 2 {
		args.xSize[i], args.ySize[i] = uint32(p.x.Shape[2+i]), uint32(p.y.Shape[2+i])
		args.stride[i], args.pad[i] = uint32(p.set.Stride[i]), uint32(p.set.Padding[i])
	}
	return [...]string{SideY: "conv", SideX: "conv grad x", SideW: "conv grad w"}[p.computes], bytesOf(&args)
}

// finish is what is done with the sums of y: where the bias lies, and whether relu is applied.
func (p *convolution) finish() (bias uint64, step, relu int64) {
	if p.b != nil {
		bias, step = p.c.first(p.b), int64(p.b.Stride[0])
	}
	if p.set.Act == ReluActivation {
		relu = 1
	}
	return bias, step, relu
}

// sums of images are added up as those of a matrix product, since their pixels lie evenly.
func (p *convolution) sums(e extent, part uint64) (string, []byte) {
	if p.computes == SideW {
		return p.tiles(e, part)
	}
	step, _ := pixelStep(p.made())
	args := productArgs{z: p.c.first(p.made()), part: part, e: e, zStep: [2]int64{step, int64(p.made().Stride[1])}}
	if p.computes == SideY {
		args.bias, args.biasStep, args.relu = p.finish()
	}
	return "product", bytesOf(&args)
}

func (p *convolution) even() bool {
	_, ok := pixelStep(p.made())
	return ok || p.computes == SideW
}

// made is what is computed.
func (p *convolution) made() *storage.Array {
	return [...]*storage.Array{SideY: p.y, SideX: p.x, SideW: p.w}[p.computes]
}

// pixelStep returns how far apart the pixels of all images are, if it is the same all along.
func pixelStep(a *storage.Array) (step int64, ok bool) {
	s, ok := threeStrides(a)
	n := a.Shape[2] * a.Shape[3]
	if n == 1 {
		s[2] = s[0]
	}
	return int64(s[2]), ok && (a.Shape[0] == 1 || a.Stride[0] == n*int(s[2]))
}

// channelFours is fours if the channels of an image are.
func (p *convolution) channelFours(a *storage.Array) uint32 {
	if a.Stride[1] == 1 && inFours(a.Type, p.c.first(a), a.Shape[1], int64(a.Stride[0]), int64(a.Stride[2]), int64(a.Stride[3])) {
		return fours
	}
	return 0
}

// channelsNext reports whether an image's channels are closer to each other than its columns.
func channelsNext(a *storage.Array) bool { return magnitude(a.Stride[1]) < magnitude(a.Stride[3]) }
