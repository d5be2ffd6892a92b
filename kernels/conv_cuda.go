package kernels

import (
	"cmp"
	"slices"

	"github.com/h5dnn/h5dnn/kernels/launch"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

var (
	_ = onGPU(Conv, func(c *Call, o ConvOptions) error {
		g := convOperands(c)
		must(g.set(o))
		before := g // without an activation of its own, if z is wanted
		if before.y = g.z; g.stores() {
			before.act = NoActivation
		}
		done, err := c.convolve(&before, launch.OperandY)
		if done && g.stores() && err == nil {
			err = c.activate(g.y, g.z, g.act)
		}
		if done || err != nil {
			return err
		}
		if direct, err := c.direct(&before, launch.OperandY); direct || err != nil {
			return cmp.Or(err, c.activate(g.y, g.z, g.act))
		}
		return c.eachGroup(&g, func(g conv) error { return c.launchConv(&convolution{g, c, launch.OperandY}, g.x) })
	})

	_ = onGPU(ConvGradX, func(c *Call, o ConvOptions) error {
		g := convGradXOperands(c)
		must(g.set(o))
		if done, err := c.convolve(&g, launch.OperandX); done || err != nil {
			return err
		}
		if direct, err := c.direct(&g, launch.OperandX); direct || err != nil {
			return err
		}
		return c.eachGroup(&g, func(g conv) error { return c.launchConv(&convolution{g, c, launch.OperandX}, g.y) })
	})

	_ = onGPU(ConvGradW, func(c *Call, o ConvOptions) error {
		g := convGradWOperands(c)
		must(g.set(o))
		done, err := c.convolve(&g, launch.OperandW)
		if !done && err == nil {
			done, err = c.direct(&g, launch.OperandW)
		}
		if !done && err == nil {
			err = c.eachGroup(&g, func(g conv) error { return c.gpu.Tiles(g.x.Type, &convolution{g, c, launch.OperandW}) })
		}
		if err != nil || g.b == nil {
			return err
		}
		return c.launchReduce("sum", channelwise(g.b, g.y), g.y, nil, 1, 0)
	})
)

// manyGroups is the number of groups from which on a tiled product for each is not worth
// it: each group has few channels. Depthwise convolutions have as many groups as channels.
const manyGroups = 8

// directOptions is Direct of conv.cu.
type directOptions struct {
	stride, dilation, pad [3]int
	outputs               int // of each group
	byOutputs, byInputs   launch.LongDivisor
	byStride, bySize      [3]launch.LongDivisor
}

// direct computes convolutions over three axes or of many groups without tiles: with a
// thread for each element, or a block for each weight. It reports false for others.
func (c *Call) direct(g *conv, computes launch.Operand) (bool, error) {
	if g.x.Rank() < 5 && g.groups < manyGroups {
		return false, nil
	}
	x, w, y := spatial(g.x), spatial(g.w), spatial(g.y)
	options := directOptions{stride: g.stride, dilation: g.dilation, outputs: w.Shape[0] / g.groups}
	options.byOutputs, options.byInputs = divideBy(options.outputs), divideBy(w.Shape[1])
	for axis := range 3 {
		options.pad[axis], options.byStride[axis], options.bySize[axis] = g.padding[axis][0], divideBy(g.stride[axis]), divideBy(y.Shape[2+axis])
	}
	switch computes {
	case launch.OperandX:
		return true, c.gpu.LaunchElementwise("conv grad x direct", []storage.Array{x}, []storage.Array{y, w}, options)
	case launch.OperandW:
		return true, c.gpu.LaunchBlocks("conv grad w direct", []storage.Array{w}, []storage.Array{x, y}, options)
	}
	in := []storage.Array{x, w}
	if g.b != nil {
		in = append(in, *g.b)
	}
	return true, c.gpu.LaunchElementwise("conv direct", []storage.Array{y}, in, options)
}

// divideBy is launch.LongDivideBy for a size that may be 0, by which nothing is divided.
func divideBy(size int) launch.LongDivisor { return launch.LongDivideBy(int64(max(size, 1))) }

// eachGroup calls visit with the convolution of each group, over two spatial axes.
func (c *Call) eachGroup(g *conv, visit func(g conv) error) error {
	x, w, y := withSpatial(g.x, 2), withSpatial(g.w, 2), withSpatial(g.y, 2)
	one := *g
	one.x, one.w, one.y, one.groups = &x, &w, &y, 1
	if one.z = one.y; g.stores() {
		z := withSpatial(g.z, 2)
		one.z = &z
	}
	if g.groups == 1 {
		return visit(one)
	}
	inputs, outputs := w.Shape[1], w.Shape[0]/g.groups
	for group := range g.groups {
		of := one
		of.x = launch.Slice(one.x, 1, group*inputs, (group+1)*inputs)
		of.w = launch.Slice(one.w, 0, group*outputs, (group+1)*outputs)
		of.y, of.z = one.results(1, group*outputs, (group+1)*outputs)
		of.b = launch.Slice(one.b, 0, group*outputs, (group+1)*outputs)
		if err := visit(of); err != nil {
			return err
		}
	}
	return nil
}

// results returns a part of y and of z, from one position along an axis to another.
func (g *conv) results(axis, from, to int) (y, z *storage.Array) {
	y = launch.Slice(g.y, axis, from, to)
	if g.z == g.y {
		return y, y
	}
	return y, launch.Slice(g.z, axis, from, to)
}

// channelwise returns b (C) with the shape of an (N, C, …) array that is reduced over all
// axes but its channels.
func channelwise(b, of *storage.Array) *storage.Array {
	sums := b.With(b.View)
	sums.Shape, sums.Stride = make([]int, of.Rank()), make([]int, of.Rank())
	for axis := range sums.Shape {
		sums.Shape[axis] = 1
	}
	sums.Shape[1], sums.Stride[1] = b.Shape[0], b.Stride[0]
	return &sums
}

// convArgs is Conv of conv.cu.
type convArgs struct {
	x, w, b, y         uint64
	part, activated    uint64
	e                  launch.Extent
	xs, ws, ys         [4]int64
	activatedStep      [4]int64
	bStep, act         int64
	xSize, ySize, taps [2]uint32
	stride             [2]uint32
	dilation, pad      [2]uint32
	last, _            uint32
}

// A convolution is a tiled product that computes one operand from the other two.
type convolution struct {
	conv
	c        *Call
	computes launch.Operand
}

// launchConv computes p from images. If there are many windows of channels-last images, the
// weights, which are small, are copied to that layout too.
func (c *Call) launchConv(p *convolution, images *storage.Array) error {
	t, n := p.x.Type, int64(p.w.Len())
	if !channelsNext(images) || hasStrides(p.w, channelsLast(p.w.Shape)) || p.Size()[launch.RowSide] < manyWindows || n == 0 || n >= launch.Limit() {
		return c.gpu.Tiles(t, p)
	}
	return c.inWorkspace(p.w, channelsLast(p.w.Shape), func(moved *storage.Array) error {
		if err := c.launchCopy(moved, p.w); err != nil {
			return err
		}
		near := *p
		near.w = moved
		return c.gpu.Tiles(t, &near)
	})
}

// manyWindows is the number of windows that is worth copying the weights: each tile of
// windows reads all of them.
const manyWindows = 1024

// A convAxis is an axis of a convolution, as its number in x, w and y; −1 in operands without it.
type convAxis struct{ x, w, y int }

var (
	imageAxis, outputAxis, channelAxis = convAxis{0, -1, 0}, convAxis{-1, 0, 1}, convAxis{1, 1, -1}
	xDown, xAcross                     = convAxis{2, -1, -1}, convAxis{3, -1, -1}
	tapsDown, tapsAcross               = convAxis{-1, 2, -1}, convAxis{-1, 3, -1}
	yDown, yAcross                     = convAxis{-1, -1, 2}, convAxis{-1, -1, 3}
)

// convSides are the axes that make up the rows, columns and sums of a tiled product.
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

// along returns the size of an axis.
func (p *convolution) along(a convAxis) int {
	switch {
	case a.x >= 0:
		return p.x.Shape[a.x]
	case a.w >= 0:
		return p.w.Shape[a.w]
	}
	return p.y.Shape[a.y]
}

func (p *convolution) SplitTile(side int) (first, rest launch.Tiled) {
	axes := convSides[p.computes][side]
	axis := axes[slices.IndexFunc(axes, func(a convAxis) bool { return p.along(a) > 1 })]
	n := p.along(axis)
	half := int(launch.Halve(int64(n)))
	return p.part(axis, 0, half), p.part(axis, half, n)
}

// part returns p from one position along an axis to another. The padding is adapted, and may
// become negative.
func (p *convolution) part(a convAxis, from, to int) *convolution {
	part := *p
	part.x, part.w = launch.Slice(p.x, a.x, from, to), launch.Slice(p.w, a.w, from, to)
	part.y, part.z = p.results(a.y, from, to)
	switch a {
	case outputAxis:
		part.b = launch.Slice(p.b, 0, from, to)
	case xDown, xAcross:
		part.padding[a.x-1][0] += from
	case tapsDown, tapsAcross:
		part.padding[a.w-1][0] -= from * p.dilation[a.w-1]
	case yDown, yAcross:
		part.padding[a.y-1][0] -= from * p.stride[a.y-1]
	}
	return &part
}

// Extent makes neighbouring threads read adjacent elements: along the window of channels-last
// images, along the pixels of others.
func (p *convolution) Extent() launch.Extent {
	e := launch.ExtentOf(p.Size())
	last := channelsNext(p.images())
	switch p.computes {
	case launch.OperandY:
		e.XOrder = launch.Transposed
		if last {
			e.XOrder, e.YOrder = p.channelOrder(p.x), p.channelOrder(p.w)
		}
	case launch.OperandX:
		e.XOrder, e.YOrder = launch.Transposed, launch.Transposed|p.channelOrder(p.w)
		if last {
			e.XOrder = p.channelOrder(p.y)
		}
	case launch.OperandW:
		if last {
			e.XOrder = launch.Transposed | p.channelOrder(p.x)
		}
		if channelsNext(p.y) {
			e.YOrder = launch.Transposed | p.channelOrder(p.y)
		}
		e.Split(1)
	}
	return e
}

// images returns the operand whose windows are multiplied.
func (p *convolution) images() *storage.Array {
	if p.computes == launch.OperandX {
		return p.y
	}
	return p.x
}

func (p *convolution) Tiles(e launch.Extent, part uint64) (string, []byte) {
	y := p.y
	if p.computes == launch.OperandY {
		y = p.result()
	}
	args := convArgs{x: p.c.gpu.First(p.x), w: p.c.gpu.First(p.w), y: p.c.gpu.First(y), part: part, e: e}
	args.taps = [2]uint32{uint32(p.w.Shape[3]), uint32(p.w.Shape[2])}
	if channelsNext(p.images()) {
		args.taps, args.last = [2]uint32{uint32(p.images().Shape[1]), uint32(p.w.Shape[3])}, 1
	}
	if p.computes == launch.OperandY {
		args.b, args.bStep, args.act = p.epilogue()
		if p.act.afterStore(p.y, p.z) {
			args.activated = p.c.gpu.First(p.y)
		}
	}
	for i := range 4 {
		args.xs[i], args.ws[i], args.ys[i], args.activatedStep[i] = int64(p.x.Stride[i]), int64(p.w.Stride[i]), int64(y.Stride[i]), int64(p.y.Stride[i])
	}
	for i := range 2 {
		args.xSize[i], args.ySize[i] = uint32(p.x.Shape[2+i]), uint32(p.y.Shape[2+i])
		args.stride[i], args.dilation[i], args.pad[i] = uint32(p.stride[1+i]), uint32(p.dilation[1+i]), uint32(p.padding[1+i][0])
	}
	return [...]string{launch.OperandY: "conv", launch.OperandX: "conv grad x", launch.OperandW: "conv grad w"}[p.computes], launch.Bytes(&args)
}

// epilogue returns the address and the stride of the bias, and the activation.
func (p *convolution) epilogue() (bias uint64, step, act int64) {
	if p.b != nil {
		bias, step = p.c.gpu.First(p.b), int64(p.b.Stride[0])
	}
	return bias, step, int64(p.act)
}

// Sums adds the splits of images as those of a matrix product, because their pixels are
// evenly spaced.
func (p *convolution) Sums(e launch.Extent, part uint64) (string, []byte) {
	if p.computes == launch.OperandW {
		return p.Tiles(e, part)
	}
	step, _ := pixelStep(p.result())
	args := productArgs{z: p.c.gpu.First(p.result()), part: part, e: e, zStep: [2]int64{step, int64(p.result().Stride[1])}}
	if p.computes == launch.OperandY {
		args.bias, args.biasStep, args.act = p.epilogue()
		if p.act.afterStore(p.y, p.z) {
			step, _ := pixelStep(p.y)
			args.activated, args.activatedStep = p.c.gpu.First(p.y), [2]int64{step, int64(p.y.Stride[1])}
		}
	}
	return "product", launch.Bytes(&args)
}

func (p *convolution) Even() bool {
	if p.computes == launch.OperandW {
		return true
	}
	_, even := pixelStep(p.result())
	if p.computes == launch.OperandY && even {
		_, even = pixelStep(p.y)
	}
	return even
}

// result returns the operand that is computed.
func (p *convolution) result() *storage.Array {
	return [...]*storage.Array{launch.OperandY: p.z, launch.OperandX: p.x, launch.OperandW: p.w}[p.computes]
}

// pixelStep returns the distance of neighbouring pixels of all images, if it is constant.
func pixelStep(a *storage.Array) (step int64, ok bool) {
	s, ok := threeStrides(a)
	n := a.Shape[2] * a.Shape[3]
	if n == 1 {
		s[2] = s[0]
	}
	return int64(s[2]), ok && (a.Shape[0] == 1 || a.Stride[0] == n*int(s[2]))
}

// channelOrder returns launch.Vec4 if the channels of an image are adjacent, in aligned fours.
func (p *convolution) channelOrder(a *storage.Array) uint32 {
	if a.Stride[1] == 1 && loadsVec4(a.Type, p.c.gpu.First(a), a.Shape[1], int64(a.Stride[0]), int64(a.Stride[2]), int64(a.Stride[3])) {
		return launch.Vec4
	}
	return 0
}

// channelsNext reports whether an image's channels have a smaller stride than its columns.
func channelsNext(a *storage.Array) bool { return magnitude(a.Stride[1]) < magnitude(a.Stride[3]) }

// convolve offers a convolution to the GPU's library. Weights, which are small, are
// copied to the layout of the images.
func (c *Call) convolve(g *conv, computes launch.Operand) (done bool, err error) {
	library, ok := launch.Library[launch.Convolver](c.gpu)
	padding, same := g.symmetric()
	if !ok || !same || g.empty() || int64(g.w.Len()) >= launch.Limit() { // only small weights are copied
		return false, nil
	}
	axes := max(g.x.Rank()-2, 2)
	x, w, y := withSpatial(g.x, axes), withSpatial(g.w, axes), withSpatial(g.y, axes)
	order, last := channelsLast, true
	if !hasStrides(&x, order(x.Shape)) || !hasStrides(&y, order(y.Shape)) {
		order, last = rowMajor, false
	}
	if !hasStrides(&x, order(x.Shape)) || !hasStrides(&y, order(y.Shape)) {
		return false, nil
	}
	q := launch.Convolution{Type: x.Type, Computes: computes, ChannelsLast: last, Groups: g.groups}
	copy(q.Stride[:], g.stride[3-axes:])
	copy(q.Dilation[:], g.dilation[3-axes:])
	copy(q.Padding[:], padding[3-axes:])
	q.X, q.W, q.Y = c.image(&x, order), c.image(&w, order), c.image(&y, order)
	if computes == launch.OperandY && g.b != nil && g.act == ReLUActivation && adjacent(g.b) {
		q.Bias, q.Relu = c.gpu.First(g.b), true
	}
	if hasStrides(&w, order(w.Shape)) {
		done, err = library.Convolve(q)
	} else {
		done, err = c.convolveCopied(library, q, &w)
	}
	if !done || err != nil || q.Relu || computes != launch.OperandY {
		return done, err
	}
	return true, c.finish(g)
}

// symmetric returns the padding before each axis, and whether the same padding behind it
// gives the same number of windows, as libraries require.
func (g *conv) symmetric() (padding [3]int, ok bool) {
	x, y := spatial(g.x), spatial(g.y)
	for axis := range 3 {
		padding[axis] = g.padding[axis][0]
		if (x.Shape[2+axis]+2*padding[axis]-g.extent(axis))/g.stride[axis]+1 != y.Shape[2+axis] {
			return padding, false
		}
	}
	return padding, true
}

func (c *Call) image(a *storage.Array, order func([]int) [5]int) launch.Image {
	i := launch.Image{Address: c.gpu.First(a), Rank: a.Rank(), Stride: order(a.Shape)}
	copy(i.Size[:], a.Shape)
	return i
}

// convolveCopied convolves with weights of another layout, which are copied.
func (c *Call) convolveCopied(library launch.Convolver, q launch.Convolution, w *storage.Array) (done bool, err error) {
	err = c.inWorkspace(w, q.W.Stride, func(moved *storage.Array) error {
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

// inWorkspace calls use with an uninitialized array of a's shape and the given strides.
func (c *Call) inWorkspace(a *storage.Array, stride [5]int, use func(moved *storage.Array) error) error {
	return c.gpu.Workspace(a.NBytes(), func(address uint64) error {
		return use(&storage.Array{Type: a.Type, View: views.View{Offset: int(address), Shape: a.Shape, Stride: stride[:a.Rank()]}})
	})
}

// finish adds the bias to y and applies the activation, after a library's convolution.
func (c *Call) finish(g *conv) error {
	if g.b == nil {
		return c.activate(g.y, g.y, g.act)
	}
	on := Call{Out: []storage.Array{*g.y}, In: []storage.Array{*g.y, *g.b}, Options: ActOptions{Act: g.act}}
	return c.launch(BiasAct, &on)
}
