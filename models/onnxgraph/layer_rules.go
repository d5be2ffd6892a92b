package onnxgraph

import (
	"fmt"
	"math"
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/tensor"
)

// plainLayers are layers without settings, by the operators that compute the same.
var plainLayers = map[string]string{
	"Relu": "relu", "Sigmoid": "sigmoid", "Tanh": "tanh", "HardSwish": "hardswish", "Mish": "mish", "Softsign": "softsign",
	"Softplus": "softplus", "Exp": "exponential",
}

// merges are layers of several inputs, by the operators that compute the same.
var merges = map[string]string{"Add": "add", "Sum": "add", "Sub": "subtract", "Mul": "mul", "Max": "maximum", "Min": "minimum", "Mean": "average"}

func init() {
	for op, name := range plainLayers {
		toLayer(op, func(l *lowering, n *node) *layer { return on(n, name, nil) })
	}
	for op, name := range merges {
		toLayer(op, func(l *lowering, n *node) *layer { return l.merge(n, name) })
	}
}

// on returns a layer that takes the first input of a node.
func on(n *node, name string, settings map[string]any) *layer {
	return &layer{name: name, settings: settings, from: n.in[:1]}
}

var (
	_ = toLayer("Conv", func(l *lowering, n *node) *layer { return l.convolution(n, "conv", 0) })
	_ = toLayer("ConvTranspose", func(l *lowering, n *node) *layer {
		if n.integers("output_shape") != nil || n.text("auto_pad", "NOTSET") != "NOTSET" {
			return nil
		}
		made := l.convolution(n, "conv_transpose", 1)
		if extra := n.integers("output_padding"); made != nil && extra != nil {
			made.settings["output_padding"] = extra
		}
		return made
	})
	_ = toLayer("Gemm", func(l *lowering, n *node) *layer {
		w := l.constant(n, 1)
		if w == nil || n.number("alpha", 1) != 1 || n.number("beta", 1) != 1 || n.integer("transA", 0) != 0 {
			return nil
		}
		if n.integer("transB", 0) == 0 {
			w = w.T()
		}
		return l.linear(n, w)
	})
	_ = toLayer("MatMul", func(l *lowering, n *node) *layer {
		w := l.constant(n, 1)
		switch a, b := l.sample(n.in[0]), l.sample(n.in[1]); {
		case w != nil && w.Rank() == 2:
			return l.linear(n, w.T())
		case w == nil && l.constant(n, 0) == nil && len(a) > 1 && len(a) == len(b) && len(n.in) == 2:
			return &layer{name: "function", settings: map[string]any{"name": "matmul"}, from: n.in}
		}
		return nil
	})
	_ = toLayer("Attention", (*lowering).attention)
	_ = toLayer("BatchNormalization", func(l *lowering, n *node) *layer {
		spatial := len(l.shapes[n.in[0]]) - 2
		made := on(n, fmt.Sprintf("batchnorm%dd", max(1, spatial)), map[string]any{"eps": n.number("epsilon", 1e-5)})
		made.weights = map[string]*tensor.Tensor{}
		for i, name := range []string{"gamma", "beta", "running_mean", "running_var"} {
			w := l.constant(n, 1+i)
			if w == nil {
				return nil
			}
			made.weights[name], made.settings["num_features"] = w, w.Len()
		}
		return made
	})
	_ = toLayer("LayerNormalization", func(l *lowering, n *node) *layer {
		scale, bias := l.constant(n, 1), l.constant(n, 2)
		rank := len(l.shapes[n.in[0]])
		if axis := n.integer("axis", -1); scale == nil || bias == nil || (axis+rank)%rank != rank-scale.Rank() || !slices.Equal(scale.Shape(), bias.Shape()) {
			return nil
		}
		made := on(n, "layernorm", map[string]any{"normalized_shape": scale.Shape(), "eps": n.number("epsilon", 1e-5)})
		made.weights = map[string]*tensor.Tensor{"gamma": scale, "beta": bias}
		return made
	})
	_ = toLayer("RMSNormalization", func(l *lowering, n *node) *layer {
		scale, rank := l.constant(n, 1), len(l.shapes[n.in[0]])
		if axis := n.integer("axis", -1); scale == nil || (axis+rank)%rank != rank-scale.Rank() {
			return nil
		}
		made := on(n, "rmsnorm", map[string]any{"normalized_shape": scale.Shape(), "eps": n.number("epsilon", 1e-5)})
		made.weights = map[string]*tensor.Tensor{"weight": scale}
		return made
	})
	_ = toLayer("InstanceNormalization", func(l *lowering, n *node) *layer { return l.channelNorm(n, "instancenorm", "num_features") })
	_ = toLayer("GroupNormalization", func(l *lowering, n *node) *layer {
		made := l.channelNorm(n, "groupnorm", "num_channels")
		if made == nil || n.opset < 21 { // before which it has a scale for each group
			return nil
		}
		made.settings["num_groups"] = n.integer("num_groups", 1)
		return made
	})
	_ = toLayer("DepthToSpace", func(l *lowering, n *node) *layer {
		if n.text("mode", "DCR") != "CRD" {
			return nil
		}
		return on(n, "pixel_shuffle", map[string]any{"factor": n.integer("blocksize", 1)})
	})
	_ = toLayer("LeakyRelu", func(l *lowering, n *node) *layer {
		return on(n, "leaky_relu", map[string]any{"negative_slope": n.number("alpha", 0.01)})
	})
	_ = toLayer("Elu", func(l *lowering, n *node) *layer { return on(n, "elu", map[string]any{"alpha": n.number("alpha", 1)}) })
	_ = toLayer("Celu", func(l *lowering, n *node) *layer { return on(n, "celu", map[string]any{"alpha": n.number("alpha", 1)}) })
	_ = toLayer("Gelu", func(l *lowering, n *node) *layer {
		return on(n, "gelu", map[string]any{"approximate": n.text("approximate", "none")})
	})
	_ = toLayer("Swish", func(l *lowering, n *node) *layer {
		if n.number("alpha", 1) != 1 {
			return nil
		}
		return on(n, "silu", nil)
	})
	_ = toLayer("HardSigmoid", func(l *lowering, n *node) *layer {
		if alpha := n.number("alpha", 0.2); alpha < 0.16666 || alpha > 0.16667 || n.number("beta", 0.5) != 0.5 {
			return nil
		}
		return on(n, "hardsigmoid", nil)
	})
	_ = toLayer("PRelu", func(l *lowering, n *node) *layer {
		w, shape := l.constant(n, 1), l.sample(n.in[0])
		if w == nil || len(shape) == 0 || w.Len() > 1 && (w.Rank() != len(shape) || w.Len() != shape[0] || w.Size(0) != shape[0]) {
			return nil
		}
		made := on(n, "prelu", map[string]any{"num_parameters": w.Len()})
		made.weights = map[string]*tensor.Tensor{"weight": w.Reshape(w.Len())}
		return made
	})
	_ = toLayer("Softmax", func(l *lowering, n *node) *layer { return l.softmax(n, "softmax") })
	_ = toLayer("LogSoftmax", func(l *lowering, n *node) *layer { return l.softmax(n, "log_softmax") })
	_ = toLayer("Clip", func(l *lowering, n *node) *layer {
		bounds := map[string]any{}
		for i, name := range []string{"min", "max"} {
			list, ok := l.numbers(n, 1+i)
			switch given := n.attributes[name].Floats; {
			case ok && len(list) == 1:
				bounds[name] = list[0]
			case n.opset < 11 && given != nil:
				bounds[name] = float64(given[0])
			case len(n.in) > 1+i && n.in[1+i] >= 0: // of the data
				return nil
			}
		}
		switch {
		case len(bounds) == 0:
			return nil
		case bounds["min"] == 0.0 && bounds["max"] == 6.0:
			return on(n, "relu6", nil)
		case len(bounds) == 2:
			return on(n, "hardtanh", bounds)
		}
		return on(n, "function", map[string]any{"name": "clamp", "settings": bounds})
	})
	_ = toLayer("MaxPool", func(l *lowering, n *node) *layer { return l.pool(n, "maxpool") })
	_ = toLayer("AveragePool", func(l *lowering, n *node) *layer { return l.pool(n, "avgpool") })
	_ = toLayer("GlobalAveragePool", func(l *lowering, n *node) *layer { return l.global(n, "globalavgpool") })
	_ = toLayer("GlobalMaxPool", func(l *lowering, n *node) *layer { return l.global(n, "globalmaxpool") })
	_ = toLayer("Reshape", func(l *lowering, n *node) *layer { return l.reshape(n) })
	_ = toLayer("Concat", func(l *lowering, n *node) *layer {
		axis, rank := n.integer("axis", 1), len(l.shapes[n.out[0]])
		if axis < 0 {
			axis += rank
		}
		if axis == 0 {
			return nil
		}
		if token := l.classToken(n, axis); token != nil {
			return token
		}
		made := &layer{name: "concat", settings: map[string]any{"axis": axis}}
		like := slices.IndexFunc(n.in, func(in int) bool { return l.m.known[in] == nil })
		for _, in := range n.in {
			if x := l.m.known[in]; x != nil {
				if in = l.constantBeside(x, n.in[like], rank); in < 0 {
					return nil
				}
			}
			made.from = append(made.from, in)
		}
		return made
	})
	_ = toLayer("Cast", func(l *lowering, n *node) *layer {
		return on(n, "cast", map[string]any{"dtype": l.types[n.out[0]].String()})
	})
	_ = toLayer("Gather", func(l *lowering, n *node) *layer {
		if table := l.constant(n, 0); table != nil && table.Rank() == 2 && n.integer("axis", 0) == 0 {
			return &layer{
				name: "embedding", settings: map[string]any{"num_embeddings": table.Size(0), "embedding_dim": table.Size(1)},
				weights: map[string]*tensor.Tensor{"weight": table}, from: n.in[1:2],
			}
		}
		at, ok := l.numbers(n, 1)
		if !ok || len(l.shapes[n.in[1]]) != 0 || n.integer("axis", 0) < 1 {
			return nil
		}
		return on(n, "select", map[string]any{"index": int(at[0]), "axis": n.integer("axis", 0)})
	})
	_ = toLayer("Slice", func(l *lowering, n *node) *layer {
		starts, ends, axes, step := l.sliced(n)
		if len(starts) != 1 || len(ends) != 1 || len(axes) != 1 || len(l.shapes[n.in[0]]) < 2 {
			return nil
		}
		axis, size := axes[0], l.shapes[n.out[0]][axes[0]]
		switch {
		case axis == 0 || size == 0:
			return nil
		case step == -1 && size == l.shapes[n.in[0]][axis]:
			return on(n, "function", map[string]any{"name": "flip", "settings": map[string]any{"dims": []int{axis}}})
		case step < 1:
			return nil
		}
		return on(n, "slice", map[string]any{"start": starts[0], "stop": ends[0], "step": step, "axis": axis})
	})
	_ = toLayer("Split", func(l *lowering, n *node) *layer {
		rank := len(l.shapes[n.in[0]])
		axis := (n.integer("axis", 0) + rank) % rank
		if axis == 0 {
			return nil
		}
		var parts []*layer
		first := 0
		for _, out := range n.out {
			size := l.shapes[out][axis]
			parts = append(parts, on(n, "slice", map[string]any{"start": first, "stop": first + size, "axis": axis}))
			first += size
		}
		parts[0].more = parts[1:]
		return parts[0]
	})
	_ = toLayer("Resize", func(l *lowering, n *node) *layer {
		in, out := l.sample(n.in[0]), l.sample(n.out[0])
		if len(in) < 2 || len(out) != len(in) || in[0] != out[0] || n.opset < 11 || n.integer("antialias", 0) != 0 {
			return nil
		}
		settings, coordinates := map[string]any{"size": out[1:]}, n.text("coordinate_transformation_mode", "half_pixel")
		if scales := multiples(in[1:], out[1:]); scales != nil && coordinates != "align_corners" {
			settings = map[string]any{"scale": scales}
		}
		switch mode := n.text("mode", "nearest"); {
		case mode == "nearest" && coordinates == "asymmetric" && n.text("nearest_mode", "round_prefer_floor") == "floor":
		case mode == "linear" && (coordinates == "half_pixel" || coordinates == "pytorch_half_pixel"):
			settings["mode"] = "linear"
		case mode == "linear" && coordinates == "align_corners":
			settings["mode"], settings["align_corners"] = "linear", true
		default:
			return nil
		}
		return on(n, "upsample", settings)
	})
	_ = toLayer("Pad", func(l *lowering, n *node) *layer {
		sizes := n.integers("pads")
		if list, ok := l.numbers(n, 1); ok {
			for _, size := range list {
				sizes = append(sizes, int(size))
			}
		}
		rank := len(l.shapes[n.in[0]])
		modes := map[string]string{"constant": "constant", "reflect": "reflect", "edge": "replicate", "wrap": "circular"}
		mode := modes[n.text("mode", "constant")]
		if len(sizes) != 2*rank || rank < 3 || len(n.in) > 3 || mode == "" || slices.Min(sizes) < 0 {
			return nil
		}
		if sizes[0] != 0 || sizes[1] != 0 || sizes[rank] != 0 || sizes[rank+1] != 0 {
			return nil
		}
		value := n.number("value", 0)
		if list, ok := l.numbers(n, 2); ok && len(list) == 1 {
			value = list[0]
		}
		return on(n, "pad", map[string]any{"before": sizes[2:rank], "after": sizes[rank+2:], "mode": mode, "value": value})
	})
	_ = toLayer("LSTM", func(l *lowering, n *node) *layer { return l.recurrent(n, "lstm", 4, []int{0, 2, 3, 1}) })
	_ = toLayer("GRU", func(l *lowering, n *node) *layer {
		if n.integer("linear_before_reset", 0) == 0 {
			return nil
		}
		return l.recurrent(n, "gru", 3, []int{1, 0, 2})
	})
	_ = toLayer("RNN", func(l *lowering, n *node) *layer { return l.recurrent(n, "rnn", 1, []int{0}) })
)

