package onnxgraph

import (
	"math"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/tensor"
)

// functions are the operations of the layer function, by the operators that compute the same: of each element by itself.
var functions = pairs(`Abs=abs Sqrt=sqrt Reciprocal=reciprocal Neg=neg Log=log Sin=sin Cos=cos Erf=erf Floor=floor Ceil=ceil Round=round Sign=sign Div=div Pow=pow
	Equal=eq Less=lt LessOrEqual=le Greater=gt GreaterOrEqual=ge Add=add Sub=sub Mul=mul Max=maximum Min=minimum Where=where IsNaN=isnan Not=logical_not And=logical_and Or=logical_or`)

// reduced are the operations of the layer function, by the operators that reduce axes.
var reduced = pairs("ReduceMean=mean ReduceSum=sum ReduceMax=amax ReduceMin=amin ReduceProd=prod ReduceLogSumExp=logsumexp ReduceL1=norm ReduceL2=norm")

// pairs returns the map of a text "key=value key=value".
func pairs(text string) map[string]string {
	all := map[string]string{}
	for _, pair := range strings.Fields(text) {
		key, value, _ := strings.Cut(pair, "=")
		all[key] = value
	}
	return all
}

func init() {
	for op := range functions {
		if merges[op] == "" {
			toLayer(op, (*lowering).function)
		}
	}
	for op := range reduced {
		toLayer(op, (*lowering).reduction)
	}
}

// function computes elements from elements at their place, of values with one number of axes and of constants that are broadcast to them.
func (l *lowering) function(n *node) *layer {
	shape, like := l.shapes[n.out[0]], -1
	for _, in := range n.in {
		if l.m.known[in] != nil {
			continue
		}
		if like = in; l.sample(in) == nil || len(l.shapes[in]) != len(shape) || (n.op == "Div" || n.op == "Pow") && !l.types[in].IsFloat() {
			return nil // a division of integers is cut
		}
	}
	made := &layer{name: "function", settings: map[string]any{"name": functions[n.op]}}
	for _, in := range n.in {
		from := in
		if l.m.known[in] != nil {
			from = l.constantBeside(l.m.known[in], like, len(shape))
		}
		if from < 0 {
			return nil
		}
		made.from = append(made.from, from)
	}
	return made
}

// maxConstant bounds the constants that are settings of a layer.
const maxConstant = 1 << 14

// constantBeside adds a layer of the elements of x for each sample of a value, with that number of axes, and returns its number; −1 for elements that
// belong to samples, or that no setting holds. The least float32 stands for −∞, which masks the scores of attention.
func (l *lowering) constantBeside(x *tensor.Tensor, value, rank int) int {
	x = l.ofAnySample(x, rank)
	if x.Len() > maxConstant {
		return l.triangle(x, value, rank)
	}
	shape := slices.Concat(repeat(1, max(0, rank-x.Rank())), x.Shape())
	numbers := elements(x)
	for i, number := range numbers {
		if math.IsInf(number, -1) {
			numbers[i] = -math.MaxFloat32
		}
	}
	if len(shape) != rank || rank < 1 || shape[0] != 1 || len(numbers) == 0 || slices.ContainsFunc(numbers, func(x float64) bool { return math.IsInf(x, 0) || math.IsNaN(x) }) {
		return -1
	}
	settings := map[string]any{"values": numbers, "shape": append([]int{}, shape[1:]...), "dtype": x.DType().String()}
	return l.then("constant", "constant", settings, shape, x.DType(), value)
}

// triangle adds layers of x if its elements are one number below the diagonal of the last two axes, and another above it, as constantBeside does; −1
// for others.
func (l *lowering) triangle(x *tensor.Tensor, value, rank int) int {
	if x.Rank() < 2 || rank < 3 || x.Len() != x.Size(-1)*x.Size(-2) {
		return -1
	}
	t, s := x.Size(-2), x.Size(-1)
	numbers := elements(x)
	below, above := numbers[0], numbers[s-1]
	for i, number := range numbers {
		if isBelow := i%s <= i/s; isBelow && number != below || !isBelow && number != above {
			return -1
		}
	}
	index := func(n int, shape ...int) int {
		return l.constantBeside(tensor.Arange(dtype.Float32, 0, float64(n), 1).Reshape(append(repeat(1, rank-2), shape...)...), value, rank)
	}
	number := func(x float64) int {
		return l.constantBeside(tensor.FromSlice([]float32{float32(x)}).Reshape(repeat(1, rank)...), value, rank)
	}
	compare, shape := "ge", append(repeat(1, rank-2), t, s)
	if x.DType() == dtype.Bool && below == 0 {
		compare = "lt"
	}
	is := l.then("triangle", "function", map[string]any{"name": compare}, shape, dtype.Bool, index(t, t, 1), index(s, 1, s))
	if x.DType() == dtype.Bool {
		return is
	}
	return l.then("triangle", "function", map[string]any{"name": "where"}, shape, x.DType(), is, number(below), number(above))
}

