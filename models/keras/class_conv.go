package keras

import (
	"fmt"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/models/weights"
)

var (
	_ = register(conv(1), "Conv1D")
	_ = register(conv(2), "Conv2D")
	_ = register(conv(3), "Conv3D")
	_ = register(depthwiseConv(1), "DepthwiseConv1D")
	_ = register(depthwiseConv(2), "DepthwiseConv2D")
	_ = register(separableConv(1), "SeparableConv1D")
	_ = register(separableConv(2), "SeparableConv2D")
	_ = register(transposedConv(1), "Conv1DTranspose")
	_ = register(transposedConv(2), "Conv2DTranspose")
	_ = register(transposedConv(3), "Conv3DTranspose")
)

// conv is the class of Conv1D, 2D and 3D: kernel (k…, in/groups, out) becomes (out, in/groups, k…).
func conv(rank int) class {
	return class{
		variables: weighted("kernel"), shapes: convShapes, module: convModule, axes: spatially, activated: true, spatial: true,
		arrays: func(l *settings, features int) map[string][]int {
			if groups := l.Int("groups", 1); groups > 1 && features > 0 {
				features /= groups
			}
			return shaped(map[string]string{"kernel": strings.Repeat("? ", rank) + "features filters", "bias": "filters"})(l, features)
		},
		links: func(l *settings) []weights.Link {
			return biasedLinks(l, "bias", linked("kernel", "weight", kernelToFront(rank)))
		},
		reverse: map[string]reversal{fmt.Sprintf("conv%dd", rank): reverseConv},
		samples: []Layer{
			sample(map[string]any{"filters": 4, "use_bias": true}, w("kernel", append(sampleWindow(rank), 2, 4)...), w("bias", 4)),
			sample(map[string]any{"filters": 4, "groups": 2, "use_bias": false}, w("kernel", append(sampleWindow(rank), 2, 4)...)),
		},
	}
}

// sampleWindow returns a kernel's size for samples: 3, 2 or 3, 2, 2.
func sampleWindow(rank int) []int { return append([]int{3}, slices.Repeat([]int{2}, rank-1)...) }

// kernelToFront moves the last two axes to the front, and exchanges them.
func kernelToFront(rank int) weights.Op {
	order := []int{rank + 1, rank}
	for axis := range rank {
		order = append(order, axis)
	}
	return weights.TransposeOp(order...)
}

func convModule(l *settings, in [][]int) *module {
	w, s := sliding(l, in[0], "kernel_size", false)
	groups := l.Int("groups", 1)
	channels := l.sizeOr(s.channels, "kernel", len(w.kernel))
	if s.channels < 1 {
		channels *= groups // whose kernels have the channels of one
	}
	return w.convolution(l, s, channels, l.sizeOr(l.Int("filters", 0), "kernel", len(w.kernel)+1), groups, l.Bool("use_bias", l.hasWeight("bias")))
}

// convolution returns the module of a convolution over windows. A number of channels that is not known is 0.
func (w window) convolution(l *settings, s spatial, in, out, groups int, bias bool) *module {
	before, after := w.pad(l, s.sizes)
	m := w.module("conv", "nn.Conv", before, after, out, bias).size("in_channels", in)
	if groups > 1 {
		m.settings["groups"] = groups
	}
	switch {
	case w.padding == "same" && slices.Max(w.stride) == 1:
		m.pytorch["padding"] = "same"
	case !slices.Equal(before, after):
		m.pytorch["padding"] = 0
		m.differs = notInPyTorch("padding %q with strides %v pads more elements at one end; pad the input by F.pad", w.padding, w.stride)
	}
	return m
}

// module returns a module with the settings that all convolutions have.
func (w window) module(layer, class string, before, after []int, out int, bias bool) *module {
	axes := len(w.kernel)
	constructor := fmt.Sprintf("%s%dd in_channels out_channels kernel_size= stride=1 padding=0 output_padding=0 dilation=1 groups=1 bias=True", class, axes)
	m := constructed(fmt.Sprintf("%s%dd", layer, axes), constructor, map[string]any{
		"out_channels": out, "kernel_size": w.kernel, "stride": w.stride, "padding": before, "bias": bias,
	})
	if !slices.Equal(before, after) {
		m.settings["padding_after"] = after
	}
	return m.option("dilation", w.dilation, 1)
}

