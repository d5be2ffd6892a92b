package keras

import (
	"maps"
	"strings"

	"github.com/h5dnn/h5dnn/models/weights"
)

// EinsumDense is a Dense where its equation multiplies the last axis of the input by a
// matrix, as in "...x,xy->...y" and "abc,cd->abd".
var _ = register(class{
	shapes: einsumShapes, activated: true, order: denseOrder,
	variables: func(l *settings) []Variable { return weighted("kernel")(asDense(l)) },
	module:    func(l *settings, in [][]int) *module { return denseModule(asDense(l), in) },
	nodes: func(b *builder, l *settings, in []value) value {
		checkEinsum(l)
		dense := asDense(l)
		if shapes := einsumShapes(l, [][]int{in[0].shape}); shapes != nil {
			dense.Config["units"] = featuresOf(shapes[0])
		}
		return denseNodes(b, dense, in)
	},
	features: []string{"kernel"},
	links: func(l *settings) []weights.Link {
		checkEinsum(l)
		return biasedLinks(asDense(l), "bias", linked("kernel", "weight", weights.TransposeOp(1, 0)))
	},
	samples: []Layer{
		sample(map[string]any{"equation": "abc,cd->abd", "bias_axes": "d"}, w("kernel", 3, 5), w("bias", 5)),
		sample(map[string]any{"equation": "...x,xy->...y", "bias_axes": nil}, w("kernel", 3, 5)),
	},
}, "EinsumDense")

// asDense returns the settings of the Dense that an EinsumDense is, without its units.
func asDense(l *settings) *settings {
	dense := *l.Layer
	dense.Config = maps.Clone(dense.Config)
	if dense.Config == nil {
		dense.Config = map[string]any{}
	}
	dense.Config["use_bias"] = l.Config["bias_axes"] != nil
	return l.of(&dense)
}

// checkEinsum fails if an EinsumDense is not a Dense: by its equation, or by a bias of other axes than
// the last.
func checkEinsum(l *settings) {
	equation, axes := l.Text("equation", ""), l.Text("bias_axes", "")
	switch {
	case !isMatrixProduct(equation):
		l.fail(notInPyTorch("the equation %q is not a product of the last axis with a matrix", equation))
	case l.Config["bias_axes"] != nil && axes != equation[len(equation)-1:]:
		l.fail(notInPyTorch("a bias of the axes %q of %q; a dense layer has one of the last axis", axes, equation))
	}
}

// isMatrixProduct reports whether an equation is the matrix product of a Dense layer.
func isMatrixProduct(equation string) bool {
	inputs, output, ok := strings.Cut(strings.ReplaceAll(equation, " ", ""), "->")
	x, kernel, both := strings.Cut(inputs, ",")
	if !ok || !both || len(kernel) != 2 || kernel[0] == kernel[1] || x == "" {
		return false
	}
	rest, found := strings.CutSuffix(x, kernel[:1])
	return found && !strings.Contains(rest, kernel[:1]) && !strings.Contains(rest, kernel[1:]) && output == rest+kernel[1:]
}

// einsumShapes returns the sizes of output_shape. Those that it leaves out are those of the input
// with the same subscript in the equation.
func einsumShapes(l *settings, in [][]int) [][]int {
	equation := l.Text("equation", "")
	from, rest, ok1 := strings.Cut(equation, ",")
	_, to, ok2 := strings.Cut(rest, "->")
	sizes, isList := l.Config["output_shape"].([]any)
	if !isList {
		sizes = []any{l.Config["output_shape"]}
	}
	const dots, subscripts = "...", "0123456789" // of the axes that the dots stand for
	if n := len(in[0]) + 1 - len(strings.TrimPrefix(from, dots)); strings.HasPrefix(from, dots) && strings.HasPrefix(to, dots) && n > 0 && n <= len(subscripts) {
		from, to = subscripts[:n]+from[len(dots):], subscripts[:n]+to[len(dots):]
		sizes = append(make([]any, n-1), sizes...)
	}
	if !ok1 || !ok2 || len(to) != len(sizes)+1 || len(from) != len(in[0])+1 || strings.Contains(from+to, ".") {
		l.refuse("equation %q for an input of shape %v", equation, in[0])
		return nil
	}
	shape := make([]int, len(sizes))
	for i, size := range sizes {
		at := strings.IndexByte(from, to[i+1]) - 1 // without the batch
		switch n, given := integer(size); {
		case given && n > 0:
			shape[i] = n
		case size == nil && at >= 0:
			shape[i] = in[0][at]
		default:
			l.refuse("output_shape %v", sizes)
		}
	}
	return [][]int{shape}
}
