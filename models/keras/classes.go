package keras

import (
	"errors"
	"fmt"

	"github.com/h5dnn/h5dnn/internal/errkind"
	"github.com/h5dnn/h5dnn/models/weights"
)

// A class is what is known about a class of layers.
type class struct {
	// variables returns the variables of a layer; nil if it has none.
	variables func(l *Layer) ([]Variable, error)
	// settings are examples of settings, one for each set of variables that a layer may have,
	// by which InferNames knows the variables of a layer without its configuration. Nil if it
	// does not.
	settings []map[string]any
	// shapes returns the shapes of the outputs for inputs of those shapes, without the
	// batch; -1 is an unknown size. Nil if the output has the shape of the first input.
	shapes func(l *Layer, in [][]int) ([][]int, error)
	// nodes adds the layers of package nn that compute what the layer does.
	nodes func(b *builder, u use, in []value) (value, error)
}

var classes = map[string]class{}

// register makes classes known.
func register(c class, names ...string) bool {
	for _, name := range names {
		if _, taken := classes[name]; taken {
			panic("keras: class " + name + " registered twice")
		}
		classes[name] = c
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

// layerError returns the error of a layer by its name, and what that means if it is not supported.
func layerError(path, class, verdict string, err error) error {
	if errors.Is(err, weights.ErrUnsupported) {
		return fmt.Errorf("layer %s (%s) %s: %w", path, class, verdict, err)
	}
	return fmt.Errorf("layer %s (%s): %w", path, class, err)
}
