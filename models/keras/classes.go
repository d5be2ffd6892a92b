package keras

import (
	"errors"
	"fmt"
	"strings"

	"github.com/h5dnn/h5dnn/internal/errkind"
	"github.com/h5dnn/h5dnn/models/weights"
)

// A class is what is known about a class of layers. Its functions tell the layer's settings of their errors.
type class struct {
	// variables returns the variables of a layer; nil if it has none.
	variables func(l *settings) []Variable
	several   bool // takes several tensors
	flags     bool // nodes takes arguments of calls that are true, or refuses them
	// activated is set if there is a setting activation, which is applied to the output.
	activated bool
	copies    bool // the elements of outputs are elements of inputs, of any type
	anyType   bool // nodes takes values of any type; others take floats
	training  bool // computes something else in training

	// shapes returns the shapes of the outputs for inputs of those shapes, without the
	// batch; -1 is an unknown size. Nil if the output has the shape of the first input.
	shapes func(l *settings, in [][]int) [][]int
	// arrays returns the shapes of weights by name, for the number of features of the input, with -1 for
	// unknown sizes; nil if they are not checked.
	arrays func(l *settings, features int) map[string][]int
	// module returns the layer of package nn, which PyTorch has as a module, that computes what the layer does
	// for inputs of those shapes.
	module func(l *settings, in [][]int) *module
	// axes gives an input of module the order of axes that package nn takes; nil for any order.
	axes func(b *builder, l *settings, v value) value
	// nodes adds the layers of package nn, where they are not one module of one input.
	nodes func(b *builder, l *settings, in []value) value
	// outputs is nodes for layers with several outputs, or whose outputs have masks.
	outputs func(b *builder, l *settings, in []value) []value

	// links returns how the weights of l map to the parameters. An error of kind
	// ErrUnsupported names the setting that PyTorch does not have. Nil for layers without weights.
	links func(l *settings) []weights.Link
	// own returns the links to the layer of package nn, where that has more than PyTorch's module; nil for links.
	own func(l *settings) []weights.Link
	// ordered returns the links for inputs of an order, and the layer as PyTorch's module sees it; nil for links and the
	// layer as it is.
	ordered func(l *settings, in featureLayout) ([]weights.Link, *settings)
	// differs returns what the module of PyTorch computes otherwise, of kind ErrUnsupported, for layers
	// without weights; nil for nothing.
	differs func(l *settings) error
	// renamed are the parameters that h5dnn names differently from PyTorch. One named ""
	// does not exist there.
	renamed map[string]string

	kept    bool // the output has the features of the input, in order
	spatial bool // the output has channels and, in PyTorch, spatial axes after them
	// order returns the order of the features of the output; nil if kept or spatial say it, and for
	// layers that have weights, it is that of Keras.
	order func(t *tracer, l *settings, in []featureLayout) featureLayout
	// features names the weights whose first axis is the features of the input.
	features []string
	// reverse adds the layers of Keras for layers of package nn, by their names.
	reverse map[string]reversal
	// samples are layers with weights, one for each set of variables that a layer may have: for tests, and for
	// InferNames, which knows the variables of a layer without its configuration.
	samples []Layer
}

// translated reports whether layers of the class become layers of package nn.
func (c class) translated() bool { return c.nodes != nil || c.module != nil || c.outputs != nil }

var classes = map[string]class{}

// reversals are the layers of package nn that have counterparts in Keras, by names in lower case.
var reversals = map[string]reversal{}

// A reversal adds the layers of Keras for a layer of package nn, whose settings l has.
type reversal func(r *reverser, l *settings, in []tensor) tensor

// reversed returns a reversal to one layer of a class, with the settings that config returns.
func reversed(class string, config func(l *settings, v tensor) map[string]any) reversal {
	return func(r *reverser, l *settings, in []tensor) tensor {
		return r.layer(class, l.Name, config(l, in[0]), in...)
	}
}

// register makes classes known.
func register(c class, names ...string) bool {
	for _, name := range names {
		if _, taken := classes[name]; taken {
			panic("keras: class " + name + " registered twice")
		}
		for i := range c.samples {
			c.samples[i].Class, c.samples[i].Name = name, strings.ToLower(name)
		}
		classes[name] = c
	}
	for layer, reverse := range c.reverse {
		reversals[strings.ToLower(layer)] = reverse
	}
	return true
}

// unsupported returns an error of kind weights.ErrUnsupported about something that package nn,
// or Keras, does not have. layerError says which.
func unsupported(format string, args ...any) error {
	return errkind.Errorf(weights.ErrUnsupported, format, args...)
}

// What layerError says of layers that have no counterpart.
const (
	notRun     = "does not run in h5dnn"
	notInKeras = "has no counterpart in Keras"
)

// layerError returns the error of a layer by its name, with the consequence if it is not supported.
func layerError(path, class, verdict string, err error) error {
	if errors.Is(err, weights.ErrUnsupported) {
		return fmt.Errorf("layer %s (%s) %s: %w", path, class, verdict, err)
	}
	return fmt.Errorf("layer %s (%s): %w", path, class, err)
}
