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
func LayerLinks(l *Layer) ([]weights.Link, error) { return layerLinks(l, classes[l.Class].links) }

// layerLinks returns the links of a layer by a rule of its class, which has none if it is nil.
func layerLinks(layer *Layer, rule func(*settings) []weights.Link) ([]weights.Link, error) {
	switch {
	case rule != nil:
		l := settingsOf(layer)
		links := rule(l)
		if err := l.failed(); err != nil {
			return nil, fmt.Errorf("%s %s: %w", l.Class, l.Name, err)
		}
		if name := untaken(layer, links); name != "" {
			return nil, fmt.Errorf("%s %s: the rule for its class does not take its weight %s, as of a quantized layer or one with LoRA: %w", l.Class, l.Name, name, ErrNotInPyTorch)
		}
		return links, nil
	case untaken(layer, nil) == "":
		return nil, nil
	}
	return nil, errkind.Errorf(ErrNotInPyTorch, "%s %s: no rule for layers of this class%s; a rules file can name its weights", layer.Class, layer.Name, spell.Hint(layer.Class, slices.DeleteFunc(slices.Sorted(maps.Keys(classes)), func(name string) bool { return !HasRule(name) })))
}

// untaken returns the name of a weight of l that no link takes, or "". None takes the state of random number
// generators, which Keras keeps for dropout.
func untaken(l *Layer, links []weights.Link) string {
	for _, w := range l.Weights {
		if !strings.Contains(w.Name, "seed_generator") && !slices.ContainsFunc(links, func(link weights.Link) bool { return slices.Contains(link.From, w.Name) }) {
			return w.Name
		}
	}
	return ""
}

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

// biasedLinks returns links, with one more from the bias to a parameter unless the layer has none.
func biasedLinks(l *settings, parameter string, links ...weights.Link) []weights.Link {
	if !l.Bool("use_bias", l.hasWeight("bias")) {
		return links
	}
	return append(links, linked("bias", parameter, weights.Same))
}

// linked returns the link of one weight and one parameter.
func linked(weight, parameter string, op weights.Op) weights.Link {
	return weights.Link{From: []string{weight}, To: []string{parameter}, Op: op}
}

// hasWeight reports whether l has a weight of that name, or no weights, in which case
// there may be any.
func (l *Layer) hasWeight(name string) bool {
	_, ok := l.Weight(name)
	return ok || len(l.Weights) == 0
}