// sliced returns the starts, ends and axes of a Slice, and its step if it has one axis.
func (l *lowering) sliced(n *node) (starts, ends, axes []int, step int) {
	var lists [5][]int
	for i, name := range []string{"", "starts", "ends", "axes", "steps"} {
		lists[i] = slices.Clone(n.integers(name))
		if list, ok := l.numbers(n, i); ok && i > 0 && lists[i] == nil {
			for _, x := range list {
				lists[i] = append(lists[i], int(min(max(x, -maxSize), maxSize)))
			}
		}
	}
	starts, ends, axes, step = lists[1], lists[2], lists[3], 1
	if axes == nil {
		axes = rest(0, len(starts))
	}
	for i, axis := range axes {
		if axis < 0 {
			axes[i] += len(l.shapes[n.in[0]])
		}
	}
	if len(lists[4]) == 1 {
		step = lists[4][0]
	}
	return starts, ends, axes, step
}

// classToken is a learnt step before the others; nil for a node that joins others.
func (l *lowering) classToken(n *node, axis int) *layer {
	x := l.m.known[n.in[0]]
	if x == nil || len(n.in) != 2 || axis != 1 || !l.m.learnt[n.in[0]] {
		return nil
	}
	if x = l.ofAnySample(x, 3); x.Rank() != 3 || x.Size(0)*x.Size(1) != 1 {
		return nil
	}
	return &layer{name: "class_token", settings: map[string]any{"embedding_dim": x.Len()}, from: n.in[1:], weights: map[string]*tensor.Tensor{"weight": x.Reshape(1, x.Len())}}
}

