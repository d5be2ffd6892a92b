package keras

import (
	"fmt"
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
	_ = register(class{order: operationOrder, outputs: getItemOutputs, shapes: func(l *settings, in [][]int) [][]int {
		_, shape := cutsOf(l, in[0])
		return [][]int{shape}
	}}, "ops.GetItem")
	_ = register(asLayer(reshapeAs), "ops.Reshape", "ops.ExpandDims", "ops.Squeeze")
	_ = register(asLayer(permuteAs), "ops.Transpose", "ops.Swapaxes", "ops.Moveaxis")
	_ = register(class{several: true, order: operationOrder, nodes: alongNodes, shapes: alongShapes}, "ops.Stack", "ops.Flip", "ops.Repeat", "ops.Tile")
	_ = register(class{order: operationOrder, outputs: splitOutputs, shapes: splitShapes}, "ops.Split")
	_ = register(class{several: true, order: operationOrder, shapes: productShapes, nodes: productNodes}, "ops.Matmul", "ops.Einsum", "Dot")
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

// asLayer is the class of operations that are other layers, which f returns for inputs of those shapes: "" for none, and Select for the element
// of an axis of one.
func asLayer(f func(l *settings, in []int) (class string, config map[string]any)) class {
	other := func(l *settings, in []int) *settings {
		name, config := f(l, in)
		return l.of(&Layer{Class: name, Name: l.Name, Config: config, InputShapes: [][]int{in}, OutputShapes: l.OutputShapes})
	}
	return class{
		shapes: func(l *settings, in [][]int) [][]int {
			o := other(l, in[0])
			if l.failed() != nil {
				return nil
			}
			switch o.Class {
			case "": // as it is
				return in
			case "Select":
				return [][]int{{}}
			}
			return classes[o.Class].shapes(o, in)
		},
		nodes: func(b *builder, l *settings, in []value) value {
			if in[0].steps && l.Class == "ops.ExpandDims" {
				return in[0]
			}
			o := other(l, in[0].shape)
			if len(operandsOf(l)) != 1 || in[0].steps || l.failed() != nil {
				l.refuse("operands besides a tensor")
				return in[0]
			}
			v := in[0]
			v.mask = ""
			switch {
			case o.Class == "":
				return v
			case o.Class == "Select":
				v = b.last(v)
				v.node = b.add(l, "", map[string]any{"select": map[string]any{"index": 0, "axis": 1}}, v.node)
				return v
			}
			return classes[o.Class].nodes(b, o, []value{v})
		},
		order: func(t *tracer, l *settings, in []featureLayout) featureLayout {
			if len(l.InputShapes) == 0 {
				return operationOrder(t, l, in)
			}
			o := other(l, l.InputShapes[0])
			if l.failed() != nil || classes[o.Class].order == nil {
				return operationOrder(t, l, in)
			}
			return classes[o.Class].order(t, o, in)
		},
	}
}

// reshapeAs returns the Reshape that an operation is.
func reshapeAs(l *settings, in []int) (class string, config map[string]any) {
	shape := slices.Clone(in)
	switch l.Class {
	case "ops.Reshape":
		list, _ := l.Config["newshape"].([]any)
		if len(list) < 2 || list[0] != nil && fmt.Sprint(list[0]) != "-1" {
			l.refuse("a shape %.60v; want the samples as the first axis, -1", l.Config["newshape"])
			return "", nil
		}
		rest, ok := integers(list[1:])
		if open := slices.Contains(rest, -1); !ok || list[0] != nil && open || !open && product(rest) != product(in) || product(in) < 1 {
			l.refuse("a shape %v of samples of shape %v", list, in)
		}
		shape = rest
	case "ops.ExpandDims":
		at := axis(l.Int("axis", 0), len(in)+2)
		if at < 1 || at > len(in)+1 {
			l.refuse("axis %v of samples of shape %v", l.Config["axis"], in)
			return "", nil
		}
		shape = slices.Insert(shape, at-1, 1)
	case "ops.Squeeze":
		axes := l.Ints("axis")
		shape = []int{}
		for i, n := range in {
			named := slices.Contains(axes, i+1) || slices.Contains(axes, i-len(in))
			if named && n != 1 || l.Config["axis"] == nil && n < 0 {
				l.refuse("axis %v of samples of shape %v", axes, in)
			}
			if !named && (l.Config["axis"] != nil || n != 1) {
				shape = append(shape, n)
			}
		}
		if slices.Contains(axes, 0) {
			l.refuse("axis 0, the samples")
		}
	}
	switch unknown := slices.Index(shape, -1); {
	case slices.Equal(shape, in):
		return "", nil
	case len(shape) == 0 && len(in) == 1:
		return "Select", nil
	case len(shape) == 0 || unknown >= 0 && slices.Contains(shape[unknown+1:], -1):
		l.refuse("samples of shape %v as %v", in, shape)
	}
	return "Reshape", map[string]any{"target_shape": shape}
}

// permuteAs returns the Permute that an operation is.
func permuteAs(l *settings, in []int) (class string, config map[string]any) {
	axes := make([]int, len(in)+1)
	for i := range axes {
		axes[i] = i
	}
	switch l.Class {
	case "ops.Transpose":
		axes = slices.Clone(l.Ints("axes"))
		for i := range axes {
			axes[i] = axis(axes[i], len(in)+1)
		}
	case "ops.Swapaxes":
		a, b := axis(l.Int("axis1", 0), len(axes)), axis(l.Int("axis2", 0), len(axes))
		if min(a, b) < 0 || max(a, b) >= len(axes) {
			l.refuse("axes %d and %d of samples of shape %v", a, b, in)
			return "", nil
		}
		axes[a], axes[b] = axes[b], axes[a]
	case "ops.Moveaxis":
		from, to := l.Ints("source"), l.Ints("destination")
		if len(from) != 1 || len(to) != 1 || axis(from[0], len(axes)) < 0 || axis(to[0], len(axes)) < 0 || max(from[0], to[0]) >= len(axes) {
			l.refuse("axes %v to %v of samples of shape %v", from, to, in)
			return "", nil
		}
		a := axis(from[0], len(axes))
		axes = slices.Insert(slices.Delete(axes, a, a+1), axis(to[0], len(axes)), a)
	}
	if len(axes) != len(in)+1 || len(axes) < 2 || axes[0] != 0 {
		l.refuse("axes %v of samples of shape %v; want the samples as the first", l.Config["axes"], in)
		return "", nil
	}
	if slices.IsSorted(axes) {
		return "", nil
	}
	return "Permute", map[string]any{"dims": axes[1:]}
}

// cutsOf returns the layers for an index expression, x[:, 1:, -1], and the shape of the result.
func cutsOf(l *settings, in []int) (cuts []any, shape []int) {
	args := operandsOf(l)
	if len(args) != 2 {
		l.refuse("%d operands", len(args))
		return nil, in
	}
	key, ok := args[1].([]any)
	if !ok {
		key = []any{args[1]}
	}
	var selects []any
	added, at, ellipses := false, 0, 0
	for i, one := range key {
		o, _ := one.(map[string]any)
		rest := 0
		for _, other := range key[i+1:] {
			if other != nil {
				rest++
			}
		}
		switch class := textIn(o, "class_name"); {
		case class == "__ellipsis__":
			if ellipses++; ellipses > 1 {
				l.refuse("two ellipses")
				return nil, in
			}
			for ; at < len(in)+1-rest; at++ {
				if at > 0 {
					shape = append(shape, in[at-1])
				}
			}
		case one == nil && at > 0:
			shape, added = append(shape, 1), true
		case at > len(in) || one == nil:
			l.refuse("%d indices of samples of shape %v", len(key), in)
			return nil, in
		case class == "__slice__":
			layer, n := sliceOf(l, configIn(o), at, in)
			if layer != nil {
				cuts = append(cuts, layer)
			}
			if at++; at > 1 {
				shape = append(shape, n)
			}
		default:
			index, ok := integer(one)
			if n := 1; at > 0 {
				n = in[at-1]
				if ok = ok && (n < 0 || index < n && index >= -n); ok {
					selects = append([]any{map[string]any{"select": map[string]any{"index": index, "axis": at}}}, selects...)
				}
			}
			if !ok || at == 0 {
				l.refuse("the index %.40v of axis %d", one, at)
				return nil, in
			}
			at++
		}
	}
	for ; at <= len(in); at++ {
		if at > 0 {
			shape = append(shape, in[at-1])
		}
	}
	if cuts = append(cuts, selects...); added {
		if unknown := slices.Index(shape, -1); unknown >= 0 && slices.Contains(shape[unknown+1:], -1) {
			l.refuse("a new axis of samples of shape %v", in)
		}
		cuts = append(cuts, map[string]any{"reshape": map[string]any{"shape": shape}})
	}
	return cuts, slices.Concat([]int{}, shape)
}

// sliceOf returns the layer for a slice of an axis, counted with the samples, and the size of the result.
func sliceOf(l *settings, config map[string]any, at int, in []int) (layer any, n int) {
	s := l.of(&Layer{Class: l.Class, Name: l.Name, Config: config})
	start, stop, step := s.Int("start", 0), s.Int("stop", 0), s.Int("step", 1)
	whole := config["start"] == nil && config["stop"] == nil
	switch {
	case at == 0 && whole && step == 1:
		return nil, 0
	case at == 0:
		l.refuse("a slice of the samples")
		return nil, 0
	}
	n = in[at-1]
	switch {
	case whole && step == 1:
		return nil, n
	case whole && step == -1:
		return map[string]any{"function": map[string]any{"name": "flip", "settings": map[string]any{"dims": []int{at}}}}, n
	case step < 1:
		l.refuse("a slice with step %d", step)
		return nil, n
	}
	settings := map[string]any{"start": start, "axis": at}
	if config["stop"] != nil {
		settings["stop"] = stop
	}
	if step != 1 {
		settings["step"] = step
	}
	if n >= 0 {
		within := func(i int) int { return min(max(axis(i, n), 0), n) }
		first, last := within(start), n
		if config["stop"] != nil {
			last = within(stop)
		}
		if n = (last - first + step - 1) / step; last <= first {
			l.refuse("a slice without elements")
		}
	}
	return map[string]any{"slice": settings}, n
}

func getItemOutputs(b *builder, l *settings, in []value) []value {
	v := b.last(in[0])
	if len(in) != 1 || v.steps {
		l.refuse("indices that are tensors, or of a mask")
		return in
	}
	cuts, _ := cutsOf(l, v.shape)
	return []value{b.cut(l, "", v, cuts)}
}

// cut adds layers one after another.
func (b *builder) cut(l *settings, part string, v value, layers []any) value {
	v = value{node: v.node}
	for i, layer := range layers {
		name := part
		if i < len(layers)-1 {
			name = fmt.Sprintf("%s%d", part, i+1)
		}
		v.node = b.add(l, name, layer, v.node)
	}
	return v
}

// sectionsOf returns the axis of a Split, and the indices at which the parts begin and end.
func sectionsOf(l *settings, in []int) (at int, ends []int) {
	at = axis(l.Int("axis", 0), len(in)+1)
	if at < 1 || at > len(in) || in[at-1] < 1 {
		l.refuse("axis %v of samples of shape %v", l.Config["axis"], in)
		return 1, nil
	}
	n, parts := in[at-1], l.Ints("indices_or_sections")
	if _, list := l.Config["indices_or_sections"].([]any); !list && len(parts) == 1 && parts[0] > 0 && n%parts[0] == 0 {
		for i := range parts[0] + 1 {
			ends = append(ends, i*n/parts[0])
		}
		return at, ends
	}
	ends = append(append([]int{0}, parts...), n)
	for i := range ends[1:] {
		if ends[i] < 0 || ends[i] >= ends[i+1] {
			l.refuse("parts at %v of %d", parts, n)
		}
	}
	return at, ends
}

func splitShapes(l *settings, in [][]int) (shapes [][]int) {
	at, ends := sectionsOf(l, in[0])
	for i := 1; i < len(ends); i++ {
		shape := slices.Clone(in[0])
		shape[at-1] = ends[i] - ends[i-1]
		shapes = append(shapes, shape)
	}
	return shapes
}

func splitOutputs(b *builder, l *settings, in []value) (outputs []value) {
	v := b.last(in[0])
	at, ends := sectionsOf(l, v.shape)
	if len(operandsOf(l)) != 1 || len(in) != 1 || v.steps {
		l.refuse("operands besides a tensor")
	}
	for i := 1; i < len(ends); i++ {
		slice := map[string]any{"slice": map[string]any{"start": ends[i-1], "stop": ends[i], "axis": at}}
		outputs = append(outputs, b.cut(l, fmt.Sprintf("part%d", i), v, []any{slice}))
	}
	return outputs
}

// alongShapes returns the shape of tensors that are stacked, flipped or repeated.
func alongShapes(l *settings, in [][]int) [][]int {
	shape, rank := slices.Clone(in[0]), len(in[0])+1
	if l.Class == "ops.Stack" {
		at := axis(l.Int("axis", 0), rank+1)
		if at < 1 || at > rank || slices.ContainsFunc(in, func(s []int) bool { return !slices.Equal(s, shape) }) {
			l.refuse("axis %v of samples of shapes %v", l.Config["axis"], in)
			return nil
		}
		return [][]int{slices.Insert(shape, at-1, len(in))}
	}
	for i, n := range timesOf(l, rank) {
		if i > 0 && shape[i-1] > 0 {
			shape[i-1] *= n
		}
	}
	return [][]int{shape}
}

// timesOf returns how often an operation repeats each axis, with the samples.
func timesOf(l *settings, rank int) []int {
	times, list := slices.Repeat([]int{1}, rank), l.Ints("repeats")
	if l.Class == "ops.Flip" {
		return times
	}
	switch at := axis(l.Int("axis", 0), rank); {
	case l.Class == "ops.Tile" && len(list) <= rank:
		copy(times[rank-len(list):], list)
	case l.Class == "ops.Repeat" && len(list) == 1 && at > 0 && at < rank:
		times[at] = list[0]
	default:
		l.refuse("%v times along axis %v", list, l.Config["axis"])
	}
	if times[0] != 1 || slices.Min(times) < 1 {
		l.refuse("%v times", list)
	}
	return times
}

func alongNodes(b *builder, l *settings, in []value) value {
	args, all := operandsOf(l), slices.Clone(in)
	for i, v := range in {
		if all[i] = b.last(v); v.steps || len(args) != 1 {
			l.refuse("a mask, or operands besides tensors")
		}
		all[i].outer = false
	}
	v, rank := all[0], len(in[0].shape)+1
	switch l.Class {
	case "ops.Stack":
		return b.function(l, "stack", map[string]any{"dim": axis(l.Int("axis", 0), rank+1)}, all...)
	case "ops.Flip":
		axes := slices.Clone(l.Ints("axis"))
		for i := range axes {
			if axes[i] = axis(axes[i], rank); axes[i] < 1 || axes[i] >= rank {
				l.refuse("axis %v of samples of shape %v", l.Config["axis"], v.shape)
			}
		}
		if len(axes) == 0 {
			l.refuse("all axes, with the samples")
		}
		return b.function(l, "flip", map[string]any{"dims": axes}, v)
	}
	times := timesOf(l, rank)
	for at, n := range times {
		part := fmt.Sprintf("axis%d", at)
		switch {
		case n <= 1:
		case l.Class == "ops.Repeat":
			v = b.functionPart(l, part, "repeat_interleave", map[string]any{"repeats": []int{n}, "dim": at}, v)
		default:
			v.node = b.add(l, part, map[string]any{"concat": map[string]any{"axis": at}}, slices.Repeat([]string{v.node}, n)...)
		}
	}
	return v
}

// equationOf returns the products of two inputs in einsum's notation, with a letter for each axis, b for the samples.
func equationOf(l *settings, in [][]int) (terms []string, result string) {
	const letters = "cdefghijklmnopqrstuvwxyz"
	if len(in) != 2 || len(in[0])+len(in[1]) > len(letters) {
		l.refuse("%d inputs of shapes %v", len(in), in)
		return nil, ""
	}
	x, y := letters[:len(in[0])], letters[len(in[0]):][:len(in[1])]
	switch l.Class {
	case "Dot":
		axes := l.Ints("axes")
		if len(axes) == 0 || len(axes) > 2 {
			l.refuse("axes %v", axes)
			return nil, ""
		}
		i, j := axis(axes[0], len(x)+1)-1, axis(axes[len(axes)-1], len(y)+1)-1
		if i < 0 || j < 0 || i >= len(x) || j >= len(y) {
			l.refuse("axes %v of %v", axes, in)
			return nil, ""
		}
		result = x[:i] + x[i+1:] + y[:j] + y[j+1:]
		y = y[:j] + x[i:i+1] + y[j+1:]
	case "ops.Matmul":
		n := len(x)
		if n < 2 || n != len(y) || !slices.Equal(in[0][:n-2], in[1][:n-2]) {
			l.refuse("inputs of shapes %v", in)
			return nil, ""
		}
		y = x[:n-2] + x[n-1:] + y[n-1:]
		result = x[:n-1] + y[n-1:]
	case "ops.Einsum":
		return einsumTerms(l, in)
	}
	return []string{"b" + x, "b" + y}, "b" + result
}

// einsumTerms returns the terms and the result of the equation of an Einsum, with letters in the place of dots.
func einsumTerms(l *settings, in [][]int) (terms []string, result string) {
	inputs, result, ok := strings.Cut(strings.ReplaceAll(l.Text("subscripts", ""), " ", ""), "->")
	terms = strings.Split(inputs, ",")
	if ok = ok && len(terms) == len(in); ok {
		for i, term := range terms {
			if dots := len(in[i]) + 1 - (len(term) - 3); strings.HasPrefix(term, "...") && dots > 0 && dots <= 8 {
				terms[i] = "ABCDEFGH"[:dots] + term[3:]
			}
		}
		if strings.HasPrefix(result, "...") {
			result = terms[0][:max(0, len(in[0])+1-(len(inputs[:strings.IndexByte(inputs+",", ',')])-3))] + result[3:]
		}
	}
	for i, term := range append(slices.Clone(terms), result) {
		ok = ok && term != "" && term[0] == terms[0][0] && strings.Count(term, term[:1]) == 1 && !strings.Contains(term, ".") && (i >= len(in) || len(term) == len(in[i])+1)
	}
	if !ok {
		l.refuse("the equation %q of samples of shapes %v", l.Text("subscripts", ""), in)
		return nil, ""
	}
	return terms, result
}

func productShapes(l *settings, in [][]int) [][]int {
	terms, result := equationOf(l, in)
	if terms == nil {
		return nil
	}
	sizes, shape := map[rune]int{}, []int{}
	for i, term := range terms {
		for at, letter := range term[1:] {
			n := in[i][at]
			if have, ok := sizes[letter]; ok && have != n && have > 0 && n > 0 {
				l.refuse("inputs of shapes %v", in)
			}
			if n > 0 || sizes[letter] == 0 {
				sizes[letter] = n
			}
		}
	}
	for _, letter := range result[1:] {
		n, ok := sizes[letter]
		if !ok {
			l.refuse("the equation %q", l.Text("subscripts", ""))
		}
		shape = append(shape, n)
	}
	if l.Class == "Dot" && len(shape) == 0 {
		shape = []int{1}
	}
	return [][]int{shape}
}

func productNodes(b *builder, l *settings, in []value) value {
	all := make([]value, len(in))
	for i, v := range in {
		if all[i] = b.last(v); v.steps || l.Class != "Dot" && len(operandsOf(l)) != len(in) {
			l.refuse("a mask, or operands besides tensors")
		}
		if l.Class == "Dot" && l.Bool("normalize", false) && l.failed() == nil {
			axes := l.Ints("axes")
			unit := &Layer{Class: "UnitNormalization", Name: l.Name, Config: map[string]any{"axis": axes[min(i, len(axes)-1)]}}
			one := l.of(unit)
			one.path = fmt.Sprintf("%s_unit%d", l.path, i+1)
			all[i] = unitNodes(b, one, all[i:i+1])
		}
	}
	terms, result := equationOf(l, shapesOfValues(in))
	v := value{node: all[0].node}
	switch {
	case l.failed() != nil:
	case l.Class == "ops.Matmul":
		v.node = b.function(l, "matmul", nil, all...).node
	case len(result) == 1 && l.Class == "Dot": // Σ x·y
		v.node = b.function(l, "einsum", map[string]any{"equation": strings.Join(terms, ",") + "->" + result}, all...).node
		v.node = b.add(l, "one", map[string]any{"reshape": map[string]any{"shape": []int{1}}}, v.node)
	default:
		v.node = b.function(l, "einsum", map[string]any{"equation": strings.Join(terms, ",") + "->" + result}, all...).node
	}
	return v
}
