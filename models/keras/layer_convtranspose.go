package keras

import (
	"fmt"
	"slices"

	"github.com/h5dnn/h5dnn/models/weights"
)

// Conv1DTranspose, 2D and 3D: kernel (k…, out, in) becomes (in, out, k…), without a flip.
var (
	_ = registerRule(convTranspose("Conv1DTranspose", 1))
	_ = registerRule(convTranspose("Conv2DTranspose", 2))
	_ = registerRule(convTranspose("Conv3DTranspose", 3))
)

func convTranspose(class string, rank int) Rule {
	return Rule{
		Class: class, Counterpart: fmt.Sprintf("nn.ConvTranspose%dd", rank), Layer: fmt.Sprintf("conv_transpose%dd", rank),
		Links: func(l *Layer) ([]weights.Link, error) {
			return biasedLinks(l, linked("kernel", "weight", kernelToFront(rank)))
		},
		Module: func(l *Layer) (string, error) { return convTransposeCall(l, rank) },
		Samples: []Layer{
			sample(class, map[string]any{"filters": 2, "use_bias": true}, w("kernel", append(sampleWindow(rank), 2, 4)...), w("bias", 2)),
			sample(class, map[string]any{"filters": 2, "use_bias": false}, w("kernel", append(sampleWindow(rank), 2, 4)...)),
		},
	}
}

func convTransposeCall(l *Layer, rank int) (string, error) {
	kernel, err1 := perAxis(l, "kernel_size", rank)
	strides, err2 := perAxis(l, "strides", rank)
	dilation, err3 := perAxis(l, "dilation_rate", rank)
	padding, err4 := l.Text("padding", "valid")
	for _, err := range []error{err1, err2, err3, err4} {
		if err != nil {
			return "", err
		}
	}
	c := newCall(fmt.Sprintf("nn.ConvTranspose%dd", rank), size(l, "kernel", rank+1), size(l, "kernel", rank)).set("kernel_size", kernel)
	if slices.Max(strides) > 1 {
		c.set("stride", strides)
	}
	given, err := outputPadding(l, rank)
	if err != nil {
		return "", err
	}
	var refused error
	pads, extra := make([]int, rank), make([]int, rank)
	for axis := range rank {
		crop := dilation[axis]*(kernel[axis]-1) + 1 - strides[axis]
		switch {
		case given != nil && padding == "valid":
			extra[axis] = given[axis]
		case given != nil && padding == "same" && given[axis] == 0:
			pads[axis] = (crop + strides[axis]) / 2
		case given != nil:
			refused = notInPyTorch("output_padding %v with padding %q", given, padding)
		case padding == "valid": // Keras fills up to the stride where it is larger than the kernel
			extra[axis] = max(0, -crop)
		case padding == "same" && crop >= 0 && crop%2 == 0:
			pads[axis] = crop / 2
		case padding == "same" && crop < 0:
			extra[axis] = -crop
		default:
			refused = notInPyTorch("padding %q crops one more element at the end", padding)
		}
	}
	if slices.Max(pads) > 0 {
		c.set("padding", pads)
	}
	if slices.Max(extra) > 0 {
		c.set("output_padding", extra)
	}
	for axis, n := range extra {
		if n > 0 && n >= max(strides[axis], dilation[axis]) {
			refused = notInPyTorch("%d more elements at the end, for a stride of %d", n, strides[axis])
		}
	}
	if slices.Max(dilation) > 1 {
		c.set("dilation", dilation)
	}
	if bias, _ := l.Bool("use_bias", hasWeight(l, "bias")); !bias {
		c.set("bias", false)
	}
	return c.String(), refused
}

// outputPadding returns the setting output_padding, or nil without.
func outputPadding(l *Layer, rank int) ([]int, error) {
	if l.Config["output_padding"] == nil {
		return nil, nil
	}
	return perAxis(l, "output_padding", rank)
}