// attention is softmax(scale·Q·Kᵀ + mask)·V of heads (N, H, T, size).
func (l *lowering) attention(n *node) *layer {
	q, k, v := l.shapes[n.in[0]], l.shapes[n.in[1]], n.in[2]
	for i, in := range n.in[:3] {
		if len(l.shapes[in]) != 4 || l.sample(in) == nil || l.shapes[in][1] != q[1] || len(n.in) > 4 || n.outputs(1) && i == 0 || n.number("softcap", 0) != 0 {
			return nil
		}
	}
	t := l.types[n.in[0]]
	scores := []int{q[0], q[1], q[2], k[2]}
	name := func(layer, name string, shape []int, from ...int) int {
		return l.then(n.name, layer, map[string]any{"name": name}, shape, t, from...)
	}
	scaled := l.then(n.name, "rescale", map[string]any{"scale": n.number("scale", 1/math.Sqrt(float64(q[3])))}, q, t, n.in[0])
	keys := l.then(n.name, "permute", map[string]any{"axes": []int{1, 3, 2}}, []int{k[0], k[1], k[3], k[2]}, t, n.in[1])
	weights := name("function", "matmul", scores, scaled, keys)
	mask := func(x int, kind dtype.Type) {
		if kind == dtype.Bool {
			least := l.constantBeside(tensor.FromSlice([]float32{-math.MaxFloat32}), n.in[0], 4)
			weights = name("function", "where", scores, x, weights, least)
		} else {
			weights = name("function", "add", scores, weights, x)
		}
	}
	if n.integer("is_causal", 0) == 1 {
		rows, columns := tensor.Arange(dtype.Int32, 0, float64(q[2]), 1).Unsqueeze(1), tensor.Arange(dtype.Int32, 0, float64(k[2]), 1)
		at := l.constantBeside(rows.Ge(columns), n.in[0], 4)
		if at < 0 {
			return nil
		}
		mask(at, dtype.Bool)
	}
	if len(n.in) == 4 && n.in[3] >= 0 {
		at, x := n.in[3], l.m.known[n.in[3]]
		if x != nil {
			at = l.constantBeside(x, n.in[0], 4)
		}
		if at < 0 || len(l.shapes[at]) != 4 {
			return nil
		}
		mask(at, l.types[at])
	}
	weights = l.then(n.name, "softmax", map[string]any{"axis": -1}, scores, t, weights)
	return &layer{name: "function", settings: map[string]any{"name": "matmul"}, from: []int{weights, v}}
}

