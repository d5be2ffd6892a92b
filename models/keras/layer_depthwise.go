package keras

import (
	"fmt"

	"github.com/h5dnn/h5dnn/models/weights"
)

// DepthwiseConv1D and 2D: kernel (k…, in, multiplier) becomes (in·multiplier, 1, k…) of a
// convolution with a group for each input channel.
var (
	_ = registerRule(depthwiseRule("DepthwiseConv1D", 1))
	_ = registerRule(depthwiseRule("DepthwiseConv2D", 2))
)

func depthwiseRule(class string, rank int) Rule {
	return Rule{
		Class: class, Counterpart: fmt.Sprintf("nn.Conv%dd with groups", rank), Layer: fmt.Sprintf("conv%dd", rank),
		Links: func(l *Layer) ([]weights.Link, error) {
			op, err := depthwiseOp(l, "kernel", rank)
			if err != nil {
				return nil, err
			}
			return biasedLinks(l, linked("kernel", "weight", op))
		},
		Module: func(l *Layer) (string, error) {
			k, ok := l.Weight("kernel")
			if !ok || k.Array.Rank() != rank+2 {
				return fmt.Sprintf("nn.Conv%dd(?, ?)", rank), nil
			}
			in := k.Array.Shape[rank]
			return convCall(l, rank, newCall(fmt.Sprintf("nn.Conv%dd", rank), in, in*k.Array.Shape[rank+1]), in)
		},
		Samples: []Layer{
			sample(class, map[string]any{"depth_multiplier": 2, "use_bias": true}, w("kernel", append(sampleWindow(rank), 3, 2)...), w("bias", 6)),
			sample(class, map[string]any{"depth_multiplier": 1, "use_bias": false}, w("kernel", append(sampleWindow(rank), 3, 1)...)),
		},
	}
}

// depthwiseOp returns the Op of a depthwise kernel (k…, in, multiplier).
func depthwiseOp(l *Layer, weight string, rank int) (weights.Op, error) {
	multiplier, err := l.Int("depth_multiplier", 0)
	if err != nil {
		return nil, err
	}
	kernel, err := l.Ints("kernel_size")
	if err != nil {
		return nil, err
	}
	if k, ok := l.Weight(weight); ok && k.Array.Rank() == rank+2 {
		multiplier, kernel = k.Array.Shape[rank+1], k.Array.Shape[:rank]
	}
	if multiplier == 0 {
		multiplier = 1
	}
	if len(kernel) == 1 && rank > 1 {
		kernel = append([]int{kernel[0]}, kernel[0])
	}
	if len(kernel) != rank {
		return nil, l.unexpected("kernel_size", fmt.Sprintf("%d integers", rank))
	}
	order, split := []int{rank, rank + 1}, append([]int{-1, multiplier}, kernel...)
	for axis := range rank {
		order = append(order, axis)
	}
	return weights.Chain(weights.TransposeOp(order...), weights.ReshapeOp(split, append([]int{-1, 1}, kernel...))), nil
}
