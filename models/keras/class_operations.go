package keras

import (
	"math"
	"slices"
	"strings"
)

// Operations of Keras 3 in functional graphs, and of Keras 2 as connect has them: functions of package nn, or other layers.

// elementwise are the functions of package nn by the operations of one tensor, or of two, that compute each element by itself.
var elementwise = pairs(`Absolute=abs Square=square Sqrt=sqrt Log=log Log1p=log1p Log2=log2 Log10=log10 Expm1=expm1 Exp2=exp2 Sin=sin Cos=cos Tan=tan Sinh=sinh Cosh=cosh
	Arcsin=asin Arccos=acos Arctan=atan Floor=floor Ceil=ceil Sign=sign Reciprocal=reciprocal Rsqrt=rsqrt Erf=erf
	Divide=div TrueDivide=div Power=pow FloorDivide=floor_divide Mod=remainder Maximum=maximum Minimum=minimum`)

// reductions are the functions of package nn by the operations along axes.
var reductions = pairs("Mean=mean Sum=sum Max=amax Min=amin Prod=prod Logsumexp=logsumexp Var=var Std=std Norm=norm")

// pairs returns the map of a text "key=value key=value".
func pairs(text string) map[string]string {
	all := map[string]string{}
	for _, pair := range strings.Fields(text) {
		key, value, _ := strings.Cut(pair, "=")
		all[key] = value
	}
	return all
}

var (
	_ = register(class{several: true, shapes: mergeShapes, outputs: func(b *builder, l *settings, in []value) []value { return []value{b.joinedSteps(l, in)} }}, "ops.LogicalOr", "ops.LogicalAnd")
	_ = register(class{outputs: func(_ *builder, l *settings, in []value) []value {
		if l.Text("dtype", "") != "bool" {
			l.refuse("dtype %v; want the bools of a mask", l.Config["dtype"])
		}
		return []value{{node: constantMasks[l.Class], steps: true}}
	}}, "ops.ZerosLike", "ops.OnesLike")
	_ = registerEach(elementwise, class{shapes: mergeShapes, several: true, order: mergeOrder, nodes: elementwiseNodes})
	_ = registerEach(reductions, class{several: true, nodes: reductionNodes, order: operationOrder, shapes: func(l *settings, in [][]int) [][]int {
		_, shape := reductionAxes(l, in[0])
		return [][]int{shape}
	}})
	_ = register(class{several: true, order: mergeOrder, nodes: func(b *builder, l *settings, in []value) value {
		settings := map[string]any{}
		for name, from := range map[string]string{"min": "x_min", "max": "x_max"} {
			if _, ok := number(l.Config[from]); !ok {
				l.refuse("%s %.40v", from, l.Config[from])
			}
			settings[name] = l.Float(from, 0)
		}
		return b.function(l, "clamp", settings, in[0])
	}}, "ops.Clip")
	_ = register(class{kept: true, nodes: func(b *builder, l *settings, in []value) value {
		approximate := "none"
		if l.Bool("approximate", true) {
			approximate = "tanh"
		}
		return b.function(l, "gelu", map[string]any{"approximate": approximate}, in[0])
	}}, "ops.Gelu")
	_ = register(class{order: operationOrder, nodes: func(b *builder, l *settings, in []value) value {
		return b.alongAxis(l, "", "log_softmax", l.Int("axis", -1), b.last(in[0]))
	}}, "ops.LogSoftmax")
	_ = register(class{kept: true, nodes: passing}, "ops.Copy", "ops.Identity", "ops.ConvertToTensor")
	_ = register(class{kept: true, nodes: trainingOnly, training: true}, "ops.StopGradient")
	_ = register(class{kept: true, nodes: func(_ *builder, l *settings, in []value) value {
		if l.Text("dtype", "") != "float32" {
			l.refuse("dtype %v; h5dnn computes in float32", l.Config["dtype"])
		}
		return value{node: in[0].node, shape: in[0].shape, first: in[0].first, outer: in[0].outer, flat: in[0].flat}
	}}, "ops.Cast")
	_ = register(class{kept: true, nodes: unitNodes}, "UnitNormalization", "ops.Normalize")
)

