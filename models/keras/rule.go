package keras

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/internal/errkind"
	"github.com/h5dnn/h5dnn/models/weights"
	"github.com/h5dnn/h5dnn/spell"
)

// ErrNotInPyTorch is an ErrUnsupported of a layer or a setting that PyTorch's modules do not have.
var ErrNotInPyTorch = errkind.Errorf(weights.ErrUnsupported, "not supported by PyTorch")

// HasRule reports whether the weights of layers of a class are converted.
func HasRule(class string) bool { return classes[class].links != nil }

// LayerLinks returns how the weights of a Keras layer map to the parameters of PyTorch's
// module, by their names in the layer and the module.
func LayerLinks(l *Layer) ([]weights.Link, error) {
	switch {
	case HasRule(l.Class):
		links, err := classes[l.Class].links(l)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", l.Class, l.Name, err)
		}
		if name := untaken(l, links); name != "" {
			return nil, fmt.Errorf("%s %s: the rule for its class does not take its weight %s, as of a quantized layer or one with LoRA: %w", l.Class, l.Name, name, ErrNotInPyTorch)
		}
		return links, nil
	case len(weightsOf(l)) == 0:
		return nil, nil
	}
	return nil, errkind.Errorf(ErrNotInPyTorch, "%s %s: no rule for layers of this class%s; a rules file can name its weights", l.Class, l.Name, spell.Hint(l.Class, slices.DeleteFunc(slices.Sorted(maps.Keys(classes)), func(name string) bool { return !HasRule(name) })))
}

// untaken returns the name of a weight of l that no link takes, or "".
func untaken(l *Layer, links []weights.Link) string {
	for _, w := range weightsOf(l) {
		if !slices.ContainsFunc(links, func(link weights.Link) bool { return slices.Contains(link.From, w.Name) }) {
			return w.Name
		}
	}
	return ""
}

// weightsOf returns the weights of l other than the state of random number generators.
func weightsOf(l *Layer) []Weight {
	return slices.DeleteFunc(slices.Clone(l.Weights), func(w Weight) bool { return isRandomState(w.Name) })
}

// isRandomState reports whether a weight is the state of a random number generator, as
// Keras keeps it for dropout.
func isRandomState(name string) bool { return strings.Contains(name, "seed_generator") }

// H5dnnName returns h5dnn's name of a parameter of the PyTorch module for a class of Keras
// layers, or "" if h5dnn does not have it.
func H5dnnName(class, parameter string) string {
	if name, ok := classes[class].renamed[parameter]; ok {
		return name
	}
	return parameter
}

// PyTorchName returns the name of a parameter of h5dnn in the PyTorch module for a class of Keras layers.
func PyTorchName(class, parameter string) string {
	for pytorch, own := range classes[class].renamed {
		if own == parameter {
			return pytorch
		}
	}
	return parameter
}

// notInPyTorch returns an error of kind ErrNotInPyTorch.
func notInPyTorch(format string, args ...any) error {
	return fmt.Errorf(format+": %w", append(args, ErrNotInPyTorch)...)
}

// biasedLinks returns links, with one more for the bias unless the layer has none.
func biasedLinks(l *Layer, links ...weights.Link) ([]weights.Link, error) {
	bias, err := l.Bool("use_bias", hasWeight(l, "bias"))
	if err != nil || !bias {
		return links, err
	}
	return append(links, linked("bias", "bias", weights.Same{})), nil
}

// linked returns the link of one weight and one parameter.
func linked(weight, parameter string, op weights.Op) weights.Link {
	return weights.Link{From: []string{weight}, To: []string{parameter}, Op: op}
}

// hasWeight reports whether l has a weight of that name, or no weights, in which case
// there may be any.
func hasWeight(l *Layer, name string) bool {
	_, ok := l.Weight(name)
	return ok || len(l.Weights) == 0
}

// A call is the text of a constructor's call: nn.Conv2d(3, 8, kernel_size=(3, 3)).
type call struct {
	name string
	args []string
}

func newCall(name string, args ...any) *call {
	c := &call{name: name}
	for _, a := range args {
		c.args = append(c.args, fmt.Sprint(a))
	}
	return c
}

// set adds a keyword argument, in Python's notation.
func (c *call) set(name string, value any) *call {
	c.args = append(c.args, name+"="+python(value))
	return c
}

func (c *call) String() string { return c.name + "(" + strings.Join(c.args, ", ") + ")" }

// python returns a value as a Python literal.
func python(value any) string {
	switch x := value.(type) {
	case bool:
		if x {
			return "True"
		}
		return "False"
	case string:
		return "'" + x + "'"
	case []int:
		if len(x) == 1 {
			return fmt.Sprint(x[0])
		}
		return "(" + commaSeparated(x) + ")"
	}
	return fmt.Sprint(value)
}

// size returns the length of an axis of a weight, or "?" if the weight is not known.
func size(l *Layer, weight string, axis int) string {
	w, ok := l.Weight(weight)
	if !ok || axis >= w.Array.Rank() {
		return "?"
	}
	return fmt.Sprint(w.Array.Shape[axis])
}
