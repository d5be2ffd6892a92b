package keras

import (
	"fmt"
	"slices"
	"strings"
)

// Penalties says what h5dnn leaves out when it trains a model, by the settings of its layers: penalties in the loss and constraints
// of weights.
func Penalties(m *Model) (lines []string) {
	penalized := layersWith(m, func(setting string) bool { return strings.HasSuffix(setting, "_regularizer") }, "ActivityRegularization")
	if len(penalized) > 0 {
		lines = append(lines, fmt.Sprintf("losses in training lack the penalties of the regularizers of %s", strings.Join(penalized, ", ")))
	}
	constrained := layersWith(m, func(setting string) bool { return strings.HasSuffix(setting, "_constraint") }, "")
	if len(constrained) > 0 {
		lines = append(lines, fmt.Sprintf("training does not constrain the weights of %s, as Keras does", strings.Join(constrained, ", ")))
	}
	return lines
}

// layersWith returns the paths of the layers of a class, and of those that have one of some settings, or a layer within that has.
func layersWith(m *Model, wanted func(setting string) bool, class string) (paths []string) {
	for path, l := range m.All() {
		has := l.Class == class
		eachObject(l.Config, func(o map[string]any) {
			for setting, value := range o {
				has = has || value != nil && wanted(setting)
			}
		})
		if has && !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	return paths
}
