package keras

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/models/weights"
)

// Conv1D, 2D and 3D: kernel (k…, in/groups, out) becomes (out, in/groups, k…).
var (
	_ = register(conv(1), "Conv1D")
	_ = register(conv(2), "Conv2D")
	_ = register(conv(3), "Conv3D")
)

func conv(rank int) class {
	return class{
		variables: weighted("kernel"), settings: biased, shapes: convShapes, nodes: convNodes, activated: true, spatial: true,
		arrays: func(l *Layer, features int) map[string][]int {
			if groups, err := l.Int("groups", 1); err == nil && groups > 1 && features > 0 {
				features /= groups
			}
			return shaped(map[string]string{"kernel": strings.Repeat("? ", rank) + "features filters", "bias": "filters"})(l, features)
		},
		pytorch: fmt.Sprintf("nn.Conv%dd", rank),
		links: func(l *Layer) ([]weights.Link, error) {
			return biasedLinks(l, linked("kernel", "weight", kernelToFront(rank)))
		},
		call: func(l *Layer) (string, error) {
			groups, err := l.Int("groups", 1)
			if err != nil {
				return "", err
			}
			in := size(l, "kernel", rank)
			if n, ok := l.Weight("kernel"); ok && n.Array.Rank() == rank+2 {
				in = fmt.Sprint(n.Array.Shape[rank] * groups)
			}
			c := newCall(fmt.Sprintf("nn.Conv%dd", rank), in, size(l, "kernel", rank+1))
			return convCall(l, rank, c, groups)
		},
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

// convCall returns a call of the constructor of a convolution with the settings of l.
func convCall(l *Layer, rank int, c *call, groups int) (string, error) {
	w, s, err := sliding(l, inputOf(l, rank), "kernel_size", false)
	if err != nil {
		return "", err
	}
	before, err := w.padsEvenly(s.sizes)
	return w.call(l, c, before, nil, groups), err
}

// padsEvenly returns the padding at both ends of each axis. It is an error if it is not the same:
// PyTorch has that only for strides of 1, as padding="same".
func (w window) padsEvenly(sizes []int) ([]int, error) {
	before, after, err := w.pad(sizes)
	if err == nil && !slices.Equal(before, after) && (w.padding != "same" || slices.Max(w.stride) > 1) {
		return nil, notInPyTorch("padding %q with strides %v pads more elements at one end; pad the input by F.pad", w.padding, w.stride)
	}
	return before, err
}

// call adds the settings of a convolution over windows to the call of its constructor.
func (w window) call(l *Layer, c *call, pads, added []int, groups int) string {
	c.set("kernel_size", w.kernel)
	if slices.Max(w.stride) > 1 {
		c.set("stride", w.stride)
	}
	switch {
	case added == nil && w.padding == "same" && slices.Max(w.stride) == 1:
		c.set("padding", "same")
	case pads != nil && slices.Max(pads) > 0:
		c.set("padding", pads)
	}
	if added != nil && slices.Max(added) > 0 {
		c.set("output_padding", added)
	}
	if slices.Max(w.dilation) > 1 {
		c.set("dilation", w.dilation)
	}
	if groups != 1 {
		c.set("groups", groups)
	}
	if bias, _ := l.Bool("use_bias", hasWeight(l, "bias")); !bias {
		c.set("bias", false)
	}
	return c.String()
}

// DepthwiseConv1D and 2D: kernel (k…, in, multiplier) becomes (in·multiplier, 1, k…) of a
// convolution with a group for each input channel.
var (
	_ = register(depthwiseRule(1), "DepthwiseConv1D")
	_ = register(depthwiseRule(2), "DepthwiseConv2D")
)

func depthwiseRule(rank int) class {
	return class{
		variables: weighted("kernel"), settings: biased, shapes: depthwiseShapes, nodes: depthwiseNodes, activated: true, spatial: true,
		arrays:  shaped(map[string]string{"kernel": strings.Repeat("? ", rank) + "features depth_multiplier"}),
		pytorch: fmt.Sprintf("nn.Conv%dd with groups", rank),
		links: func(l *Layer) ([]weights.Link, error) {
			op, err := depthwiseOp(l, "kernel", rank)
			if err != nil {
				return nil, err
			}
			return biasedLinks(l, linked("kernel", "weight", op))
		},
		call: func(l *Layer) (string, error) {
			k, ok := l.Weight("kernel")
			if !ok || k.Array.Rank() != rank+2 {
				return fmt.Sprintf("nn.Conv%dd(?, ?)", rank), nil
			}
			in := k.Array.Shape[rank]
			return convCall(l, rank, newCall(fmt.Sprintf("nn.Conv%dd", rank), in, in*k.Array.Shape[rank+1]), in)
		},
		samples: []Layer{
			sample(map[string]any{"depth_multiplier": 2, "use_bias": true}, w("kernel", append(sampleWindow(rank), 3, 2)...), w("bias", 6)),
			sample(map[string]any{"depth_multiplier": 1, "use_bias": false}, w("kernel", append(sampleWindow(rank), 3, 1)...)),
		},
	}
}

// depthwiseOp returns the Op of a depthwise kernel (k…, in, multiplier).
func depthwiseOp(l *Layer, weight string, rank int) (weights.Op, error) {
	multiplier, err := l.Int("depth_multiplier", 0)
	if err != nil {
		return nil, err
	}
	kernel, err := each(l, "kernel_size", rank, 1)
	if err != nil {
		return nil, err
	}
	if k, ok := l.Weight(weight); ok && k.Array.Rank() == rank+2 {
		multiplier, kernel = k.Array.Shape[rank+1], k.Array.Shape[:rank]
	}
	if multiplier == 0 {
		multiplier = 1
	}
	order, split := []int{rank, rank + 1}, append([]int{-1, multiplier}, kernel...)
	for axis := range rank {
		order = append(order, axis)
	}
	return weights.Chain(weights.TransposeOp(order...), weights.ReshapeOp(split, append([]int{-1, 1}, kernel...))), nil
}

// SeparableConv1D and 2D: a depthwise convolution and one of windows of one element, which
// has the bias.
var (
	_ = register(separable(1), "SeparableConv1D")
	_ = register(separable(2), "SeparableConv2D")
)

func separable(rank int) class {
	return class{
		variables: weighted("depthwise_kernel", "pointwise_kernel"), settings: biased, shapes: convShapes, nodes: separableNodes, activated: true, spatial: true,
		pytorch: fmt.Sprintf("two nn.Conv%dd, depthwise and pointwise", rank),
		links: func(l *Layer) ([]weights.Link, error) {
			op, err := depthwiseOp(l, "depthwise_kernel", rank)
			if err != nil {
				return nil, err
			}
			links := []weights.Link{
				linked("depthwise_kernel", "depthwise.weight", op),
				linked("pointwise_kernel", "pointwise.weight", kernelToFront(rank)),
			}
			bias, err := l.Bool("use_bias", hasWeight(l, "bias"))
			if err != nil || !bias {
				return links, err
			}
			return append(links, linked("bias", "pointwise.bias", weights.Same{})), nil
		},
		call: func(l *Layer) (string, error) {
			k, ok := l.Weight("depthwise_kernel")
			if !ok || k.Array.Rank() != rank+2 {
				return fmt.Sprintf(separableCall, fmt.Sprintf("nn.Conv%dd(?, ?)", rank), fmt.Sprintf("nn.Conv%dd(?, ?)", rank)), nil
			}
			in, channels := k.Array.Shape[rank], k.Array.Shape[rank]*k.Array.Shape[rank+1]
			first := *l // without a bias
			first.Config = map[string]any{}
			maps.Copy(first.Config, l.Config)
			first.Config["use_bias"] = false
			depthwise, err := convCall(&first, rank, newCall(fmt.Sprintf("nn.Conv%dd", rank), in, channels), in)
			pointwise := newCall(fmt.Sprintf("nn.Conv%dd", rank), channels, size(l, "pointwise_kernel", rank+1)).set("kernel_size", 1)
			if bias, _ := l.Bool("use_bias", hasWeight(l, "bias")); !bias {
				pointwise.set("bias", false)
			}
			return fmt.Sprintf(separableCall, depthwise, pointwise), err
		},
		samples: []Layer{
			sample(map[string]any{"depth_multiplier": 2, "use_bias": true},
				w("depthwise_kernel", append(sampleWindow(rank), 3, 2)...), w("pointwise_kernel", append(slices.Repeat([]int{1}, rank), 6, 4)...), w("bias", 4)),
			sample(map[string]any{"use_bias": false},
				w("depthwise_kernel", append(sampleWindow(rank), 3, 1)...), w("pointwise_kernel", append(slices.Repeat([]int{1}, rank), 3, 4)...)),
		},
	}
}

// separableCall makes a module of two with the names that the arrays have.
const separableCall = "nn.Sequential(OrderedDict(depthwise=%s, pointwise=%s))"

// sliding reads the window and the input of a layer that slides a window.
func sliding(l *Layer, shape []int, kernel string, pool bool) (w window, s spatial, err error) {
	axes := axesOf(l.Class)
	var stride []int
	if pool {
		if stride, err = each(l, kernel, axes, 2); err != nil {
			return w, s, err
		}
	}
	if w, err = windowOf(l, axes, kernel, stride); err != nil {
		return w, s, err
	}
	s, err = spatialOf(l, shape, axes)
	return w, s, err
}

func convShapes(l *Layer, in [][]int) ([][]int, error) {
	w, s, err := sliding(l, in[0], "kernel_size", false)
	if err != nil {
		return nil, err
	}
	filters, err := l.Int("filters", 0)
	if err != nil {
		return nil, err
	}
	sizes, err := w.sizes(s.sizes)
	return [][]int{s.with(sizes, filters)}, err
}

func depthwiseShapes(l *Layer, in [][]int) ([][]int, error) {
	w, s, err := sliding(l, in[0], "kernel_size", false)
	if err != nil {
		return nil, err
	}
	multiplier, err := l.Int("depth_multiplier", 1)
	if err != nil {
		return nil, err
	}
	if s.channels > 0 {
		s.channels *= multiplier
	}
	sizes, err := w.sizes(s.sizes)
	return [][]int{s.with(sizes, s.channels)}, err
}

// spatially returns v as layers of package nn take inputs with spatial axes.
func (b *builder) spatially(s spatial, v value) (value, error) {
	v.outer = s.first
	if s.first {
		return b.last(v)
	}
	return b.toFirst(v), nil
}

// settings returns those that all convolutions have.
func (w window) settings(s spatial, out int, bias bool) (map[string]any, error) {
	before, after, err := w.pad(s.sizes)
	if err != nil {
		return nil, err
	}
	layer := map[string]any{"out_channels": out, "kernel_size": w.kernel, "stride": w.stride, "padding": before, "bias": bias}
	if s.channels > 0 {
		layer["in_channels"] = s.channels
	}
	if !slices.Equal(before, after) {
		layer["padding_after"] = after
	}
	if slices.Max(w.dilation) > 1 {
		layer["dilation"] = w.dilation
	}
	return layer, nil
}

func convNodes(b *builder, u use, in []value) (value, error) {
	w, s, err := sliding(u.Layer, in[0].shape, "kernel_size", false)
	if err != nil {
		return value{}, err
	}
	filters, err1 := u.Int("filters", 0)
	groups, err2 := u.Int("groups", 1)
	bias, err3 := u.Bool("use_bias", true)
	layer, err4 := w.settings(s, filters, bias)
	v, err5 := b.spatially(s, in[0])
	if err := first(err1, err2, err3, err4, err5); err != nil {
		return v, err
	}
	if groups > 1 {
		layer["groups"] = groups
	}
	v.node = b.add(u, "", map[string]any{fmt.Sprintf("conv%dd", len(w.kernel)): layer}, v.node)
	return v, nil
}

func depthwiseNodes(b *builder, u use, in []value) (value, error) {
	v, _, err := depthwise(b, u, "", in[0], "use_bias")
	return v, err
}

// depthwise adds a convolution with a group for each channel, and returns the number of
// channels of its output.
func depthwise(b *builder, u use, part string, v value, biasSetting string) (value, int, error) {
	w, s, err := sliding(u.Layer, v.shape, "kernel_size", false)
	if err != nil {
		return v, 0, err
	}
	if s.channels < 1 {
		return v, 0, fmt.Errorf("the number of channels is not known: %w", ErrConfig)
	}
	multiplier, err1 := u.Int("depth_multiplier", 1)
	bias, err2 := false, error(nil)
	if biasSetting != "" {
		bias, err2 = u.Bool(biasSetting, true)
	}
	layer, err3 := w.settings(s, s.channels*multiplier, bias)
	v, err4 := b.spatially(s, v)
	if err := first(err1, err2, err3, err4); err != nil {
		return v, 0, err
	}
	layer["groups"] = s.channels
	v.node = b.add(u, part, map[string]any{fmt.Sprintf("conv%dd", len(w.kernel)): layer}, v.node)
	return v, s.channels * multiplier, nil
}

func separableNodes(b *builder, u use, in []value) (value, error) {
	v, channels, err := depthwise(b, u, "depthwise", in[0], "")
	if err != nil {
		return v, err
	}
	filters, err1 := u.Int("filters", 0)
	bias, err2 := u.Bool("use_bias", true)
	axes := axesOf(u.Class)
	v.node = b.add(u, "pointwise", map[string]any{fmt.Sprintf("conv%dd", axes): map[string]any{
		"in_channels": channels, "out_channels": filters, "kernel_size": slices.Repeat([]int{1}, axes), "bias": bias,
	}}, v.node)
	for _, part := range []string{"depthwise", "pointwise"} {
		b.modules[u.path+"/"+part] = b.emitted[u.path+"/"+part]
	}
	return v, first(err1, err2)
}
