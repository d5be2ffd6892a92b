package kerasfile

import (
	"regexp"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/models/keras"
)

// slots are Keras 3's names of the buffers that Keras 2 abbreviates.
var slots = map[string]string{
	"m": "momentum", "v": "velocity", "vhat": "velocity_hat", "u": "norm", "iter": "iteration", "iteration": "iteration",
	"variable": "u_product", "momentum_cache": "u_product", // of Nadam in Keras 3 and 2
	"rms": "velocity", "mg": "average_gradient", "accum_grad": "accumulated_grad", "accum_var": "accumulated_delta_var",
}

var outputNumber = regexp.MustCompile(`:\d+$`)

// isBuffer reports whether files call a buffer of a weight so. They have
//
//	Adam/m/dense/kernel:0                  in Keras 2.11 to 2.15
//	training/Adam/dense/kernel/m:0         before, or Adam/dense/kernel/m:0
//	m/dense/kernel:0                       within a LossScaleOptimizer, or cond/Adam/dense/kernel/m:0
//	adam/my_model_dense_kernel_momentum    in Keras 3
func isBuffer(buffer, name string) bool {
	name = outputNumber.ReplaceAllString(name, "")
	return strings.HasSuffix(name, "_"+buffer) || slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool {
		return part == buffer || slots[part] == buffer || buffer == "norm" && part == "v" // of Adamax
	})
}

// byBuffer returns the order of an optimizer's entries in which those of one buffer, such
// as momentum, follow each other. Files have the buffers of each weight together.
func byBuffer(names []string) []int {
	first := map[string]int{}
	order := make([]int, len(names))
	group := make([]int, len(names))
	for i, name := range names {
		buffer, weight := firstPart(strings.TrimPrefix(name, keras.OptimizerPrefix))
		if weight == "" {
			buffer = "" // of no weight
		}
		if _, ok := first[buffer]; !ok {
			first[buffer] = i
		}
		order[i], group[i] = i, first[buffer]
	}
	slices.SortStableFunc(order, func(a, b int) int { return group[a] - group[b] })
	return order
}