// depthwiseConv is the class of DepthwiseConv1D and 2D: kernel (k…, in, multiplier) becomes (in·multiplier, 1, k…) of
// a convolution with a group for each input channel.
func depthwiseConv(rank int) class {
	return class{
		variables: weighted("kernel"), activated: true, spatial: true, axes: spatially,
		shapes: func(l *settings, in [][]int) [][]int {
			w, s := sliding(l, in[0], "kernel_size", false)
			return s.with(w.sizes(l, s.sizes), max(-1, s.channels*l.Int("depth_multiplier", 1)))
		},
		module: func(l *settings, in [][]int) *module {
			return depthwise(l, in[0], "kernel", l.Bool("use_bias", l.hasWeight("bias")))
		},
		arrays: shaped(map[string]string{"kernel": strings.Repeat("? ", rank) + "features depth_multiplier"}),
		links: func(l *settings) []weights.Link {
			return biasedLinks(l, "bias", linked("kernel", "weight", depthwiseOp(l, "kernel", rank)))
		},
		samples: []Layer{
			sample(map[string]any{"depth_multiplier": 2, "use_bias": true}, w("kernel", append(sampleWindow(rank), 3, 2)...), w("bias", 6)),
			sample(map[string]any{"depth_multiplier": 1, "use_bias": false}, w("kernel", append(sampleWindow(rank), 3, 1)...)),
		},
	}
}

// depthwise returns a convolution with a group for each channel.
func depthwise(l *settings, shape []int, kernel string, bias bool) *module {
	w, s := sliding(l, shape, "kernel_size", false)
	channels := l.sizeOr(s.channels, kernel, len(w.kernel))
	out := channels * max(1, l.sizeOr(l.Int("depth_multiplier", 0), kernel, len(w.kernel)+1))
	m := w.convolution(l, s, channels, out, channels, bias)
	if m.settings["groups"] = channels; channels < 1 {
		m.settings = map[string]any{}
		m.notRun = fmt.Errorf("the number of channels is not known: %w", ErrConfig)
	}
	return m
}

// depthwiseOp returns the Op of a depthwise kernel (k…, in, multiplier).
func depthwiseOp(l *settings, weight string, rank int) weights.Op {
	multiplier, kernel := l.Int("depth_multiplier", 1), l.each("kernel_size", rank, 1)
	if k, ok := l.Weight(weight); ok && k.Array.Rank() == rank+2 {
		multiplier, kernel = k.Array.Shape[rank+1], k.Array.Shape[:rank]
	}
	order, split := []int{rank, rank + 1}, append([]int{-1, multiplier}, kernel...)
	for axis := range rank {
		order = append(order, axis)
	}
	return weights.Chain(weights.TransposeOp(order...), weights.ReshapeOp(split, append([]int{-1, 1}, kernel...)))
}

// separableConv is the class of SeparableConv1D and 2D: a depthwise convolution and one of windows of one element,
// which has the bias.
func separableConv(rank int) class {
	return class{
		variables: weighted("depthwise_kernel", "pointwise_kernel"), activated: true, spatial: true,
		shapes: convShapes, axes: spatially,
		module: func(l *settings, in [][]int) *module {
			m := depthwise(l, in[0], "depthwise_kernel", false)
			one := slices.Repeat([]int{1}, rank)
			pointwise := window{kernel: one}.module("conv", "nn.Conv", nil, nil, l.sizeOr(l.Int("filters", 0), "pointwise_kernel", rank+1), l.Bool("use_bias", l.hasWeight("bias")))
			delete(pointwise.settings, "stride")
			delete(pointwise.settings, "padding")
			channels, _ := m.settings["out_channels"].(int)
			m.part, pointwise.part, m.next = "depthwise", "pointwise", pointwise.size("in_channels", channels)
			return m
		},
		links: func(l *settings) []weights.Link {
			return biasedLinks(l, "pointwise.bias",
				linked("depthwise_kernel", "depthwise.weight", depthwiseOp(l, "depthwise_kernel", rank)),
				linked("pointwise_kernel", "pointwise.weight", kernelToFront(rank)))
		},
		samples: []Layer{
			sample(map[string]any{"depth_multiplier": 2, "use_bias": true},
				w("depthwise_kernel", append(sampleWindow(rank), 3, 2)...), w("pointwise_kernel", append(slices.Repeat([]int{1}, rank), 6, 4)...), w("bias", 4)),
			sample(map[string]any{"use_bias": false},
				w("depthwise_kernel", append(sampleWindow(rank), 3, 1)...), w("pointwise_kernel", append(slices.Repeat([]int{1}, rank), 3, 4)...)),
		},
	}
}