// ofAnySample returns the part of x for one sample where all samples have the same: x was expanded to their number.
func (l *lowering) ofAnySample(x *tensor.Tensor, rank int) *tensor.Tensor {
	if x.Rank() != rank || rank == 0 || x.Size(0) != l.batch || l.batch == 1 {
		return x
	}
	one := x.Narrow(0, 0, 1)
	for i := 1; i < l.batch; i++ {
		if !slices.Equal(elements(one), elements(x.Narrow(0, i, 1))) {
			return x
		}
	}
	return one
}

// axesOf returns the axes that a node reduces, from 0 on; nil for all.
func (l *lowering) axesOf(n *node) []int {
	axes := slices.Clone(n.integers("axes"))
	if list, ok := l.numbers(n, 1); ok {
		for _, axis := range list {
			axes = append(axes, int(axis))
		}
	}
	rank := len(l.shapes[n.in[0]])
	for i, axis := range axes {
		axes[i] = (axis + rank) % rank
	}
	return sorted(axes)
}

// reduction reduces axes behind the samples.
func (l *lowering) reduction(n *node) *layer {
	axes, keep := l.axesOf(n), n.integer("keepdims", 1) == 1
	rank := len(l.shapes[n.in[0]])
	switch {
	case len(axes) == 0 || axes[0] == 0 || l.sample(n.in[0]) == nil || !l.types[n.in[0]].IsFloat():
		return nil
	case n.op == "ReduceMean" && keep && rank > 2 && slices.Equal(axes, rest(2, rank)):
		return l.global(n, "globalavgpool")
	case n.op == "ReduceMax" && keep && rank > 2 && slices.Equal(axes, rest(2, rank)):
		return l.global(n, "globalmaxpool")
	}
	settings := map[string]any{"dim": axes, "keepdim": keep}
	switch n.op {
	case "ReduceL1":
		if settings["p"] = 1; len(axes) != 1 {
			return nil
		}
	case "ReduceL2":
		settings["p"] = 2
	}
	return on(n, "function", map[string]any{"name": reduced[n.op], "settings": settings})
}

// channelScale multiplies the channels by numbers: a depthwise convolution with windows of one element.
func (l *lowering) channelScale(n *node) *layer {
	for i, in := range n.in {
		c, x := l.m.known[in], n.in[len(n.in)-1-i]
		rank := len(l.shapes[x])
		if c == nil || len(n.in) != 2 || rank < 3 || rank > 5 || c.Rank() < rank-1 || c.Rank() > rank || c.Len() < 2 || l.sample(x) == nil {
			continue
		}
		if channels := l.shapes[x][1]; c.Len() == channels && c.Shape()[c.Rank()-rank+1] == channels {
			made := on(n, "conv"+string(rune('0'+rank-2))+"d", map[string]any{"in_channels": channels, "out_channels": channels, "groups": channels, "kernel_size": repeat(1, rank-2), "bias": false})
			made.from, made.weights = []int{x}, map[string]*tensor.Tensor{"weight": c.Reshape(append([]int{channels, 1}, repeat(1, rank-2)...)...)}
			return made
		}
	}
	return nil
}

// positions adds a vector to each step: one that is learnt, or of sines and cosines.
func (l *lowering) positions(n *node) *layer {
	for i, in := range n.in {
		c, x := l.m.known[in], n.in[len(n.in)-1-i]
		shape := l.sample(x)
		if c == nil || len(n.in) != 2 || len(shape) != 2 {
			continue
		}
		if c = l.ofAnySample(c, 3); c.Len() != shape[0]*shape[1] || c.Size(-1) != shape[1] || c.Rank() < 2 {
			continue
		}
		made := on(n, "positions", map[string]any{"max_len": shape[0], "embedding_dim": shape[1]})
		made.from = []int{x}
		numbers := elements(c)
		switch {
		case sinusoids(numbers, shape[1]):
			made.settings["kind"] = "sinusoidal"
		case !l.m.learnt[in] || slices.ContainsFunc(numbers, func(x float64) bool { return math.Abs(x) > 1e4 }): // a mask
			return nil
		default:
			made.weights = map[string]*tensor.Tensor{"weight": c.Reshape(shape...)}
		}
		return made
	}
	return nil
}

// sinusoids reports whether the rows are the sinusoidal positions of package nn.
func sinusoids(rows []float64, width int) bool {
	for i, x := range rows {
		t, f := float64(i/width), i%width
		angle := t * math.Pow(10000, -float64(f/2*2)/float64(width))
		want := math.Sin(angle)
		if f%2 == 1 {
			want = math.Cos(angle)
		}
		if !(math.Abs(x-want) < 1e-5) {
			return false
		}
	}
	return true
}
