package keras

import (
	"fmt"
	"slices"

	"github.com/h5dnn/h5dnn/models/weights"
)

// Conv1D, 2D and 3D: kernel (k…, in/groups, out) becomes (out, in/groups, k…).
var (
	_ = registerRule(conv("Conv1D", 1))
	_ = registerRule(conv("Conv2D", 2))
	_ = registerRule(conv("Conv3D", 3))
)

func conv(class string, rank int) Rule {
	return Rule{
		Class: class, Counterpart: fmt.Sprintf("nn.Conv%dd", rank), Layer: fmt.Sprintf("conv%dd", rank),
		Links: func(l *Layer) ([]weights.Link, error) {
			return biasedLinks(l, linked("kernel", "weight", kernelToFront(rank)))
		},
		Module: func(l *Layer) (string, error) {
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
		Samples: []Layer{
			sample(class, map[string]any{"filters": 4, "use_bias": true}, w("kernel", append(sampleWindow(rank), 2, 4)...), w("bias", 4)),
			sample(class, map[string]any{"filters": 4, "groups": 2, "use_bias": false}, w("kernel", append(sampleWindow(rank), 2, 4)...)),
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

// convCall adds the settings of a convolution to the call of its constructor.
func convCall(l *Layer, rank int, c *call, groups int) (string, error) {
	kernel, err1 := perAxis(l, "kernel_size", rank)
	strides, err2 := perAxis(l, "strides", rank)
	dilation, err3 := perAxis(l, "dilation_rate", rank)
	padding, err4 := l.Text("padding", "valid")
	for _, err := range []error{err1, err2, err3, err4} {
		if err != nil {
			return "", err
		}
	}
	c.set("kernel_size", kernel)
	if slices.Max(strides) > 1 {
		c.set("stride", strides)
	}
	pads, refused := samePadding(l, padding, kernel, strides, dilation)
	switch {
	case refused != nil || pads == nil:
	case slices.Max(strides) == 1:
		c.set("padding", "same")
	case slices.Max(pads) > 0:
		c.set("padding", pads)
	}
	if slices.Max(dilation) > 1 {
		c.set("dilation", dilation)
	}
	if groups != 1 {
		c.set("groups", groups)
	}
	if bias, _ := l.Bool("use_bias", hasWeight(l, "bias")); !bias {
		c.set("bias", false)
	}
	return c.String(), refused
}

// perAxis returns a setting with a number for each axis, 1 if it is missing.
func perAxis(l *Layer, name string, rank int) ([]int, error) {
	list, err := l.Ints(name)
	switch {
	case err != nil:
		return nil, err
	case len(list) == 0:
		return slices.Repeat([]int{1}, rank), nil
	case len(list) == 1:
		return slices.Repeat(list, rank), nil
	case len(list) != rank:
		return nil, l.unexpected(name, fmt.Sprintf("%d integers", rank))
	}
	return list, nil
}

// samePadding returns the padding at both ends of each axis that Keras's padding amounts
// to, or nil if it pads nothing. Keras pads for outputs of ⌈input / stride⌉, with one more at
// the end if the sum is odd, which PyTorch's integer padding cannot express.
func samePadding(l *Layer, padding string, kernel, strides, dilation []int) ([]int, error) {
	switch padding {
	case "valid":
		return nil, nil
	case "same":
	default:
		return nil, notInPyTorch("padding %q; pad the input by F.pad", padding)
	}
	pads := make([]int, len(kernel))
	for axis := range pads {
		reach := dilation[axis]*(kernel[axis]-1) + 1
		if strides[axis] == 1 {
			pads[axis] = (reach - 1) / 2
			continue
		}
		n := inputSize(l, axis, len(kernel))
		if n < 1 {
			return nil, notInPyTorch("padding \"same\" with strides %v for inputs of unknown size; pad the input by F.pad", strides)
		}
		total := max(0, ((n+strides[axis]-1)/strides[axis]-1)*strides[axis]+reach-n)
		if total%2 != 0 {
			return nil, notInPyTorch("padding \"same\" with strides %v pads one more element at the end; pad the input by F.pad", strides)
		}
		pads[axis] = total / 2
	}
	if mixed := slices.Max(strides) == 1; mixed {
		return pads, nil
	}
	for axis := range pads { // torch's padding="same" allows no strides, integers no odd sums
		reach := dilation[axis]*(kernel[axis]-1) + 1
		if strides[axis] == 1 && reach%2 == 0 {
			return nil, notInPyTorch("padding \"same\" with strides %v pads one more element at the end; pad the input by F.pad", strides)
		}
	}
	return pads, nil
}

// inputSize returns the size of a spatial axis of the input of l, or -1.
func inputSize(l *Layer, axis, rank int) int {
	if len(l.InputShapes) == 0 || len(l.InputShapes[0]) != rank+1 {
		return -1
	}
	if first, _ := l.Text("data_format", "channels_last"); first == "channels_first" {
		axis++
	}
	return l.InputShapes[0][axis]
}
