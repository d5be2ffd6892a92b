package keras

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/models/weights"
)

// A module is a layer of package nn that is a module of PyTorch, too.
type module struct {
	layer string // of package nn: "conv2d"
	// constructor is the class of PyTorch and its arguments: "nn.Linear in_features out_features bias=True".
	// Those that have a value here are left out where they have it.
	constructor string
	settings    map[string]any // with PyTorch's names
	pytorch     map[string]any // settings that PyTorch has alone, or otherwise
	// notRun is why package nn computes something else than Keras, and differs why PyTorch does.
	notRun, differs error

	part string  // of the layer, if it becomes several modules: "depthwise"
	next *module // the next part
}

// constructed returns a module with settings for its constructor.
func constructed(layer, constructor string, settings map[string]any) *module {
	return &module{layer: layer, constructor: constructor, settings: settings, pytorch: map[string]any{}}
}

// size sets a size, if it is known.
func (m *module) size(name string, n int) *module {
	if n > 0 {
		m.settings[name] = n
	}
	return m
}

// option sets a setting of several numbers, unless all are the default.
func (m *module) option(name string, numbers []int, otherwise int) *module {
	if slices.ContainsFunc(numbers, func(n int) bool { return n != otherwise }) {
		m.settings[name] = numbers
	}
	return m
}

// config returns the layer as package nn configures it.
func (m *module) config() any {
	if len(m.settings) == 0 {
		return m.layer
	}
	return map[string]any{m.layer: m.settings}
}

// String returns the call that constructs the module in PyTorch, with a ? for sizes that are not known; "" if it has
// no constructor.
func (m *module) String() string {
	words := strings.Fields(m.constructor)
	if len(words) == 0 {
		return ""
	}
	var args []string
	for _, word := range words[1:] {
		name, otherwise, byName := strings.Cut(word, "=")
		value, ok := m.pytorch[name]
		if !ok {
			value, ok = m.settings[name]
		}
		switch {
		case !byName && !ok:
			args = append(args, "?")
		case !byName:
			args = append(args, python(value))
		case ok && !isDefault(value, otherwise):
			args = append(args, name+"="+python(value))
		}
	}
	call := fmt.Sprintf("%s(%s)", words[0], strings.Join(args, ", "))
	if m.next == nil {
		return call
	}
	return fmt.Sprintf("nn.Sequential(OrderedDict(%s=%s, %s=%v))", m.part, call, m.next.part, m.next)
}

// isDefault reports whether a value, or each of several, is a literal of Python.
func isDefault(value any, literal string) bool {
	if list, ok := value.([]int); ok {
		return !slices.ContainsFunc(list, func(n int) bool { return fmt.Sprint(n) != literal })
	}
	return python(value) == literal
}

// python returns a value as a Python literal, with a ? for sizes that are not known.
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
		text := strings.ReplaceAll(commaSeparated(x), "-1", "?")
		if len(x) == 1 {
			return text
		}
		return "(" + text + ")"
	}
	return fmt.Sprint(value)
}

// sizeOr returns a size or, if it is not known, the size of an axis of a weight; 0 without such a weight.
func (l *Layer) sizeOr(n int, weight string, axis int) int {
	if n > 0 {
		return n
	}
	if w, ok := l.Weight(weight); ok && axis < w.Array.Rank() {
		return w.Array.Shape[axis]
	}
	return 0
}

// featuresOf returns the size of the last axis of a shape; 0 if it is not known.
func featuresOf(shape []int) int { return max(0, slices.Concat([]int{0}, shape)[len(shape)]) }

// moduleOf returns the call that constructs the PyTorch module for a layer, and why it computes
// something else.
func moduleOf(layer *Layer) (text string, err error) {
	l, c := settingsOf(layer), classes[layer.Class]
	switch {
	case c.links != nil && c.module != nil:
		m := c.module(l, inputsOf(layer))
		if text, err = m.String(), first(l.failed(), m.differs); err != nil && !errors.Is(err, weights.ErrUnsupported) {
			return "", err
		}
	case c.differs != nil:
		err = c.differs(l)
		err = first(l.failed(), err)
	}
	if err != nil {
		err = fmt.Errorf("%s %s: %w", l.Class, l.Name, err)
	}
	return text, err
}

// inputsOf returns the shapes of the inputs of a layer, of unknown sizes if they are not known.
func inputsOf(l *Layer) [][]int {
	axes := axesOf(l.Class)
	switch {
	case axes > 0 && (len(l.InputShapes) == 0 || len(l.InputShapes[0]) != axes+1):
		return [][]int{slices.Repeat([]int{-1}, axes+1)}
	case len(l.InputShapes) == 0:
		return [][]int{nil}
	}
	return l.InputShapes
}
