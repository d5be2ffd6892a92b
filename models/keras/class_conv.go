package keras

import (
	"fmt"
	"slices"
)

var (
	_ = register(class{variables: weighted("kernel"), settings: biased, shapes: convShapes, nodes: convNodes}, "Conv1D", "Conv2D", "Conv3D")
	_ = register(class{variables: weighted("kernel"), settings: biased, shapes: depthwiseShapes, nodes: depthwiseNodes}, "DepthwiseConv1D", "DepthwiseConv2D")
	_ = register(class{variables: weighted("depthwise_kernel", "pointwise_kernel"), settings: biased, shapes: convShapes, nodes: separableNodes}, "SeparableConv1D", "SeparableConv2D")
)

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
