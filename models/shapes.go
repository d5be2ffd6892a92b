package models

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/models/keras"
	"github.com/h5dnn/h5dnn/views"
)

// checkShapes returns an error if a weight that was made for a layer of Keras does not have the
// shape that the settings of the layer and of those before it say: Keras would not load it.
// What they leave open is not checked.
func (p *Plan) checkShapes(m *keras.Model) error {
	have := map[string][]int{}
	for _, t := range p.Tensors {
		have[t.Name] = t.Array.Shape
	}
	for path, l := range m.All() {
		shapes := keras.WeightShapes(l)
		for _, name := range slices.Sorted(maps.Keys(shapes)) {
			want := shapes[name]
			got, ok := have[path+"/"+name]
			if !ok {
				continue
			}
			fits := len(got) == len(want)
			for i := 0; fits && i < len(want); i++ {
				fits = want[i] < 0 || want[i] == got[i]
			}
			if !fits {
				text := strings.ReplaceAll(fmt.Sprint(want), "-1", "any")
				return fmt.Errorf("%s/%s has shape %v, but the layer (%s) takes %s: %w", path, name, got, l.Class, text, views.ErrShape)
			}
		}
	}
	return nil
}

// sameShapes returns an error if weights do not have the shapes of those in the file of the
// architecture.
func (p *Plan) sameShapes() error {
	for _, t := range p.Tensors {
		if want, ok := p.options.Architecture.shapes[t.Name]; ok && !slices.Equal(want, t.Array.Shape) {
			return fmt.Errorf("%s has shape %v, but that of the architecture has %v: %w", t.Name, t.Array.Shape, want, views.ErrShape)
		}
	}
	return nil
}
