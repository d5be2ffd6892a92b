package kerasfile

import (
	"regexp"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/models/keras"
	"github.com/h5dnn/h5dnn/serialize"
)

// slots are Keras 3's names of the buffers that Keras 2 abbreviates.
var slots = map[string]string{
	"m": "momentum", "v": "velocity", "vhat": "velocity_hat", "u": "norm", "iter": "iteration", "iteration": "iteration",
	"variable": "u_product", "momentum_cache": "u_product", // of Nadam in Keras 3 and 2
	"rms": "velocity", "mg": "average_gradient", "accum_grad": "accumulated_grad", "accum_var": "accumulated_delta_var",
}

// slotOf returns Keras 3's name of a buffer of a class of optimizers.
func slotOf(class, name string) string {
	switch {
	case class == "Adamax" && name == "v":
		return "norm"
	case slots[name] != "":
		return slots[name]
	}
	return name
}

var outputNumber = regexp.MustCompile(`:\d+$`)

// slotNames returns the names of the entries of an optimizer's weights, given the entries
// of the layers. Files call a buffer
//
//	Adam/m/dense/kernel:0                  in Keras 2.11 to 2.15
//	training/Adam/dense/kernel/m:0         before, or Adam/dense/kernel/m:0
//	m/dense/kernel:0                       within a LossScaleOptimizer, or cond/Adam/dense/kernel/m:0
//	adam/my_model_dense_kernel_momentum    in Keras 3
func slotNames(entries *serialize.List, weights []string) []string {
	known := map[string]string{} // entries by their names with underscores
	for e := range entries.All() {
		if _, inner := firstPart(e.Name); strings.Contains(inner, "/") { // Keras 2 leaves out models of models
			known[strings.ReplaceAll(inner, "/", "_")] = e.Name
		}
	}
	for e := range entries.All() {
		known[strings.ReplaceAll(e.Name, "/", "_")] = e.Name
	}
	names := make([]string, len(weights))
	taken := map[string]bool{}
	for i, weight := range weights {
		name := slotName(known, outputNumber.ReplaceAllString(weight, ""))
		if taken[name] {
			name = weight
		}
		taken[name] = true
		names[i] = keras.OptimizerPrefix + name
	}
	return names
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

func slotName(known map[string]string, weight string) string {
	weight = strings.TrimPrefix(conditional.ReplaceAllString(weight, ""), "training/")
	class, rest := firstPart(weight)
	if full, ok := entryLike(known, rest); ok && slots[class] != "" { // within a LossScaleOptimizer
		return slots[class] + "/" + full
	}
	if rest == "" {
		class, rest = "", weight
	}
	if name := slots[rest]; name != "" {
		return name
	}
	if !strings.Contains(rest, "/") {
		return flatSlotName(known, rest)
	}
	first, entry := firstPart(rest)
	if full, ok := entryLike(known, entry); ok {
		return slotOf(class, first) + "/" + full
	}
	at := strings.LastIndexByte(rest, '/')
	if full, ok := entryLike(known, rest[:at]); ok {
		return slotOf(class, rest[at+1:]) + "/" + full
	}
	return strings.TrimPrefix(class+"/"+rest, "/")
}

// conditional matches what TensorFlow adds to the names of variables that are made in a branch.
var conditional = regexp.MustCompile(`^cond(_\d+)?/`)

// entryLike finds the entry of a weight that an optimizer calls so.
func entryLike(known map[string]string, name string) (string, bool) {
	path := strings.Join(shorten(strings.Split(name, "/")), "_")
	for _, path := range []string{path, strings.Replace(path, "_depthwise_kernel", "_kernel", 1)} {
		if full, ok := known[path]; ok {
			return full, true
		}
	}
	return "", false
}

// flatSlotName reads the name of a buffer in Keras 3, with the path of the weight in
// underscores. Of layers of cells, whose paths have more parts, only the order tells.
func flatSlotName(known map[string]string, name string) string {
	for cut := len(name); cut > 0; cut = strings.LastIndexByte(name[:cut], '_') {
		path := name[:cut]
		slot := strings.TrimPrefix(name[cut:], "_")
		for at := 0; slot != ""; { // the name of the model may come first
			if full, ok := known[path[at:]]; ok {
				return slot + "/" + full
			}
			next := strings.IndexByte(path[at:], '_')
			if next < 0 {
				break
			}
			at += next + 1
		}
	}
	return name
}
