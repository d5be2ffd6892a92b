package kernels

import (
	"slices"

	"github.com/h5dnn/h5dnn/kernels/launch"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

var (
	_ = onGPU(Conv2d, func(c *Call, options Conv2dOptions) error {
		g := forwardRoles(c)
		g.options = options.withDefaults()
		if done, err := c.convolve(&g, launch.OperandY); done || err != nil {
			return err
		}
		if err := c.launchConv(&convolution{g, c, launch.OperandY}, g.x); err != nil {
			return err
		}
		return c.activate(g.y, options.Act.exceptReLU())
	})

	_ = onGPU(Conv2dGradX, func(c *Call, options Conv2dOptions) error {
		g := gradXRoles(c)
		g.options = options.withDefaults()
		if done, err := c.convolve(&g, launch.OperandX); done || err != nil {
			return err
		}
		return c.launchConv(&convolution{g, c, launch.OperandX}, g.y)
	})

	_ = onGPU(Conv2dGradW, func(c *Call, options Conv2dOptions) error {
		g := gradWRoles(c)
		g.options = options.withDefaults()
		done, err := c.convolve(&g, launch.OperandW)
		if !done && err == nil {
			err = c.gpu.Tiles(g.x.Type, &convolution{g, c, launch.OperandW})
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
	e                  launch.Extent
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
	computes launch.Operand
}

// launchConv computes p from images. Weights are few: where many windows of images whose channels
// lie next to each other meet them, theirs are brought next to each other, too.
func (c *Call) launchConv(p *convolution, images *storage.Array) error {
	t, n := p.x.Type, int64(p.w.Len())
	if !channelsNext(images) || hasStrides(p.w, channelsLast(p.w.Shape)) || p.Size()[launch.RowSide] < manyWindows || n == 0 || n >= launch.Limit() {
		return c.gpu.Tiles(t, p)
	}
	return c.beside(p.w, channelsLast(p.w.Shape), func(moved *storage.Array) error {
		if err := c.launchCopy(moved, p.w); err != nil {
			return err
		}
		near := *p
		near.w = moved
		return c.gpu.Tiles(t, &near)
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
	launch.OperandY: {launch.RowSide: {imageAxis, yDown, yAcross}, launch.ColumnSide: {outputAxis}, launch.SumSide: {channelAxis, tapsDown, tapsAcross}},
	launch.OperandX: {launch.RowSide: {imageAxis, xDown, xAcross}, launch.ColumnSide: {channelAxis}, launch.SumSide: {outputAxis, tapsDown, tapsAcross}},
	launch.OperandW: {launch.RowSide: {channelAxis, tapsDown, tapsAcross}, launch.ColumnSide: {outputAxis}, launch.SumSide: {imageAxis, yDown, yAcross}},
}

func (p *convolution) Size() (n [4]int) {
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

func (p *convolution) Halves(side int) (first, rest launch.Tiled) {
	axes := convSides[p.computes][side]
	axis := axes[slices.IndexFunc(axes, func(a convAxis) bool { return p.along(a) > 1 })]
	n := p.along(axis)
	half := int(launch.Halve(int64(n)))
	return p.part(axis, 0, half), p.part(axis, half, n)
}

// part is p from one place along an axis to another. Where a window meets x from then on,
// is told by its padding, which may be less than none.
func (p *convolution) part(a convAxis, from, to int) *convolution {
	part := *p
	part.x, part.w, part.y = launch.Slice(p.x, a.x, from, to), launch.Slice(p.w, a.w, from, to), launch.Slice(p.y, a.y, from, to)
	switch a {
	case outputAxis:
		part.b = launch.Slice(p.b, 0, from, to)
	case xDown, xAcross:
		part.options.Padding[a.x-2] += from
	case tapsDown, tapsAcross:
		part.options.Padding[a.w-2] -= from
	case yDown, yAcross:
		part.options.Padding[a.y-2] -= from * p.options.Stride[a.y-2]
	}
	return &part
}

// Extent has neighbouring threads read what lies next to each other: taps of images
// whose channels do, else pixels.
func (p *convolution) Extent() launch.Extent {
	e := launch.ExtentOf(p.Size())
	last := channelsNext(p.images())
	switch p.computes {
	case launch.OperandY:
		e.XOrder = launch.Down
		if last {
			e.XOrder, e.YOrder = p.channelFours(p.x), p.channelFours(p.w)
		}
	case launch.OperandX:
		e.XOrder, e.YOrder = launch.Down, launch.Down|p.channelFours(p.w)
		if last {
			e.XOrder = p.channelFours(p.y)
		}
	case launch.OperandW:
		if last {
			e.XOrder = launch.Down | p.channelFours(p.x)
		}
		if channelsNext(p.y) {
			e.YOrder = launch.Down | p.channelFours(p.y)
		}
		e.Split(1)
	}
	return e
}

// images are those that taps are of.
func (p *convolution) images() *storage.Array {
	if p.computes == launch.OperandX {
		return p.y
	}
	return p.x
}

func (p *convolution) Tiles(e launch.Extent, part uint64) (string, []byte) {
	args := convArgs{x: p.c.gpu.First(p.x), w: p.c.gpu.First(p.w), y: p.c.gpu.First(p.y), part: part, e: e}
	args.taps = [2]uint32{uint32(p.w.Shape[3]), uint32(p.w.Shape[2])}
	if channelsNext(p.images()) {
		args.taps, args.last = [2]uint32{uint32(p.images().Shape[1]), uint32(p.w.Shape[3])}, 1
	}
	if p.computes == launch.OperandY {
		args.b, args.bStep, args.relu = p.finish()
	}
	for i := range 4 {
		args.xs[i], args.ws[i], args.ys[i] = int64(p.x.Stride[i]), int64(p.w.Stride[i]), int64(p.y.Stride[i])
	}
	for i := range 2 {
		args.xSize[i], args.ySize[i] = uint32(p.x.Shape[2+i]), uint32(p.y.Shape[2+i])
		args.stride[i], args.pad[i] = uint32(p.options.Stride[i]), uint32(p.options.Padding[i])
	}
	return [...]string{launch.OperandY: "conv", launch.OperandX: "conv grad x", launch.OperandW: "conv grad w"}[p.computes], launch.Bytes(&args)
}

// finish is what is done with the sums of y: where the bias lies, and whether relu is applied.
func (p *convolution) finish() (bias uint64, step, relu int64) {
	if p.b != nil {
		bias, step = p.c.gpu.First(p.b), int64(p.b.Stride[0])
	}
	if p.options.Act == ReLUActivation {
		relu = 1
	}
	return bias, step, relu
}

// sums of images are added up as those of a matrix product, since their pixels lie evenly.
func (p *convolution) Sums(e launch.Extent, part uint64) (string, []byte) {
	if p.computes == launch.OperandW {
		return p.Tiles(e, part)
	}
	step, _ := pixelStep(p.made())
	args := productArgs{z: p.c.gpu.First(p.made()), part: part, e: e, zStep: [2]int64{step, int64(p.made().Stride[1])}}
	if p.computes == launch.OperandY {
		args.bias, args.biasStep, args.relu = p.finish()
	}
	return "product", launch.Bytes(&args)
}

func (p *convolution) Even() bool {
	_, ok := pixelStep(p.made())
	return ok || p.computes == launch.OperandW
}

// made is what is computed.
func (p *convolution) made() *storage.Array {
	return [...]*storage.Array{launch.OperandY: p.y, launch.OperandX: p.x, launch.OperandW: p.w}[p.computes]
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
	if a.Stride[1] == 1 && inFours(a.Type, p.c.gpu.First(a), a.Shape[1], int64(a.Stride[0]), int64(a.Stride[2]), int64(a.Stride[3])) {
		return launch.Fours
	}
	return 0
}

// channelsNext reports whether an image's channels are closer to each other than its columns.
func channelsNext(a *storage.Array) bool { return magnitude(a.Stride[1]) < magnitude(a.Stride[3]) }

// convolve offers a convolution to the GPU's library. Weights, which are few,
// are brought into the order that the images have.
func (c *Call) convolve(g *conv, computes launch.Operand) (done bool, err error) {
	library, ok := launch.Library[launch.Convolver](c.gpu)
	if !ok || g.empty() || int64(g.w.Len()) >= launch.Limit() { // weights that are moved are few
		return false, nil
	}
	order, last := channelsLast, true
	if !hasStrides(g.x, order(g.x.Shape)) || !hasStrides(g.y, order(g.y.Shape)) {
		order, last = rowMajor, false
	}
	if !hasStrides(g.x, order(g.x.Shape)) || !hasStrides(g.y, order(g.y.Shape)) {
		return false, nil
	}
	q := launch.Convolution{Type: g.x.Type, Computes: computes, ChannelsLast: last, Stride: g.options.Stride, Padding: g.options.Padding}
	q.X, q.W, q.Y = c.image(g.x, order), c.image(g.w, order), c.image(g.y, order)
	if computes == launch.OperandY && g.b != nil && g.options.Act == ReLUActivation && adjacent(g.b) {
		q.Bias, q.Relu = c.gpu.First(g.b), true
	}
	if hasStrides(g.w, order(g.w.Shape)) {
		done, err = library.Convolve(q)
	} else {
		done, err = c.convolveMoved(library, q, g.w)
	}
	if !done || err != nil || q.Relu || computes != launch.OperandY {
		return done, err
	}
	return true, c.finish(g)
}

func (c *Call) image(a *storage.Array, order func([]int) [4]int) launch.Image {
	return launch.Image{Address: c.gpu.First(a), Size: [4]int(a.Shape), Stride: order(a.Shape)}
}

// convolveMoved convolves with weights that lie as w does, through a copy.
func (c *Call) convolveMoved(library launch.Convolver, q launch.Convolution, w *storage.Array) (done bool, err error) {
	err = c.beside(w, q.W.Stride, func(moved *storage.Array) error {
		q.W.Address = c.gpu.First(moved)
		if q.Computes != launch.OperandW {
			q.Before = func() error { return c.launchCopy(moved, w) }
		}
		if done, err = library.Convolve(q); !done || err != nil || q.Computes != launch.OperandW {
			return err
		}
		return c.launchCopy(w, moved)
	})
	return done, err
}

// beside lends an array like a, which lies otherwise and holds nothing yet.
func (c *Call) beside(a *storage.Array, stride [4]int, use func(moved *storage.Array) error) error {
	return c.gpu.Workspace(a.Len()*a.Type.Size(), func(address uint64) error {
		return use(&storage.Array{Type: a.Type, View: views.View{Offset: int(address), Shape: a.Shape, Stride: stride[:]}})
	})
}

// finish adds the bias to y and applies the activation.
func (c *Call) finish(g *conv) error {
	if g.b == nil {
		return c.activate(g.y, g.options.Act)
	}
	on := Call{Out: []storage.Array{*g.y}, In: []storage.Array{*g.y, *g.b}, Options: ActOptions{Act: g.options.Act}}
	return c.launch(BiasAct, &on)
}
