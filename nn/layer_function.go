package nn

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/spell"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/tensor/byname"
	"github.com/h5dnn/h5dnn/views"
)

// FunctionOptions are the settings of a Function.
type FunctionOptions struct {
	Name     string         `json:"name"`               // of an operation, as PyTorch calls it, such as sqrt, div, mean or matmul; required
	Settings map[string]any `json:"settings,omitempty"` // of the operation, with PyTorch's names; axis 0 has the samples
}

// Function computes an operation of package tensor on its inputs, which have the place of PyTorch's operands: {name: mean, settings: {dim: 1}}.
// Each sample is computed by itself. Inputs are broadcast along axes of one element, and have the same number of axes.
type Function struct {
	FunctionOptions
	text []byte // Settings in JSON
}

// functions are the operations that a Function may have, which compute each element of the result from elements at its place.
const functions = ` abs square sqrt rsqrt reciprocal neg exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf erfc
	sign floor ceil round trunc sigmoid relu gelu add sub mul div pow maximum minimum floor_divide remainder fmod atan2 hypot clamp
	eq ne lt le gt ge isnan isinf isfinite logical_and logical_or logical_xor logical_not where `

// functionAxes are the settings that name the axes of other operations, which must be given and may not be axis 0, the samples; "" for an
// operation without.
var functionAxes = map[string]string{
	"sum": "dim", "mean": "dim", "prod": "dim", "amax": "dim", "amin": "dim", "argmax": "dim", "argmin": "dim", "logsumexp": "dim", "var": "dim", "std": "dim",
	"norm": "dim", "softmax": "dim", "log_softmax": "dim", "cumsum": "dim", "cumprod": "dim", "any": "dim", "all": "dim", "repeat_interleave": "dim", "stack": "dim", "flip": "dims",
	"matmul": "", "einsum": "", "pad": "",
}

// NewFunction returns a Function. Name is required.
func NewFunction(o FunctionOptions) *Function {
	axes, alongAxes := functionAxes[o.Name]
	if !alongAxes && !slices.Contains(strings.Fields(functions), o.Name) {
		known := strings.Fields(functions)
		for name := range functionAxes {
			known = append(known, name)
		}
		slices.Sort(known)
		tensor.Fail("function", ErrConfig, "name %q%s; want one of %s", o.Name, spell.Hint(o.Name, known), strings.Join(known, ", "))
	}
	text, err := json.Marshal(o.Settings)
	if err != nil {
		tensor.Fail("function", ErrConfig, "settings of %s: %v", o.Name, err)
	}
	if err := byname.Check(o.Name, text); err != nil {
		tensor.Fail("function", err, "%v", err)
	}
	if given := o.Settings[axes]; axes != "" && (given == nil || slices.Contains(strings.FieldsFunc(fmt.Sprint(given), func(r rune) bool { return r == '[' || r == ']' || r == ' ' }), "0")) {
		tensor.Fail("function", ErrConfig, "%s with %s %v; want axes without 0, the samples", o.Name, axes, given)
	}
	if equation, _ := o.Settings["equation"].(string); o.Name == "einsum" && !keepsSamples(equation) {
		tensor.Fail("function", ErrConfig, "equation %q; want one whose terms and result begin with one letter, for the samples", equation)
	}
	return &Function{o, text}
}

// keepsSamples reports whether all terms of an equation of einsum begin with a letter that none has again.
func keepsSamples(equation string) bool {
	terms := strings.FieldsFunc(strings.ReplaceAll(equation, " ", ""), func(r rune) bool { return r == ',' || r == '-' || r == '>' })
	return len(terms) > 1 && strings.Contains(equation, "->") && !slices.ContainsFunc(terms, func(term string) bool {
		return term[0] == '.' || term[:1] != terms[0][:1] || strings.Count(term, term[:1]) != 1
	})
}

// Forward returns the operation of x.
func (f *Function) Forward(x *tensor.Tensor) *tensor.Tensor { return ForwardOne(f, x) }

// ForwardAll returns the operation of inputs.
func (f *Function) ForwardAll(inputs []*tensor.Tensor) []*tensor.Tensor {
	checkInputs("function", inputs)
	for _, x := range inputs {
		if first := inputs[0]; x.Rank() == 0 || x.Shape()[0] != first.Shape()[0] || x.Rank() != first.Rank() && f.Name != "einsum" || x.Rank() < 3 && f.Name == "matmul" {
			tensor.Fail("function", views.ErrShape, "%s of %v and %v; want as many samples and axes, and matrices for matmul", f.Name, first.Shape(), x.Shape())
		}
	}
	if sizes := strings.Fields(fmt.Sprint(f.Settings["pad"])); f.Name == "pad" && len(sizes) > 2*(inputs[0].Rank()-1) {
		tensor.Fail("function", views.ErrShape, "pad %v of %v; want no sizes for the samples", sizes, inputs[0].Shape())
	}
	results, err := byname.Apply(f.Name, f.text, inputs...)
	if err != nil {
		tensor.Fail("function", err, "%v", err)
	}
	return results
}

var _ = RegisterLayer("function", NewFunction, FunctionOptions{})