// sliding reads the window and the input of a layer that slides a window.
func sliding(l *settings, shape []int, kernel string, pool bool) (window, spatial) {
	return windowOf(l, kernel, pool), spatialOf(l, shape, axesOf(l.Class))
}

func convShapes(l *settings, in [][]int) [][]int {
	w, s := sliding(l, in[0], "kernel_size", false)
	return s.with(w.sizes(l, s.sizes), l.Int("filters", 0))
}

// spatially returns v as layers of package nn take inputs with spatial axes.
func spatially(b *builder, l *settings, v value) value {
	if v.outer = channelsFirst(l); v.outer {
		return b.last(v)
	}
	return b.toFirst(v)
}

// transposedConv is the class of Conv1DTranspose, 2D and 3D: kernel (k…, out, in) becomes (in, out, k…), without a flip.
func transposedConv(rank int) class {
	return class{
		variables: weighted("kernel"), shapes: transposedShapes, module: transposedModule, axes: spatially, activated: true, spatial: true,
		arrays: shaped(map[string]string{"kernel": strings.Repeat("? ", rank) + "filters features", "bias": "filters"}),
		links: func(l *settings) []weights.Link {
			return biasedLinks(l, "bias", linked("kernel", "weight", kernelToFront(rank)))
		},
		reverse: map[string]reversal{fmt.Sprintf("conv_transpose%dd", rank): reverseTransposed},
		samples: []Layer{
			sample(map[string]any{"filters": 2, "use_bias": true}, w("kernel", append(sampleWindow(rank), 2, 4)...), w("bias", 2)),
			sample(map[string]any{"filters": 2, "use_bias": false}, w("kernel", append(sampleWindow(rank), 2, 4)...)),
		},
	}
}

func transposedModule(l *settings, in [][]int) *module {
	w, s := sliding(l, in[0], "kernel_size", false)
	axes := len(w.kernel)
	before, after, added := w.cut(l)
	out := l.sizeOr(l.Int("filters", 0), "kernel", axes)
	m := w.module("conv_transpose", "nn.ConvTranspose", before, after, out, l.Bool("use_bias", l.hasWeight("bias"))).
		size("in_channels", l.sizeOr(s.channels, "kernel", axes+1)).option("output_padding", added, 0)
	if groups := l.Int("groups", 1); groups > 1 {
		m.notRun = unsupported("a transposed convolution of %d groups", groups)
	}
	if !slices.Equal(before, after) {
		m.pytorch["padding"], m.differs = 0, notInPyTorch("padding %q crops one more element at the end", w.padding)
	}
	for axis, n := range added {
		if n > 0 && n >= max(w.stride[axis], w.dilation[axis]) {
			m.differs = notInPyTorch("%d more elements at the end, for a stride of %d", n, w.stride[axis])
		}
	}
	return m
}

// cut returns what a transposed convolution leaves out of its full result at the beginning
// and at the end of each axis, and adds at the end. It is the gradient of a convolution
// over stride·n elements, which pads as much as its windows need.
func (w window) cut(l *settings) (before, after, added []int) {
	given := l.Ints("output_padding")
	axes := len(w.kernel)
	before, after, added = make([]int, axes), make([]int, axes), make([]int, axes)
	for i := range axes {
		rest := w.reach(i) - w.stride[i]
		switch {
		case given != nil && w.padding == "same" && given[min(i, len(given)-1)] == 0:
			before[i], after[i] = w.reach(i)/2, w.reach(i)/2
		case given != nil && w.padding != "valid":
			l.refuse("output_padding %v with padding %q", given, w.padding)
		case given != nil:
			added[i] = given[min(i, len(given)-1)]
		case rest < 0:
			added[i] = -rest
		case w.padding == "same":
			before[i], after[i] = rest/2, rest-rest/2
		}
	}
	if w.padding == "causal" {
		l.refuse("padding causal")
	}
	return before, after, added
}