// multiples returns the quotients of sizes, or nil if they are no integers.
func multiples(in, out []int) []int {
	scales := make([]int, len(in))
	for i := range in {
		if out[i]%in[i] != 0 {
			return nil
		}
		scales[i] = out[i] / in[i]
	}
	return scales
}

// convolution has a weight of (out, in/groups, …), or transposed of (in, out/groups, …).
func (l *lowering) convolution(n *node, name string, out int) *layer {
	w, bias := l.constant(n, 1), l.constant(n, 2)
	if w == nil || w.Rank() < 3 || len(n.in) > 2 && n.in[2] >= 0 && bias == nil {
		return nil
	}
	spatial := w.Rank() - 2
	o := (&call{node: n}).window(l.shapes[n.in[0]], w.Shape()[2:])
	groups := n.integer("group", 1)
	made := on(n, fmt.Sprintf("%s%dd", name, spatial), map[string]any{
		"in_channels": w.Size(1) * groups, "out_channels": w.Size(0), "kernel_size": w.Shape()[2:], "stride": o.stride,
		"dilation": o.dilation, "groups": groups, "bias": bias != nil,
	})
	if out == 1 {
		made.settings["in_channels"], made.settings["out_channels"] = w.Size(0), w.Size(1)*groups
	}
	made.pads(o, spatial)
	made.weights = map[string]*tensor.Tensor{"weight": w}
	if bias != nil {
		made.weights["bias"] = bias
	}
	return made
}

