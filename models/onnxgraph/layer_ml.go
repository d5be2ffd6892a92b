package onnxgraph

import (
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/tensor"
)

var (
	_ = toLayer("Scaler", func(l *lowering, n *node) *layer {
		shape := l.shapes[n.in[0]]
		beside := func(name string) int {
			list := n.attributes[name].Floats
			return l.constantBeside(tensor.FromSlice(list, 1, len(list)), n.in[0], 2)
		}
		offset, scale := beside("offset"), beside("scale")
		if len(shape) != 2 || offset < 0 || scale < 0 {
			return nil
		}
		shifted := l.then(n.name, "function", map[string]any{"name": "sub"}, shape, l.types[n.in[0]], n.in[0], offset)
		return &layer{name: "function", settings: map[string]any{"name": "mul"}, from: []int{shifted, scale}}
	})
	_ = toLayer("Normalizer", func(l *lowering, n *node) *layer {
		shape := l.shapes[n.in[0]]
		settings := map[string]any{"dim": []int{len(shape) - 1}, "keepdim": true}
		name := map[string]string{"MAX": "amax", "L1": "norm", "L2": "norm"}[n.text("norm", "MAX")]
		if name == "" || len(shape) != 2 {
			return nil
		}
		if name == "norm" {
			settings["p"] = map[string]int{"L1": 1, "L2": 2}[n.text("norm", "MAX")]
		}
		size := l.then(n.name, "function", map[string]any{"name": name, "settings": settings}, []int{shape[0], 1}, l.types[n.in[0]], n.in[0])
		return &layer{name: "function", settings: map[string]any{"name": "div"}, from: []int{n.in[0], size}}
	})
	_ = toLayer("Imputer", func(l *lowering, n *node) *layer {
		x, list, missing := n.in[0], n.attributes["imputed_value_floats"].Floats, n.number("replaced_value_float", 0)
		shape := l.shapes[x]
		if len(shape) != 2 || len(list) == 0 || missing == missing {
			return nil
		}
		where := l.then(n.name, "function", map[string]any{"name": "isnan"}, shape, dtype.Bool, x)
		return &layer{name: "function", settings: map[string]any{"name": "where"}, from: []int{where, l.constantBeside(tensor.FromSlice(list, 1, len(list)), x, 2), x}}
	})
	_ = toLayer("ArrayFeatureExtractor", func(l *lowering, n *node) *layer {
		at, ok := l.numbers(n, 1)
		if !ok || len(at) != 1 || len(l.shapes[n.in[0]]) != 2 {
			return nil
		}
		return on(n, "slice", map[string]any{"start": int(at[0]), "stop": int(at[0]) + 1, "axis": 1})
	})
	_ = toLayer("LinearRegressor", func(l *lowering, n *node) *layer {
		return l.linearOf(n, n.integer("targets", 1), n.text("post_transform", "NONE"))
	})
	_ = toLayer("LinearClassifier", func(l *lowering, n *node) *layer {
		labels := max(len(n.attributes["classlabels_ints"].Ints), len(n.attributes["classlabels_strings"].Strings))
		made := l.linearOf(n, labels, n.text("post_transform", "NONE"))
		if made != nil {
			made.index = 1
		}
		return made
	})
)

// linearOf is a linear layer of the coefficients that are attributes, and an activation. Where two classes have one row, the first has
// one less the score of the second, or of a sigmoid the score with the other sign.
func (l *lowering) linearOf(n *node, outputs int, activation string) *layer {
	w, b, shape := n.attributes["coefficients"].Floats, n.attributes["intercepts"].Floats, l.sample(n.in[0])
	name, ok := map[string]string{"NONE": "", "LOGISTIC": "sigmoid", "SOFTMAX": "softmax"}[activation]
	if !ok || len(shape) != 1 || outputs < 1 || len(b) > 0 && len(b)*shape[0] != len(w) {
		return nil
	}
	if outputs == 2 && len(w) == shape[0] {
		if name == "softmax" || len(b) != 1 {
			return nil
		}
		first := -b[0]
		if name == "" {
			first++
		}
		b = []float32{first, b[0]}
		w = slices.Concat(w, w)
		for i := range shape[0] {
			w[i] = -w[i]
		}
	}
	if len(w) != outputs*shape[0] {
		return nil
	}
	made := on(n, "linear", map[string]any{"in_features": shape[0], "out_features": outputs, "bias": len(b) > 0})
	made.weights = map[string]*tensor.Tensor{"weight": tensor.FromSlice(w, outputs, shape[0])}
	if len(b) > 0 {
		made.weights["bias"] = tensor.FromSlice(b, outputs)
	}
	if name == "" {
		return made
	}
	scores := l.thenLayer(n.name, made, []int{l.batch, outputs}, dtype.Float32)
	return &layer{name: name, from: []int{scores}}
}