func transposedShapes(l *settings, in [][]int) [][]int {
	w, s := sliding(l, in[0], "kernel_size", false)
	given := l.Ints("output_padding")
	halved := len(given) > 0 && w.padding == "same" // which pads half a window on each side
	var before, after, added []int
	if !halved {
		before, after, added = w.cut(l)
	}
	sizes := slices.Clone(s.sizes)
	for i, n := range sizes {
		switch {
		case n < 1:
		case halved:
			sizes[i] = (n-1)*w.stride[i] + w.reach(i)%2 + given[min(i, len(given)-1)]
		default:
			sizes[i] = (n-1)*w.stride[i] + w.reach(i) - before[i] - after[i] + added[i]
		}
	}
	return s.with(sizes, l.Int("filters", 0))
}

// pyTorchWindow reads the window of a convolution or a pool of package nn, with its padding. The stride of a pool is its
// kernel's size by default.
func pyTorchWindow(l *settings, pool bool) (w window, before, after []int) {
	axes := axesOf(l.Class)
	w = window{kernel: l.each("kernel_size", axes, 0), dilation: l.each("dilation", axes, 1), padding: "same"}
	if w.stride = w.kernel; !pool || l.Config["stride"] != nil {
		w.stride = l.each("stride", axes, 1)
	}
	before = l.each("padding", axes, 0)
	if after = before; l.Config["padding_after"] != nil {
		after = l.each("padding_after", axes, 0)
	}
	return w, before, after
}

// isSame reports whether Keras pads as much for "same", whatever the size of the input.
func (w window) isSame(before, after []int) bool {
	if slices.Max(w.stride) > 1 {
		return false
	}
	b, a := w.pad(nil, slices.Repeat([]int{-1}, len(w.kernel)))
	return slices.Equal(a, after) && slices.Equal(b, before) && slices.Max(a) > 0
}

// kerasConv returns the settings of Keras that all convolutions of package nn have.
func kerasConv(l *settings, w window, padding string) map[string]any {
	return map[string]any{
		"filters": l.Int("out_channels", 0), "kernel_size": w.kernel, "strides": w.stride, "padding": padding,
		"use_bias": l.Bool("bias", true), "activation": "linear", "data_format": "channels_last",
	}
}

func reverseConv(r *reverser, l *settings, inputs []tensor) tensor {
	w, before, after := pyTorchWindow(l, false)
	v, axes, padding := inputs[0], len(w.kernel), "same"
	if slices.Max(w.stride) > 1 && slices.Max(w.dilation) > 1 {
		l.refuse("strides %v with dilation %v", w.stride, w.dilation)
	}
	if !w.isSame(before, after) {
		padding, v = "valid", r.padding(false, "", before, after, v)
	}
	config := kerasConv(l, w, padding)
	config["dilation_rate"] = w.dilation
	out, in, groups := l.Int("out_channels", 0), l.Int("in_channels", 0), l.Int("groups", 1)
	if groups > 1 && groups == in && axes < 3 && out%in == 0 {
		delete(config, "filters")
		config["depth_multiplier"] = out / in
		return r.layer("DepthwiseConv"+dimension(axes), l.Name, config, v)
	}
	if groups > 1 {
		config["groups"] = groups
	}
	return r.layer("Conv"+dimension(axes), l.Name, config, v)
}

func reverseTransposed(r *reverser, l *settings, in []tensor) tensor {
	w, before, after := pyTorchWindow(l, false)
	axes := len(w.kernel)
	if groups := l.Int("groups", 1); groups > 1 || slices.Max(w.dilation) > 1 {
		l.refuse("groups %d and dilation %v", groups, w.dilation)
	}
	added, end := l.each("output_padding", axes, 0), slices.Clone(after)
	for i := range end {
		if end[i] += max(0, w.stride[i]-w.kernel[i]) - added[i]; end[i] < 0 { // Keras fills up to the stride
			l.refuse("output_padding %v, beyond what the windows reach", added)
		}
	}
	config := kerasConv(l, w, "valid")
	config["kernel_size"], config["strides"] = unlisted(w.kernel), unlisted(w.stride)
	v := r.layer("Conv"+dimension(axes)+"Transpose", l.Name, config, in[0])
	return r.padding(true, "", before, end, v)
}
