package keras

import (
	"strings"

	"github.com/h5dnn/h5dnn/models/weights"
)

// EinsumDense is a Dense where its equation multiplies the last axis of the input by a
// matrix, as in "...x,xy->...y" and "abc,cd->abd".
var _ = registerRule(Rule{
	Class: "EinsumDense", Counterpart: "nn.Linear", Layer: "",
	Links: func(l *Layer) ([]weights.Link, error) {
		if err := CheckEinsum(l); err != nil {
			return nil, err
		}
		links := []weights.Link{linked("kernel", "weight", weights.TransposeOp(1, 0))}
		if l.Config["bias_axes"] == nil {
			return links, nil
		}
		return append(links, linked("bias", "bias", weights.Same{})), nil
	},
	Module: func(l *Layer) (string, error) { return linear(l), nil },
	Samples: []Layer{
		sample("EinsumDense", map[string]any{"equation": "abc,cd->abd", "bias_axes": "d"}, w("kernel", 3, 5), w("bias", 5)),
		sample("EinsumDense", map[string]any{"equation": "...x,xy->...y", "bias_axes": nil}, w("kernel", 3, 5)),
	},
})

// CheckEinsum fails if an EinsumDense is not a Dense: by its equation, or by a bias of other axes than
// the last.
func CheckEinsum(l *Layer) error {
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

// isMatrixProduct reports whether an equation is that of a Dense.
func isMatrixProduct(equation string) bool {
	inputs, output, ok := strings.Cut(strings.ReplaceAll(equation, " ", ""), "->")
	x, kernel, both := strings.Cut(inputs, ",")
	if !ok || !both || len(kernel) != 2 || kernel[0] == kernel[1] || x == "" {
		return false
	}
	rest, found := strings.CutSuffix(x, kernel[:1])
	return found && !strings.Contains(rest, kernel[:1]) && !strings.Contains(rest, kernel[1:]) && output == rest+kernel[1:]
}