// pads sets the padding of a layer with windows.
func (made *layer) pads(o window, spatial int) {
	var before, after []int
	for _, p := range o.padding[:spatial] {
		before, after = append(before, p[0]), append(after, p[1])
	}
	if made.settings["padding"] = before; !slices.Equal(before, after) {
		made.settings["padding_after"] = after
	}
}

// channelNorm has a scale and a bias for each channel.
func (l *lowering) channelNorm(n *node, name, channels string) *layer {
	scale, bias := l.constant(n, 1), l.constant(n, 2)
	if scale == nil || bias == nil || l.sample(n.in[0]) == nil {
		return nil
	}
	made := on(n, name, map[string]any{channels: scale.Len(), "eps": n.number("epsilon", 1e-5), "affine": true})
	made.weights = map[string]*tensor.Tensor{"weight": scale, "bias": bias}
	return made
}

// linear has a weight of (out, in).
func (l *lowering) linear(n *node, w *tensor.Tensor) *layer {
	bias := l.constant(n, 2)
	if len(n.in) > 2 && (bias == nil || bias.Rank() != 1 || bias.Len() != w.Size(0)) || l.sample(n.in[0]) == nil {
		return nil
	}
	made := on(n, "linear", map[string]any{"in_features": w.Size(1), "out_features": w.Size(0), "bias": bias != nil})
	made.weights = map[string]*tensor.Tensor{"weight": w}
	if bias != nil {
		made.weights["bias"] = bias
	}
	return made
}

