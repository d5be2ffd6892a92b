package kernels

import (
	"fmt"
	"math"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A PackedConv is Conv, or Linear, of x of one shape by weights that are packed once, on the CPU. Goroutines may share it.
type PackedConv struct {
	direct       native.Direct
	winograd     *native.Winograd // in the place of direct where that is faster
	weight, bias []float32
	weight8      []byte         // of 8 bits, in the place of weight
	pairs        *native.Direct // of weights of bfloat16, which weight are; nil for others
	quantized    Quantized
	act          Activation
}

// PackOptions are the options of PackConv.
type PackOptions struct {
	ConvOptions
	Low, High float64 // limits of the results; none if both are 0
	Sum       bool    // whether the results are added to y, before activation and limits
	Quantized Quantized
	Int8      bool // whether weights are rounded to 8 bits, with a scale for each channel of y, and x with one for each image; not of single channels
	BF16      bool // whether weights and x are rounded to bfloat16; not of single channels, and on processors with native.BF16 only
}

// A Quantized says that x stands for integers: it is rounded to (clamp(round(x/Scale) + Zero, 0, 255) − Zero)·Scale. A Scale of 0 says nothing.
type Quantized struct{ Scale, Zero float32 }

// Is8Bits reports whether weights (O, …), float32 in host memory, are integers from -127 to 127 times a scale for each O, such as a
// product with weights of 8 bits computes with, and whether it is the faster one for x and y.
func (o PackOptions) Is8Bits(y, x views.View, w storage.Array) bool {
	if !o.Faster8(y, x, w.View) {
		return false
	}
	weights, err := storage.Read[float32](w)
	if err != nil {
		return false
	}
	_, _, exact := native.Quantize8(weights, w.Shape[0])
	return exact
}

// Faster8 reports whether PackConv makes a faster kernel of weights of 8 bits than of float32. To round an element of x takes as long as the
// processor needs for some multiplications, which VNNI alone does in less time than multiplications of float32; elsewhere
// fewer bytes of weights are faster to read, for few pixels.
func (o PackOptions) Faster8(y, x, w views.View) bool {
	g, ok := o.geometry(y, x, w)
	if !ok || g.depthwise() {
		return false
	}
	const rounding, few = 40, 4
	pixels := y.Len() / w.Shape[0]
	return pixels <= few || native.Int8Products() == 4 && w.Len()*pixels > rounding*x.Len()
}

// FasterBF16 reports whether PackConv makes a faster kernel of weights of bfloat16 than of float32: to round an element of x
// takes as long as some multiplications, and for few pixels fewer bytes are faster to read.
func (o PackOptions) FasterBF16(y, x, w views.View) bool {
	g, ok := o.geometry(y, x, w)
	if !ok || g.depthwise() || !native.BF16() {
		return false
	}
	const rounding, few = 32, 4
	pixels := y.Len() / w.Shape[0]
	return pixels <= few || w.Len()*pixels > rounding*x.Len()
}

// pairsOf returns weights (outputs, channels, …) rounded to bfloat16: two channels in the place of a float, and a zero after an odd number.
func pairsOf(w []float32, outputs, channels int) []float32 {
	half, taps := (channels+1)/2, len(w)/(outputs*channels)
	pairs := make([]float32, outputs*half*taps)
	for i := range pairs {
		o, k, t := i/taps/half, i/taps%half, i%taps
		bits := uint32(dtype.BF16From(w[(o*channels+2*k)*taps+t]))
		if 2*k+1 < channels {
			bits |= uint32(dtype.BF16From(w[(o*channels+2*k+1)*taps+t])) << 16
		}
		pairs[i] = math.Float32frombits(bits)
	}
	return pairs
}

// geometry describes the convolution of x (N, C, …) by w (O, C/groups, …) to y, or the product of x (N, in) and w (out, in) as
// a convolution of images of one pixel. It returns false for those that PackConv leaves to Conv.
func (o PackOptions) geometry(y, x, w views.View) (g conv, ok bool) {
	if y.Len() == 0 || w.Len() == 0 || y.Offset != 0 || x.Offset < 0 || len(x.Shape) != len(w.Shape) || len(x.Shape) < 2 {
		return g, false
	}
	if len(w.Shape) == 2 {
		o.ConvOptions = ConvOptions{Act: o.Act}
		onePixel := func(v views.View) views.View {
			return views.View{Offset: v.Offset, Shape: append(firstOf(shapeOf(v.Shape), 2), 1), Stride: append(firstOf(shapeOf(v.Stride), 2), v.Shape[1])}
		}
		y, x, w = onePixel(y), onePixel(x), onePixel(w)
	}
	image := func(v views.View) *storage.Array { return &storage.Array{Type: dtype.Float32, View: v} }
	g = conv{op: native.ConvOp, x: image(x), w: image(w), y: image(y)}
	g.z = g.y
	if g.set(o.ConvOptions) != nil || g.groups > 1 && !g.depthwise() || !hasStrides(g.y, channelsLast(y.Shape)) {
		return g, false
	}
	if depth := spatial(g.w); g.depthwise() && depth.Shape[2]*depth.Shape[3] > native.DepthwiseRows {
		return g, false
	}
	for axis, stride := range x.Stride {
		if stride < 0 && x.Shape[axis] > 1 {
			return g, false
		}
	}
	return g, true
}

// depthwise reports whether each channel has one window of its own.
func (g *conv) depthwise() bool {
	return g.groups > 1 && g.groups == g.x.Shape[1] && g.w.Shape[0] == g.groups
}

// CanPack reports whether PackConv packs the weights of a convolution or product of float32.
func (o PackOptions) CanPack(y, x, w views.View) bool {
	_, ok := o.geometry(y, x, w)
	return ok
}

// PackConv packs the weights of a convolution of x by w and b, whose data may be nil, to y, or of a product of x (N, in) and w (out, in), all of
// float32 in host memory. [PackOptions.CanPack] says of which.
func PackConv(o PackOptions, y, x views.View, w, b storage.Array) (*PackedConv, error) {
	g, ok := o.geometry(y, x, w.View)
	if !ok || w.Type != dtype.Float32 {
		return nil, fmt.Errorf("pack %v for %v: its weights are not packed: %w", w, x.Shape, views.ErrShape)
	}
	p := &PackedConv{act: o.Act, quantized: o.Quantized}
	p.describe(&g, o)
	weights, err := storage.Read[float32](w)
	if err != nil {
		return nil, fmt.Errorf("pack weights: %w", err)
	}
	if b.Data != nil {
		if p.bias, err = storage.Read[float32](b); err != nil {
			return nil, fmt.Errorf("pack bias: %w", err)
		}
	}
	switch {
	case o.Int8 && p.direct.Depthwise == 0:
		p.weight8, err = p.direct.Pack8(weights)
	case o.BF16 && p.direct.Depthwise == 0:
		pairs := p.direct.Pairs()
		p.pairs = &pairs
		p.weight, err = pairs.Pack(pairsOf(weights, int(p.direct.O), int(p.direct.C)))
	case p.winograd != nil:
		p.weight, err = p.winograd.Pack(weights)
	default:
		p.weight, err = p.direct.Pack(weights)
	}
	return p, err
}

// describe sets the geometry and the algorithm.
func (p *PackedConv) describe(g *conv, o PackOptions) {
	depthwise := g.depthwise()
	x, y, w := spatial(g.x), spatial(g.y), spatial(g.w)
	d := &p.direct
	d.N, d.C, d.O = int64(x.Shape[0]), int64(x.Shape[1]), int64(w.Shape[0])
	for i := range 5 {
		d.X[i] = int64(x.Stride[i])
	}
	for i := range 3 {
		d.XSize[i], d.YSize[i], d.Window[i] = int64(x.Shape[2+i]), int64(y.Shape[2+i]), int64(w.Shape[2+i])
		d.Stride[i], d.Dilation[i], d.Pad[i] = int64(g.stride[i]), int64(g.dilation[i]), int64(g.padding[i][0])
	}
	d.Low, d.High = float32(math.Inf(-1)), float32(math.Inf(1))
	limited := o.Low != 0 || o.High != 0
	if limited {
		d.Low, d.High = float32(o.Low), float32(o.High)
	}
	if p.act == ReLUActivation && !limited {
		d.Low, p.act = 0, NoActivation
	}
	if depthwise {
		d.Depthwise = 1
	}
	if o.Sum {
		d.Sum = 1
	}
	if f, _ := g.winograd(); !depthwise && f.N > 0 && isChannelsLast(g.x) && isChannelsLast(g.y) && f.FasterPacked() && (!limited || d.Low == 0 && d.High == float32(math.Inf(1))) {
		f.Sum = d.Sum
		if d.Low == 0 {
			f.ReLU = 1
		}
		p.winograd = &f
	}
}

// Run sets y, the one output, or adds to it, from x, the one input, which have the layouts that the weights were packed for.
func (p *PackedConv) Run(out, in []storage.Array) (err error) {
	y, x := &out[0], &in[0]
	ys, xs := fromFirst[float32](y), fromFirst[float32](x)
	switch {
	case p.weight8 != nil:
		err = p.direct.Run8(ys, xs, p.weight8, p.bias, p.quantized.Scale, p.quantized.Zero)
	case p.pairs != nil:
		err = p.direct.RunPairs(p.pairs, ys, xs, p.weight, p.bias)
	case p.winograd != nil:
		err = p.winograd.RunPacked(ys, xs, p.weight, p.bias)
	default:
		err = p.direct.Run(ys, xs, p.weight, p.bias)
	}
	y.BumpVersion()
	if err != nil || p.act == NoActivation {
		return err
	}
	return p.act.apply(y, y)
}

// Bytes returns the size of the packed weights.
func (p *PackedConv) Bytes() int { return 4*(len(p.weight)+len(p.bias)) + len(p.weight8) }

// Narrow returns how many of how many convolutions or products have weights of fewer bits than float32.
func (p *PackedConv) Narrow() (count, of int) {
	if p.weight8 != nil || p.pairs != nil {
		count = 1
	}
	return count, 1
}

// Alone runs f on a thread whose kernels use no others, for jobs that are as many as the processors.
func Alone(f func()) { native.Alone(f) }