// constantMasks are the nodes of two masks: no step counts, all steps count.
var constantMasks = map[string]string{"ops.ZerosLike": "no step", "ops.OnesLike": "all steps"}

// joinedSteps returns masks of steps joined by or, or by and for LogicalAnd: Keras 3 writes how it computes the mask of an Add or a Concatenate.
func (b *builder) joinedSteps(l *settings, in []value) value {
	neutral, fixed, layer := constantMasks["ops.ZerosLike"], constantMasks["ops.OnesLike"], "maximum"
	if l.Class == "ops.LogicalAnd" {
		neutral, fixed, layer = fixed, neutral, "mul"
	}
	v := value{node: neutral, steps: true}
	var masks []string
	for _, one := range in {
		if !one.steps {
			l.refuse("bools besides masks of a Masking or an Embedding")
		}
		if one.node != neutral && !slices.Contains(masks, one.node) {
			masks = append(masks, one.node)
		}
	}
	switch {
	case slices.Contains(masks, fixed):
		v.node = fixed
	case len(masks) == 1:
		v.node = masks[0]
	case len(masks) > 1:
		v.node = b.add(l, "", layer, masks...)
	}
	return v
}

// registerEach registers a class for the operations that a map has.
func registerEach(names map[string]string, c class) bool {
	for name := range names {
		register(c, "ops."+name)
	}
	return true
}

// operationOrder is the order of the output of an operation that takes the order of Keras.
func operationOrder(_ *tracer, l *settings, in []featureLayout) featureLayout {
	out := featureLayout{layout: in[0].layout}
	for _, one := range in {
		out.err = first(out.err, one.permuted(l))
	}
	out.spatial = in[0].spatial && len(l.OutputShapes) > 0 && len(l.OutputShapes[0]) > 1
	return out
}

// function adds a function of package nn of values, the output with the properties of the first.
func (b *builder) function(l *settings, name string, settings map[string]any, in ...value) value {
	return b.functionPart(l, "", name, settings, in...)
}

// functionPart is function for a part of an operation.
func (b *builder) functionPart(l *settings, part, name string, settings map[string]any, in ...value) value {
	config := map[string]any{"name": name}
	if len(settings) > 0 {
		config["settings"] = settings
	}
	v := in[0]
	v.steps, v.mask = false, ""
	v.node = b.add(l, part, map[string]any{"function": config}, nodesOf(in)...)
	return v
}

// operandsOf returns the operands of an operation, tensors and others; none if the file does not say them, or has others by name.
func operandsOf(l *settings) []any {
	list, ok := l.Config[operands].([]any)
	if !ok {
		l.refuse("arguments by name, or several calls of an operation")
	}
	return list
}

func elementwiseNodes(b *builder, l *settings, in []value) value {
	args, class := operandsOf(l), strings.TrimPrefix(l.Class, "ops.")
	name := elementwise[class]
	for _, v := range in {
		if v.steps {
			l.refuse("a mask as an operand")
		}
	}
	in = b.alike(in)
	one, first := len(in) == 1, false
	if len(args) == 2 && one {
		_, first = number(args[0])
	}
	switch {
	case l.failed() != nil || len(args) == 0 || len(args) > 2 || len(args) != len(in) && !first && !isNumber(args[len(args)-1]):
		l.refuse("operands that are no tensors or numbers")
		return in[0]
	case len(args) == len(in):
		return b.function(l, name, nil, in...)
	case first && name == "div": // c / x
		c, _ := number(args[0])
		v := b.functionPart(l, "reciprocal", "reciprocal", nil, in...)
		v.node = b.add(l, "", map[string]any{"rescale": map[string]any{"scale": c}}, v.node)
		return v
	case first && name == "pow": // c to the power of x
		c, _ := number(args[0])
		if c <= 0 {
			l.refuse("a power of %v", c)
		}
		in[0].node = b.add(l, "exponent", map[string]any{"rescale": map[string]any{"scale": math.Log(c)}}, in[0].node)
		return b.function(l, "exp", nil, in...)
	case first && name != "maximum" && name != "minimum":
		l.refuse("a number as the first operand")
		return in[0]
	}
	c, _ := number(args[len(args)-1])
	if first {
		c, _ = number(args[0])
	}
	setting := map[string]string{"div": "other", "pow": "exponent", "floor_divide": "other", "remainder": "other", "maximum": "min", "minimum": "max"}[name]
	if setting == "min" || setting == "max" {
		name = "clamp"
	}
	return b.function(l, name, map[string]any{setting: c}, in...)
}