func (l *lowering) softmax(n *node, name string) *layer {
	rank := len(l.shapes[n.in[0]])
	axis := n.integer("axis", -1)
	if n.opset < 13 {
		axis = n.integer("axis", 1)
		if (axis+rank)%rank != rank-1 {
			return nil
		}
	}
	return on(n, name, map[string]any{"axis": axis})
}

// pool is a pool with windows over one to three spatial axes.
func (l *lowering) pool(n *node, name string) *layer {
	spatial := len(l.shapes[n.in[0]]) - 2
	o := (&call{node: n}).window(l.shapes[n.in[0]], n.integers("kernel_shape"))
	made := on(n, fmt.Sprintf("%s%dd", name, spatial), map[string]any{"kernel_size": o.kernel, "stride": o.stride, "ceil_mode": n.integer("ceil_mode", 0) == 1})
	switch {
	case name == "maxpool":
		made.settings["dilation"] = o.dilation
	case o.isDilated():
		return nil
	default:
		made.settings["count_include_pad"] = n.integer("count_include_pad", 0) == 1
	}
	if o.isWide() {
		return nil
	}
	made.pads(o, spatial)
	return made
}

func (l *lowering) global(n *node, name string) *layer {
	return on(n, fmt.Sprintf("%s%dd", name, len(l.shapes[n.in[0]])-2), nil)
}

// reshape keeps the samples.
func (l *lowering) reshape(n *node) *layer {
	shape := l.sample(n.out[0])
	switch {
	case shape == nil || l.sample(n.in[0]) == nil:
		return nil
	case len(shape) == 1:
		return on(n, "flatten", nil)
	}
	return on(n, "reshape", map[string]any{"shape": shape})
}

// merge joins values that broadcast, or scales by a number; a constant of several elements is a layer beside it.
func (l *lowering) merge(n *node, name string) *layer {
	values := true
	for _, in := range n.in {
		values = values && l.m.known[in] == nil && l.sample(in) != nil && len(l.shapes[in]) == len(l.shapes[n.out[0]])
	}
	if values {
		return &layer{name: name, from: n.in}
	}
	for i := range n.in {
		number, ok := l.numbers(n, i)
		if !ok || len(number) != 1 || len(n.in) != 2 || len(l.shapes[n.in[1-i]]) != len(l.shapes[n.out[0]]) {
			continue
		}
		settings := map[string]any{}
		switch {
		case name == "mul":
			settings["scale"] = number[0]
		case name == "add":
			settings["offset"] = number[0]
		case name == "subtract" && i == 1:
			settings["offset"] = -number[0]
		case name == "subtract":
			settings["scale"], settings["offset"] = -1.0, number[0]
		default:
			return l.function(n)
		}
		return &layer{name: "rescale", settings: settings, from: []int{n.in[1-i]}}
	}
	var made *layer
	switch name {
	case "mul":
		made = l.channelScale(n)
	case "add":
		made = l.positions(n)
	}
	if made == nil && functions[n.op] != "" && len(n.in) == 2 {
		made = l.function(n)
	}
	return made
}

// statesOf has the number of tensors of a state.
var statesOf = map[string]int{"LSTM": 2, "GRU": 1, "RNN": 1}

// usualActivations are the activations of one direction, which exporters may write, too.
var usualActivations = map[string][]string{"LSTM": {"Sigmoid", "Tanh", "Tanh"}, "GRU": {"Sigmoid", "Tanh"}, "RNN": {"Tanh"}}

