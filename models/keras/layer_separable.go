package keras

import (
	"fmt"

	"github.com/h5dnn/h5dnn/models/weights"
)

// SeparableConv1D and 2D: a depthwise convolution and one of windows of one element, which
// has the bias.
var (
	_ = registerRule(separable("SeparableConv1D", 1))
	_ = registerRule(separable("SeparableConv2D", 2))
)

func separable(class string, rank int) Rule {
	return Rule{
		Class: class, Counterpart: fmt.Sprintf("two nn.Conv%dd, depthwise and pointwise", rank), Layer: fmt.Sprintf("two conv%dd", rank),
		Links: func(l *Layer) ([]weights.Link, error) {
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
		Module: func(l *Layer) (string, error) {
			k, ok := l.Weight("depthwise_kernel")
			if !ok || k.Array.Rank() != rank+2 {
				return fmt.Sprintf(separableCall, fmt.Sprintf("nn.Conv%dd(?, ?)", rank), fmt.Sprintf("nn.Conv%dd(?, ?)", rank)), nil
			}
			in, channels := k.Array.Shape[rank], k.Array.Shape[rank]*k.Array.Shape[rank+1]
			first := *l // without a bias
			first.Config = map[string]any{"use_bias": false}
			for name, value := range l.Config {
				if name != "use_bias" {
					first.Config[name] = value
				}
			}
			depthwise, err := convCall(&first, rank, newCall(fmt.Sprintf("nn.Conv%dd", rank), in, channels), in)
			pointwise := newCall(fmt.Sprintf("nn.Conv%dd", rank), channels, size(l, "pointwise_kernel", rank+1)).set("kernel_size", 1)
			if bias, _ := l.Bool("use_bias", hasWeight(l, "bias")); !bias {
				pointwise.set("bias", false)
			}
			return fmt.Sprintf(separableCall, depthwise, pointwise), err
		},
		Samples: []Layer{
			sample(class, map[string]any{"depth_multiplier": 2, "use_bias": true},
				w("depthwise_kernel", append(sampleWindow(rank), 3, 2)...), w("pointwise_kernel", append(ones(rank), 6, 4)...), w("bias", 4)),
			sample(class, map[string]any{"use_bias": false},
				w("depthwise_kernel", append(sampleWindow(rank), 3, 1)...), w("pointwise_kernel", append(ones(rank), 3, 4)...)),
		},
	}
}

// separableCall makes a module of two with the names that the arrays have.
const separableCall = "nn.Sequential(OrderedDict(depthwise=%s, pointwise=%s))"

func ones(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = 1
	}
	return list
}