func isNumber(v any) bool { _, ok := number(v); return ok }

// reductionAxes returns the axes along which an operation reduces, counted with the samples, and the shape of the result.
func reductionAxes(l *settings, in []int) (axes, shape []int) {
	list := l.Ints("axis")
	if len(list) == 0 {
		l.refuse("all axes, with the samples")
		return nil, in
	}
	shape = slices.Clone(in)
	for _, a := range list {
		a = axis(a, len(in)+1)
		if a < 1 || a > len(in) || slices.Contains(axes, a) {
			l.refuse("axis %v of samples of shape %v", list, in)
			return nil, in
		}
		axes, shape[a-1] = append(axes, a), 1
	}
	if l.Bool("keepdims", false) {
		return axes, shape
	}
	shape = []int{}
	for i, n := range in {
		if !slices.Contains(axes, i+1) {
			shape = append(shape, n)
		}
	}
	return axes, shape
}

func reductionNodes(b *builder, l *settings, in []value) value {
	v := b.last(in[0])
	axes, _ := reductionAxes(l, v.shape)
	name := reductions[strings.TrimPrefix(l.Class, "ops.")]
	settings := map[string]any{"dim": axes, "keepdim": l.Bool("keepdims", false)}
	switch {
	case len(operandsOf(l)) != 1 || len(in) != 1 || v.steps || l.Config["initial"] != nil || l.Config["dtype"] != nil:
		l.refuse("settings or operands besides a tensor, axis and keepdims")
	case name == "var" || name == "std":
		settings["correction"] = 0
	case name == "norm":
		order, one := 2.0, len(axes) == 1
		if l.Config["ord"] != nil && l.Config["ord"] != "euclidean" && !(l.Config["ord"] == "fro" && !one) {
			order = l.Float("ord", 2)
		}
		if order != 1 && order != 2 || !one && l.Config["ord"] != nil && l.Config["ord"] != "fro" && l.Config["ord"] != "euclidean" {
			l.refuse("a norm of order %v", l.Config["ord"])
		}
		settings["p"] = order
	}
	v.outer = false
	return b.function(l, name, settings, v)
}

// unitNodes divides by the norm, or by epsilon if that is larger.
func unitNodes(b *builder, l *settings, in []value) value {
	v := b.last(in[0])
	axes, _ := reductionAxes(l.of(&Layer{Class: l.Class, Config: map[string]any{"axis": l.Config["axis"], "keepdims": true}}), v.shape)
	order, least := l.Float("order", 2), l.Float("epsilon", 1e-7)
	if l.Class == "UnitNormalization" {
		if least = 1e-12; strings.HasPrefix(b.version, "2.") {
			least = 1e-6 // of the norm, whose square has 1e-12
		}
	}
	if order != 1 && order != 2 || order == 1 && len(axes) != 1 {
		l.refuse("a norm of order %v", order)
	}
	norm := b.functionPart(l, "norm", "norm", map[string]any{"p": order, "dim": axes, "keepdim": true}, v)
	norm = b.functionPart(l, "least", "clamp", map[string]any{"min": least}, norm)
	return b.function(l, "div", nil, v, norm)
}
