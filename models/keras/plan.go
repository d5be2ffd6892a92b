package keras

import (
	"fmt"
	"strings"

	"github.com/h5dnn/h5dnn/models/weights"
)

// LinkOptions configure ModelLinks.
type LinkOptions struct {
	// Flatten are shapes (H, W, C) of features before they are flattened, by the name of
	// the Flatten layer, or of the one that takes the features, where the model does not
	// say.
	Flatten map[string][]int
	Rules   weights.Rules // of which Modules matter here
}

// A LayerPlan is how one layer of a Keras model becomes a module of PyTorch.
type LayerPlan struct {
	Path   string // of the layer: "block/conv"
	Layer  *Layer
	Name   string         // of the module: "block.conv"
	Links  []weights.Link // with full names: "block/conv/kernel" and "block.conv.weight"
	Module string         // the call that constructs the module, or "" if it is not known
	// Refused is why the weights cannot be converted, of kind ErrUnsupported or
	// ErrAmbiguous.
	Refused error
	// Differs is why the module computes something else with the same weights, of kind
	// ErrUnsupported.
	Differs error
	Note    string // what PyTorch's code has to do without a module; "" for nothing
}

// ModelLinks returns how the layers of a Keras model that have weights, and those that
// PyTorch cannot express, are converted. Weights are named after the paths of layers,
// parameters after PyTorch's modules.
func ModelLinks(m *Model, o LinkOptions) ([]LayerPlan, error) {
	if err := checkGiven(m, o.Flatten); err != nil {
		return nil, err
	}
	var paths []string
	for path := range m.All() {
		paths = append(paths, path)
	}
	if err := o.Rules.CheckModules(paths); err != nil {
		return nil, err
	}
	trace, outputs := traceFeatures(m, o)
	k := linker{model: m, rules: o.Rules, trace: trace, layers: map[string]string{}, stacks: map[string]*stack{}}
	for path, l := range m.All() {
		if err := k.add(path, l); err != nil {
			return nil, err
		}
	}
	return describeOutputs(k.plans, m, outputs), nil
}

// A linker plans the layers of a model in their order.
type linker struct {
	model  *Model
	rules  weights.Rules
	trace  *tracer
	layers map[string]string // the path of the last layer of each module
	stacks map[string]*stack // by the name of the module
	plans  []LayerPlan
}

// add plans the layer of that path.
func (k *linker) add(path string, l *Layer) error {
	p, links := k.trace.inModule(path, l)
	module, named, err := k.rules.Module(path)
	if err != nil {
		return err
	}
	if p.Name = module; !named {
		p.Name = ModuleName(path)
	}
	if len(links) > 0 {
		if named {
			if links, err = k.stacked(&p, links); err != nil {
				return err
			}
		}
		if other, taken := k.layers[p.Name]; taken && k.stacks[p.Name] == nil {
			return fmt.Errorf("layers %s and %s would both be %s in PyTorch: %w", other, path, p.Name, weights.ErrAmbiguous)
		}
		k.layers[p.Name] = path
	}
	for _, link := range links {
		p.Links = append(p.Links, weights.Link{From: affixed(path+"/", link.From, ""), To: affixed(p.Name+".", link.To, ""), Op: link.Op})
	}
	if len(p.Links) > 0 || p.Refused != nil || p.Differs != nil || p.Note != "" {
		k.plans = append(k.plans, p)
	}
	return nil
}

// inModule returns how a layer becomes a module of PyTorch.
func (t *tracer) inModule(path string, l *Layer) (LayerPlan, []weights.Link) {
	order, seen, rule := t.inputs[path], l, classes[l.Class].links
	if ordered := classes[l.Class].ordered; ordered != nil {
		rule = func(s *settings) []weights.Link {
			links, other := ordered(s, order)
			seen = other.Layer
			return links
		}
	}
	p := LayerPlan{Path: path, Layer: l, Note: t.notes[path]}
	links, err := layerLinks(l, rule)
	if err == nil {
		links, err = reordered(l, links, order)
	}
	p.Refused = first(err, t.refused[path])
	p.Module, p.Differs = moduleOf(seen)
	if r, ok := t.reshapes[path]; ok && r.layout == unknownLayout && (r.shape != nil || order.flattened == nil) {
		links, p.Note = r.features(links), r.note
	}
	return p, links
}

// stacked returns the links of a layer of which a rule makes the next layer of a recurrent module
// of several, and the links as they are for any other.
func (k *linker) stacked(p *LayerPlan, links []weights.Link) ([]weights.Link, error) {
	s := k.stacks[p.Name]
	if s == nil {
		if stackKey(p.Layer) != "" {
			k.stacks[p.Name] = &stack{path: p.Path, top: p.Layer, call: p.Module, plan: len(k.plans), layers: 1}
		}
		return links, nil
	}
	if err := s.follows(k.model, p.Path, p.Layer); err != nil {
		return nil, err
	}
	links, p.Module, s.path, s.top = deeper(links, s.layers), "", p.Path, p.Layer
	s.layers++
	k.plans[s.plan].Module = s.module()
	return links, nil
}

// ModuleName returns the name of the PyTorch module for the layer of that path.
func ModuleName(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		parts[i] = strings.ReplaceAll(part, ".", "_")
	}
	return strings.Join(parts, ".")
}
