package keras

import (
	"fmt"
	"slices"
	"strings"
)

// Operations of Keras 3 in functional graphs, and of Keras 2 as connect has them: functions of package nn, or other layers.

// elementwise are the functions of package nn by the operations of one tensor, or of two, that compute each element by itself.
var elementwise = pairs(`Absolute=abs Square=square Sqrt=sqrt Log=log Log1p=log1p Log2=log2 Log10=log10 Expm1=expm1 Exp2=exp2 Sin=sin Cos=cos Tan=tan Sinh=sinh Cosh=cosh
	Arcsin=asin Arccos=acos Arctan=atan Floor=floor Ceil=ceil Round=round Sign=sign Reciprocal=reciprocal Rsqrt=rsqrt Erf=erf
	Isnan=isnan Isinf=isinf Isfinite=isfinite Add=add Subtract=sub Multiply=mul Divide=div TrueDivide=div Power=pow FloorDivide=floor_divide Mod=remainder
	Maximum=maximum Minimum=minimum Arctan2=atan2 Equal=eq Greater=gt GreaterEqual=ge Less=lt LessEqual=le`)

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
	_ = register(class{outputs: func(_ *builder, l *settings, in []value) []value {
		if l.Text("dtype", "") != "bool" {
			l.refuse("dtype %v; want the bools of a mask", l.Config["dtype"])
		}
		return []value{{node: constantMasks[l.Class], steps: true}}
	}}, "ops.ZerosLike", "ops.OnesLike")
	_ = registerEach(elementwise, class{shapes: elementwiseShapes, several: true, order: mergeOrder, nodes: elementwiseNodes})
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
	_ = register(class{kept: true, nodes: passing, copies: true}, "ops.Copy", "ops.Identity", "ops.ConvertToTensor")
	_ = register(class{kept: true, nodes: trainingOnly, training: true}, "ops.StopGradient")
	_ = register(class{kept: true, nodes: castNodes, anyType: true}, "ops.Cast")
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

// operandsOf returns the operands of an operation, tensors, numbers and others; none if the file does not say them, or has others by name.
func operandsOf(l *settings) []any {
	list, ok := l.Config[operands].([]any)
	if !ok {
		l.refuse("arguments by name, or several calls of an operation")
	}
	list = slices.Clone(list)
	for i, v := range list {
		if numbers, shape, ok := arrayOf(v); ok && len(shape) == 0 {
			list[i] = numbers[0]
		}
	}
	return list
}

// arrayOf returns the elements and the shape of an array among the operands.
func arrayOf(v any) (numbers []float64, shape []int, ok bool) {
	o, _ := v.(map[string]any)
	if class := o["class_name"]; class != "__numpy__" && class != "__tensor__" {
		return nil, nil, false
	}
	regular := true
	var visit func(v any, depth int)
	visit = func(v any, depth int) {
		switch v := v.(type) {
		case []any:
			if len(shape) == depth && len(numbers) == 0 {
				shape = append(shape, len(v))
			}
			regular = regular && depth < len(shape) && shape[depth] == len(v)
			for _, one := range v {
				visit(one, depth+1)
			}
		case bool:
			numbers, regular = append(numbers, map[bool]float64{true: 1}[v]), regular && depth == len(shape)
		default:
			x, ok := number(v)
			numbers, regular = append(numbers, x), regular && ok && depth == len(shape)
		}
	}
	visit(field(o, "value"), 0)
	return numbers, shape, regular && len(numbers) > 0
}

// operandShapes returns the shapes of the operands of an elementwise operation, of tensors as they are given, without the samples.
func operandShapes(l *settings, in [][]int) (shapes [][]int) {
	rest := in
	for _, arg := range operandsOf(l) {
		numbers, shape, array := arrayOf(arg)
		switch {
		case isNumber(arg):
			shapes = append(shapes, slices.Repeat([]int{1}, len(in[0])))
		case array:
			if len(shape) == len(in[0])+1 && shape[0] == 1 {
				shape = shape[1:]
			}
			if len(shape) > len(in[0]) || len(numbers) == 0 {
				l.refuse("an array of shape %v beside samples of shape %v", shape, in[0])
				return in
			}
			shapes = append(shapes, slices.Concat(slices.Repeat([]int{1}, len(in[0])-len(shape)), shape))
		case len(rest) == 0:
			l.refuse("an operand that is no tensor, number or array")
			return in
		default:
			shapes, rest = append(shapes, rest[0]), rest[1:]
		}
	}
	if len(rest) > 0 || len(shapes) == 0 {
		l.refuse("operands in lists")
		return in
	}
	return shapes
}

func elementwiseShapes(l *settings, in [][]int) [][]int { return mergeShapes(l, operandShapes(l, in)) }

// operandValues returns the operands of an elementwise operation in one order of axes, with layers for arrays and for numbers.
func (b *builder) operandValues(l *settings, in []value) []value {
	shapes, rest := operandShapes(l, shapesOfValues(in)), in
	if l.failed() != nil {
		return in
	}
	var all []value
	for i, arg := range operandsOf(l) {
		numbers, _, array := arrayOf(arg)
		if c, ok := number(arg); ok {
			numbers, array = []float64{c}, true
		}
		if !array {
			all, rest = append(all, rest[0]), rest[1:]
			continue
		}
		all = append(all, b.constant(l, fmt.Sprintf("operand%d", i+1), numbers, shapes[i], in[0]))
	}
	return b.alike(all)
}

// constant adds a constant of a shape for the samples of v.
func (b *builder) constant(l *settings, part string, numbers []float64, shape []int, v value) value {
	if len(shape) > 0 && len(numbers) == 1 {
		shape = slices.Repeat([]int{1}, len(shape))
	}
	settings := map[string]any{"values": numbers, "shape": shape, "dtype": "float32"}
	return value{node: b.add(l, part, map[string]any{"constant": settings}, v.node), shape: shape}
}

// exchanged has, for each comparison of x and y, the equal comparison of y and x.
var exchanged = pairs("eq=eq ne=ne gt=lt ge=le lt=gt le=ge")

func elementwiseNodes(b *builder, l *settings, in []value) value {
	args, name := operandsOf(l), elementwise[strings.TrimPrefix(l.Class, "ops.")]
	if l.Config["decimals"] != nil && l.Int("decimals", 0) != 0 {
		l.refuse("%v decimals", l.Config["decimals"])
	}
	if len(args) > 2 || l.failed() != nil {
		l.refuse("%d operands", len(args))
		return in[0]
	}
	result := ""
	if exchanged[name] != "" || strings.HasPrefix(name, "is") {
		result = "bool"
	}
	c, last := number(args[len(args)-1])
	setting, call := "other", name
	switch name {
	case "maximum", "minimum":
		setting, call = map[string]string{"maximum": "min", "minimum": "max"}[name], "clamp"
	case "pow":
		setting = "exponent"
	case "atan2":
		last = false
	}
	if first, ok := number(args[0]); ok && !last && (call == "clamp" || exchanged[name] != "") { // in the other order
		c, last = first, true
		if result != "" {
			call = exchanged[name]
		}
	}
	var v value
	if len(args) == 2 && last && len(in) == 1 {
		v = b.function(l, call, map[string]any{setting: c}, b.alike(in)...)
	} else {
		v = b.function(l, name, nil, b.operandValues(l, in)...)
	}
	v.dtype = result
	return v
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
	case len(operandsOf(l)) != 1 || len(in) != 1 || l.Config["initial"] != nil || l.Config["dtype"] != nil:
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
