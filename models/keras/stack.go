package keras

import (
	"fmt"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/models/weights"
)

// A stack is a module of PyTorch that computes several recurrent layers, each of which
// takes the output of the one before: nn.LSTM(3, 4, num_layers=2).
type stack struct {
	path   string // of the last layer
	top    *Layer // the last layer
	call   string // of a module of one layer
	plan   int    // index of the first layer's
	layers int
}

// follows returns an error of kind ErrAmbiguous unless the layer of that path can be the
// next one of the stack.
func (s *stack) follows(m *Model, path string, l *Layer) error {
	prefix, _ := cutPath(path)
	above, _ := cutPath(s.path)
	reason := ""
	switch {
	case stackKey(l) == "" || stackKey(l) != stackKey(s.top):
		reason = "of other kinds or settings"
	case prefix != above || !feeds(modelAt(m, prefix), s.top, l):
		reason = "with something else between them"
	default:
		return nil
	}
	return fmt.Errorf("layers %s and %s would both be one module of PyTorch: %s: %w", s.path, path, reason, weights.ErrAmbiguous)
}

// deeper returns the links of a layer with a number of layers below it in its module.
func deeper(links []weights.Link, below int) []weights.Link {
	list := slices.Clone(links)
	for i := range list {
		list[i].To = slices.Clone(list[i].To)
		for k, name := range list[i].To {
			list[i].To[k] = strings.Replace(name, "_l0", fmt.Sprintf("_l%d", below), 1)
		}
	}
	return list
}

// module returns the call that constructs s.
func (s *stack) module() string {
	return fmt.Sprintf("%s, num_layers=%d)", strings.TrimSuffix(s.call, ")"), s.layers)
}

// stackKey describes what the layers of a stack have in common, or is "" for layers that
// are not recurrent.
func stackKey(layer *Layer) string {
	l, around := settingsOf(layer), ""
	if l.Class == "Bidirectional" {
		l, around = l.wrapped("layer"), l.Class+" "
	}
	if !slices.Contains([]string{"SimpleRNN", "LSTM", "GRU"}, l.Class) {
		return ""
	}
	return fmt.Sprint(around, l.Class, " ", l.Int("units", -1), l.Bool("use_bias", true), activationOf(l, "activation", "tanh"))
}

// feeds reports whether the output of one layer goes to another, but for Dropout between
// them, and nowhere else.
func feeds(m *Model, from, to *Layer) bool {
	w := wiringOf(m)
	for range m.Layers {
		if to = w.before(to); to == nil || to == from || to.Class != "Dropout" {
			return to != nil && to == from
		}
	}
	return false
}

// cutPath cuts the path of a layer at its last slash.
func cutPath(path string) (prefix, name string) {
	at := strings.LastIndexByte(path, '/')
	return path[:max(at, 0)], path[at+1:]
}

// modelAt returns the model within m whose layers have paths of that prefix.
func modelAt(m *Model, prefix string) *Model {
	for _, name := range strings.Split(prefix, "/") {
		if l := m.Layer(name); l != nil && l.Model != nil {
			m = l.Model
		}
	}
	return m
}
