package keras

import (
	"fmt"

	"github.com/h5dnn/h5dnn/models/weights"
)

// SpectralNormalization has the variables of its layer, whose kernel it stores a second time, and
// the vector by which it estimates the norm. In predictions it is the layer, whose stored kernel is normalized already.
var _ = register(class{
	variables: spectral, shapes: spectralShapes, training: true,
	outputs: func(b *builder, l *settings, in []value) []value {
		b.notes = append(b.notes, fmt.Sprintf("layer %s (%s) is the layer within; it normalizes in training only", l.path, l.Class))
		return b.layer(l.within(), []value{b.last(in[0])}) // features in the order of its weights
	},
	renamed: map[string]string{"vector_u": ""},
	own: func(l *settings) []weights.Link {
		return append(ownLinks(l.within()), linked("vector_u", "vector_u", weights.Same))
	},
}, "SpectralNormalization")

func spectral(l *settings) []Variable {
	list := within("", "layer", variablesOf(l.wrapped("layer")))
	if len(list) == 0 {
		return variablesOfFile(l)
	}
	list[0].Copy = "vars/0"
	return append(list, Variable{Name: "vector_u", Path: "vars/1"})
}

func spectralShapes(l *settings, in [][]int) [][]int {
	inner := l.wrapped("layer")
	if shapes := classes[inner.Class].shapes; shapes != nil {
		return shapes(inner, in)
	}
	l.refuse("around a %s", inner.Class)
	return nil
}
