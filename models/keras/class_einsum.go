package keras

import (
	"maps"
	"strings"

	"github.com/h5dnn/h5dnn/models/weights"
)

// EinsumDense is a Dense where its equation multiplies the last axis of the input by a
// matrix, as in "...x,xy->...y" and "abc,cd->abd".
var _ = register(class{
	variables: einsumVariables, settings: []map[string]any{{}, {"bias_axes": "a"}}, shapes: einsumShapes, nodes: einsumNodes, activated: true, order: denseOrder,
	pytorch: "nn.Linear", features: []string{"kernel"},
	links: func(l *Layer) ([]weights.Link, error) {
		if err := checkEinsum(l); err != nil {
			return nil, err
		}
		links := []weights.Link{linked("kernel", "weight", weights.TransposeOp(1, 0))}
		if l.Config["bias_axes"] == nil {
			return links, nil
		}
		return append(links, linked("bias", "bias", weights.Same{})), nil
	},
	call: func(l *Layer) (string, error) { return linear(l), nil },
	samples: []Layer{
		sample(map[string]any{"equation": "abc,cd->abd", "bias_axes": "d"}, w("kernel", 3, 5), w("bias", 5)),
		sample(map[string]any{"equation": "...x,xy->...y", "bias_axes": nil}, w("kernel", 3, 5)),
	},
}, "EinsumDense")

// checkEinsum fails if an EinsumDense is not a Dense: by its equation, or by a bias of other axes than
// the last.
func checkEinsum(l *Layer) error {
	equation, err1 := l.Text("equation", "")
	axes, err2 := l.Text("bias_axes", "")
	switch err := first(err1, err2); {
	case err != nil:
		return err
	case !isMatrixProduct(equation):
		return notInPyTorch("the equation %q is not a product of the last axis with a matrix", equation)
	case l.Config["bias_axes"] != nil && axes != equation[len(equation)-1:]:
		return notInPyTorch("a bias of the axes %q of %q; a dense layer has one of the last axis", axes, equation)
	}
	return nil
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

// einsumVariables has a bias if there are axes for it.
func einsumVariables(l *Layer) ([]Variable, error) {
	if l.Config["bias_axes"] == nil {
		return positions("kernel"), nil
	}
	return positions("kernel", "bias"), nil
}

// einsumShapes returns the sizes of output_shape. Those that it leaves out are those of the input
// with the same subscript in the equation.
func einsumShapes(l *Layer, in [][]int) ([][]int, error) {
	equation, err := l.Text("equation", "")
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
	if err != nil || !ok1 || !ok2 || len(to) != len(sizes)+1 || len(from) != len(in[0])+1 || strings.Contains(from+to, ".") {
		return nil, first(err, unsupported("equation %q for an input of shape %v", equation, in[0]))
	}
	shape := make([]int, len(sizes))
	for i, size := range sizes {
		at := strings.IndexByte(from, to[i+1]) - 1 // without the batch
		switch n, given := size.(float64); {
		case given && (n < 1 || n != float64(int(n))):
			return nil, unsupported("output_shape %v", sizes)
		case given:
			shape[i] = int(n)
		case at < 0:
			return nil, unsupported("output_shape %v", sizes)
		default:
			shape[i] = in[0][at]
		}
	}
	return [][]int{shape}, nil
}

// einsumNodes adds the Dense that computes the same, if there is one.
func einsumNodes(b *builder, u use, in []value) (value, error) {
	err1 := checkEinsum(u.Layer)
	shapes, err2 := einsumShapes(u.Layer, [][]int{in[0].shape})
	if err := first(err1, err2); err != nil {
		return value{}, err
	}
	dense := *u.Layer
	dense.Config = maps.Clone(dense.Config)
	dense.Config["units"], dense.Config["use_bias"] = shapes[0][len(shapes[0])-1], dense.Config["bias_axes"] != nil
	return denseNodes(b, use{&dense, u.path}, in)
}
