package keras

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A Variable is an array that a layer of some class has.
type Variable struct {
	Name string // such as "kernel" or "forward/kernel"
	// Path is where .weights.h5 files have it, below the group of the layer: "vars/0",
	// "forward_layer/cell/vars/0".
	Path      string
	Trainable bool
	Copy      string // where the same array is a second time; "" if it is not
}

// Variables returns the variables of l, from its class and settings, in the order in
// which Keras has them. ok is false for classes that are not known, and for layers around
// one, such as a model for each step.
func Variables(layer *Layer) (list []Variable, ok bool, err error) {
	l := settingsOf(layer)
	list = variablesOf(l)
	if err := l.failed(); err != nil {
		if errors.Is(err, errUnknown) {
			err = nil
		}
		return nil, false, err
	}
	return list, true, nil
}

// variablesOf returns the variables of a layer, or fails with errUnknown.
func variablesOf(l *settings) []Variable {
	c, ok := classes[l.Class]
	switch {
	case !ok:
		l.fail(errUnknown)
	case c.variables != nil:
		return frozen(l, quantized(l, c.variables(l)))
	}
	return nil
}

// frozen returns the variables of a layer. None is trained if the layer's setting trainable is false.
func frozen(l *settings, list []Variable) []Variable {
	if l.Config["trainable"] != false {
		return list
	}
	list = slices.Clone(list)
	for i := range list {
		list[i].Trainable = false
	}
	return list
}

// quantized returns the variables of a layer that was quantized, from those that it had: the
// scales come last in int8, and only the bias is trained.
func quantized(l *settings, list []Variable) []Variable {
	policy, _ := l.Config["dtype"].(map[string]any)
	mode, _ := field(policy, "mode").(string)
	switch {
	case mode == "" || len(list) == 0:
		return list
	case mode != "int8" || l.Class != "Dense" && l.Class != "EinsumDense" && l.Class != "Embedding":
		l.fail(errUnknown)
		return nil
	}
	list = append(slices.Clone(list), Variable{Name: list[0].Name + "_scale", Path: fmt.Sprintf("vars/%d", len(list))})
	list[0].Trainable = false
	return list
}

// errUnknown is the error of a layer whose variables are not known, such as one around another.
var errUnknown = errors.New("variables that are not known")

// positions returns variables at vars/0, vars/1 and so on, trainable ones.
func positions(names ...string) []Variable {
	var list []Variable
	for i, name := range names {
		list = append(list, Variable{Name: name, Path: fmt.Sprintf("vars/%d", i), Trainable: true})
	}
	return list
}

// within returns variables of an object that the layer has under some attribute.
func within(prefix, attribute string, list []Variable) []Variable {
	inner := make([]Variable, len(list))
	for i, v := range list {
		inner[i] = v
		inner[i].Name, inner[i].Path = prefix+v.Name, attribute+"/"+v.Path
		if v.Copy != "" {
			inner[i].Copy = attribute + "/" + v.Copy
		}
	}
	return inner
}

// fixed returns the same variables for every layer.
func fixed(list ...Variable) func(*settings) []Variable {
	return func(*settings) []Variable { return list }
}

// weighted returns the variables names, and a bias unless use_bias is false.
func weighted(names ...string) func(l *settings) []Variable {
	return func(l *settings) []Variable {
		if l.Bool("use_bias", true) {
			return positions(slices.Concat(names, []string{"bias"})...)
		}
		return positions(names...)
	}
}

// normalized returns gamma and beta as scale and center say, and then the names of what
// is not trained.
func normalized(statistics ...string) func(l *settings) []Variable {
	return func(l *settings) []Variable {
		var names []string
		if l.Bool("scale", true) {
			names = append(names, "gamma")
		}
		if l.Bool("center", true) {
			names = append(names, "beta")
		}
		list := positions(append(names, statistics...)...)
		for i := len(names); i < len(list); i++ {
			list[i].Trainable = false
		}
		return list
	}
}

// wrapped returns the settings of the layer that l is around, which has the given setting.
func (l *settings) wrapped(setting string) *settings {
	inner, ok := l.Config[setting].(map[string]any)
	class, _ := inner["class_name"].(string)
	config, _ := inner["config"].(map[string]any)
	if !ok || class == "" || config == nil {
		l.invalid("%s %s has no layer as its setting %s", l.Class, l.Name, setting)
		return l.of(&Layer{})
	}
	name, _ := config["name"].(string)
	w := &Layer{Class: class, Name: name, Config: config}
	if isModel(class) {
		var err error
		if w.Model, err = wrappedModel(inner); err != nil {
			l.fail(fmt.Errorf("%s %s: %w", l.Class, l.Name, err))
		}
	} else {
		modernize(w)
	}
	return l.of(w)
}

// IsAround reports whether a layer has other layers among its settings.
func IsAround(l *Layer) bool {
	return slices.ContainsFunc([]string{"layer", "cell", "cells", "layers"}, func(name string) bool { return l.Config[name] != nil })
}

// The expressions by which Keras makes names of classes.
var (
	notWord  = regexp.MustCompile(`\W+`)
	wordEdge = regexp.MustCompile(`(.)([A-Z][a-z]+)`)
	caseEdge = regexp.MustCompile(`([a-z])([A-Z])`)
)

// Snake returns the name that .weights.h5 files have for a class: batch_normalization,
// conv2d_transpose, re_lu.
func Snake(class string) string {
	class = class[strings.LastIndex(class, ">")+1:]
	if class == "GroupQueryAttention" { // the public name of a class that is called otherwise
		class = "GroupedQueryAttention"
	}
	class = notWord.ReplaceAllString(class, "")
	class = wordEdge.ReplaceAllString(class, "${1}_$2")
	return strings.ToLower(caseEdge.ReplaceAllString(class, "${1}_$2"))
}

// WeightShapes returns the shapes of weights of a layer by name, as far as they follow from its settings and its
// input, with -1 for unknown sizes.
func WeightShapes(l *Layer) map[string][]int { return weightShapes(settingsOf(l)) }

func weightShapes(l *settings) map[string][]int {
	arrays := classes[l.Class].arrays
	if arrays == nil {
		return nil
	}
	features := -1 // of the input, whose channels are last
	if format, _ := l.Config["data_format"].(string); len(l.InputShapes) > 0 && len(l.InputShapes[0]) > 0 && format != "channels_first" {
		features = l.InputShapes[0][len(l.InputShapes[0])-1]
	}
	shapes := arrays(l, features)
	if l.failed() != nil {
		return nil // as translations of l report
	}
	return shapes
}

// shaped reads shapes of settings: in "features 4*units", features are the features of the input. A ? is any size.
func shaped(texts map[string]string) func(*settings, int) map[string][]int {
	return func(l *settings, features int) map[string][]int {
		shapes := map[string][]int{}
		for name, text := range texts {
			for size := range strings.FieldsSeq(text) {
				n := l.Int(strings.TrimLeft(size, "0123456789*"), -1)
				switch {
				case size == "features":
					n = features
				case n > 0 && size[1] == '*':
					n *= int(size[0] - '0')
				}
				shapes[name] = append(shapes[name], n)
			}
		}
		return shapes
	}
}
