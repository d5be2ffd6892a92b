package keras

import (
	"fmt"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/models/weights"
)

// Conv1DTranspose, 2D and 3D: kernel (k…, out, in) becomes (in, out, k…), without a flip.
var (
	_ = register(convTranspose(1), "Conv1DTranspose")
	_ = register(convTranspose(2), "Conv2DTranspose")
	_ = register(convTranspose(3), "Conv3DTranspose")
)

func convTranspose(rank int) class {
	return class{
		variables: weighted("kernel"), settings: biased, shapes: transposedShapes, nodes: transposedNodes, activated: true, spatial: true,
		arrays:  shaped(map[string]string{"kernel": strings.Repeat("? ", rank) + "filters features", "bias": "filters"}),
		pytorch: fmt.Sprintf("nn.ConvTranspose%dd", rank),
		links: func(l *Layer) ([]weights.Link, error) {
			return biasedLinks(l, linked("kernel", "weight", kernelToFront(rank)))
		},
		call: func(l *Layer) (string, error) { return convTransposeCall(l, rank) },
		samples: []Layer{
			sample(map[string]any{"filters": 2, "use_bias": true}, w("kernel", append(sampleWindow(rank), 2, 4)...), w("bias", 2)),
			sample(map[string]any{"filters": 2, "use_bias": false}, w("kernel", append(sampleWindow(rank), 2, 4)...)),
		},
	}
}

func convTransposeCall(l *Layer, rank int) (string, error) {
	w, _, err := sliding(l, inputOf(l, rank), "kernel_size", false)
	if err != nil {
		return "", err
	}
	before, after, added, err := w.cut(l)
	if err != nil {
		return "", err
	}
	c := newCall(fmt.Sprintf("nn.ConvTranspose%dd", rank), size(l, "kernel", rank+1), size(l, "kernel", rank))
	if !slices.Equal(before, after) {
		before, err = nil, notInPyTorch("padding %q crops one more element at the end", w.padding)
	}
	for axis, n := range added {
		if n > 0 && n >= max(w.stride[axis], w.dilation[axis]) {
			err = notInPyTorch("%d more elements at the end, for a stride of %d", n, w.stride[axis])
		}
	}
	return w.call(l, c, before, added, 1), err
}

// cut returns what a transposed convolution leaves out of its full result at the beginning
// and at the end of each axis, and adds at the end. It is the gradient of a convolution
// over stride·n elements, which pads as much as its windows need.
func (w window) cut(l *Layer) (before, after, added []int, err error) {
	given, err := l.Ints("output_padding")
	if err != nil {
		return nil, nil, nil, err
	}
	axes := len(w.kernel)
	before, after, added = make([]int, axes), make([]int, axes), make([]int, axes)
	for i := range axes {
		rest := w.reach(i) - w.stride[i]
		switch {
		case given != nil && w.padding == "same" && given[min(i, len(given)-1)] == 0:
			before[i], after[i] = w.reach(i)/2, w.reach(i)/2
		case given != nil && w.padding != "valid":
			return nil, nil, nil, unsupported("output_padding %v with padding %q", given, w.padding)
		case given != nil:
			added[i] = given[min(i, len(given)-1)]
		case rest < 0:
			added[i] = -rest
		case w.padding == "same":
			before[i], after[i] = rest/2, rest-rest/2
		}
	}
	if w.padding == "causal" {
		return nil, nil, nil, unsupported("padding causal")
	}
	return before, after, added, nil
}

func transposedShapes(l *Layer, in [][]int) ([][]int, error) {
	w, s, err := sliding(l, in[0], "kernel_size", false)
	if err != nil {
		return nil, err
	}
	filters, err := l.Int("filters", 0)
	if err != nil {
		return nil, err
	}
	given, err := l.Ints("output_padding")
	if err != nil {
		return nil, err
	}
	sizes := slices.Clone(s.sizes)
	if len(given) > 0 && w.padding == "same" { // which pads half a window on each side
		for i, n := range sizes {
			if n > 0 {
				sizes[i] = (n-1)*w.stride[i] + w.reach(i)%2 + given[min(i, len(given)-1)]
			}
		}
		return [][]int{s.with(sizes, filters)}, nil
	}
	before, after, added, err := w.cut(l)
	if err != nil {
		return nil, err
	}
	for i, n := range sizes {
		if n > 0 {
			sizes[i] = (n-1)*w.stride[i] + w.reach(i) - before[i] - after[i] + added[i]
		}
	}
	return [][]int{s.with(sizes, filters)}, nil
}

func transposedNodes(b *builder, u use, in []value) (value, error) {
	w, s, err := sliding(u.Layer, in[0].shape, "kernel_size", false)
	if err != nil {
		return value{}, err
	}
	before, after, added, err := w.cut(u.Layer)
	if err != nil {
		return value{}, err
	}
	filters, err1 := u.Int("filters", 0)
	bias, err2 := u.Bool("use_bias", true)
	groups, err3 := u.Int("groups", 1)
	if groups > 1 {
		return value{}, unsupported("a transposed convolution of %d groups", groups)
	}
	layer := map[string]any{"out_channels": filters, "kernel_size": w.kernel, "stride": w.stride, "padding": before, "bias": bias}
	if s.channels > 0 {
		layer["in_channels"] = s.channels
	}
	if !slices.Equal(before, after) {
		layer["padding_after"] = after
	}
	if slices.Max(added) > 0 {
		layer["output_padding"] = added
	}
	if slices.Max(w.dilation) > 1 {
		layer["dilation"] = w.dilation
	}
	v, err4 := b.spatially(s, in[0])
	v.node = b.add(u, "", map[string]any{fmt.Sprintf("conv_transpose%dd", len(w.kernel)): layer}, v.node)
	return v, first(err1, err2, err3, err4)
}