// recurrent is a layer of one direction or two, whose gates are reordered as nn has them. It takes and returns steps
// first, which nn does not.
func (l *lowering) recurrent(n *node, name string, gates int, order []int) *layer {
	w, r, b := l.constant(n, 1), l.constant(n, 2), l.constant(n, 3)
	way := n.text("direction", "forward")
	if w == nil || r == nil || len(n.in) > 3 && n.in[3] >= 0 && b == nil || way == "reverse" || n.integer("layout", 0) != 0 ||
		n.number("clip", 0) != 0 || len(l.shapes[n.in[0]]) != 3 || l.shapes[n.in[0]][0] != l.batch {
		return nil
	}
	relu := false
	if given := n.attributes["activations"].Strings; given != nil {
		relu = n.op == "RNN" && !slices.ContainsFunc(given, func(name string) bool { return name != "Relu" })
		if !relu && !slices.Equal(given, slices.Repeat(usualActivations[n.op], w.Size(0))) {
			return nil
		}
	}
	from, ok := l.recurrentInputs(n, w.Size(0))
	if !ok {
		return nil
	}
	used := func(i int) bool { return n.outputs(i) && l.uses[n.out[i]] > 0 }
	hidden := r.Size(2)
	reordered := func(x *tensor.Tensor) *tensor.Tensor {
		var blocks []*tensor.Tensor
		for _, gate := range order {
			blocks = append(blocks, x.Narrow(0, gate*hidden, hidden))
		}
		return tensor.Cat(0, blocks...)
	}
	made := on(n, name, map[string]any{
		"input_size": w.Size(2), "hidden_size": hidden, "bias": b != nil, "bidirectional": way == "bidirectional", "return_sequences": true,
	})
	if relu {
		made.settings["nonlinearity"] = "relu"
	}
	made.from, made.weights = from, map[string]*tensor.Tensor{}
	made.output = func(name string) source { // (T, directions, N, features)
		s := l.output(name, []int{l.shapes[n.in[0]][1], w.Size(0), hidden})
		s.shape, s.view, s.axes = []int{s.shape[0], w.Size(0) * hidden}, name, [][]factor{s.axes[1], s.axes[2], s.axes[0], s.axes[3]}
		return s.settled()
	}
	switch {
	case used(1) && !used(0) && !used(2) && way == "forward":
		made.settings["return_sequences"], made.states = false, map[int][]string{n.out[1]: {""}}
	case used(1) || used(2):
		made.settings["return_state"], made.states = true, map[int][]string{}
		for i := 1; i <= statesOf[n.op]; i++ {
			for direction := range w.Size(0) {
				if used(i) {
					made.states[n.out[i]] = append(made.states[n.out[i]], fmt.Sprintf(".%d", direction*statesOf[n.op]+i))
				}
			}
		}
	}
	for at, ending := range []string{"", "_reverse"}[:w.Size(0)] {
		made.weights["weight_ih_l0"+ending], made.weights["weight_hh_l0"+ending] = reordered(w.Select(0, at)), reordered(r.Select(0, at))
		if b != nil {
			both := b.Select(0, at)
			made.weights["bias_ih_l0"+ending] = reordered(both.Narrow(0, 0, gates*hidden))
			made.weights["bias_hh_l0"+ending] = reordered(both.Narrow(0, gates*hidden, gates*hidden))
		}
	}
	return made
}

// recurrentInputs returns the steps and the states before the first one, for each direction: none if they are zeros. ok is false for lengths of samples and
// states that are other constants.
func (l *lowering) recurrentInputs(n *node, directions int) (from []int, ok bool) {
	from = slices.Clone(n.in[:1])
	for i := 4; i < len(n.in); i++ {
		initial, ok := l.numbers(n, i)
		states := n.in[i] >= 0 && i > 4 && i < 7 && len(l.states[n.in[i]]) == directions
		if n.in[i] >= 0 && !states && (!ok || i == 4 || slices.ContainsFunc(initial, func(x float64) bool { return x != 0 })) {
			return nil, false
		}
	}
	for direction := range directions {
		for i := 5; i < 5+statesOf[n.op]; i++ {
			if len(n.in) > i && n.in[i] >= 0 && l.m.known[n.in[i]] == nil {
				from = append(from, l.states[n.in[i]][direction])
			}
		}
	}
	count := len(from) - 1
	return from, count == 0 || count == directions*statesOf[n.op]
}
