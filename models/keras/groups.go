package keras

import (
	"fmt"
	"iter"
	"slices"
)

// Groups yields the layers of a model with the names of the groups that .weights.h5 files have
// for them: those of their classes, numbered from the second one on. An InputLayer of a
// Sequential has none.
func Groups(m *Model) iter.Seq2[string, *Layer] {
	return func(yield func(string, *Layer) bool) {
		used := map[string]int{}
		for i := range m.Layers {
			l := &m.Layers[i]
			if l.Class == "InputLayer" && m.Class == "Sequential" {
				continue
			}
			class := l.Class
			if l.Model != nil {
				class = l.Model.Class
			}
			if !yield(unique(used, Snake(class)), l) {
				return
			}
		}
	}
}

// ModelVariables returns the variables of all layers of a model within another one, or that a
// layer is around: those that are trained, which none is unless on is set, and then the other
// ones. It is an error if those of a layer are not known.
func ModelVariables(m *Model, on bool) ([]Variable, error) {
	l := settingsOf(&Layer{})
	all := TrainedFirst(variablesWithin(l, m, on))
	return all, l.failed()
}

// TrainedFirst returns the variables that are trained before the other ones, as .h5 files of Keras have them.
func TrainedFirst(all []Variable) []Variable {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b Variable) int {
		switch {
		case a.Trainable == b.Trainable:
			return 0
		case a.Trainable:
			return -1
		}
		return 1
	})
	return all
}

// variablesWithin returns the variables of the layers of a model, which l has, in their order. None is trained
// unless on is set.
func variablesWithin(l *settings, m *Model, on bool) (all []Variable) {
	for group, inner := range Groups(m) {
		on := on && inner.Config["trainable"] != false
		var list []Variable
		if inner.Model != nil {
			list = variablesWithin(l, inner.Model, on)
		} else {
			list = variablesOf(l.of(inner))
		}
		for _, v := range within(inner.Name+"/", "layers/"+group, list) {
			v.Trainable = v.Trainable && on
			all = append(all, v)
		}
	}
	return all
}

// maxAround bounds the depth of models that layers are around.
const maxAround = 8

// wrappedModel returns the model that a setting describes.
func wrappedModel(setting map[string]any) (*Model, error) {
	if depth := modelsWithin(setting); depth > maxAround {
		return nil, fmt.Errorf("%d models within layers around models; at most %d are read: %w", depth, maxAround, ErrConfig)
	}
	m, err := new(parser).model(setting, 0)
	if err == nil {
		inferShapes(m)
	}
	return m, err
}

// modelsWithin returns how many objects with layers are within each other.
func modelsWithin(v any) (depth int) {
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			depth = max(depth, modelsWithin(one))
		}
	case map[string]any:
		for _, one := range v {
			depth = max(depth, modelsWithin(one))
		}
		if _, ok := v["layers"]; ok {
			depth++
		}
	}
	return depth
}
