package checkpoint

import (
	"errors"
	"fmt"
	"strings"
)

// LinkOptions configure ModelLinks.
type LinkOptions struct {
	// Flatten are shapes (H, W, C) of features before they are flattened, by the name of
	// the Flatten layer, or of the one that takes the features, where the model does not
	// say.
	Flatten map[string][]int
	Rules   CustomRules // of which Modules matter here
	// ChannelsLast says that a Reshape and a LayerNormalization of several axes see the
	// channels last on the other side, too, as in the translations of package keras. In
	// PyTorch they come first.
	ChannelsLast bool
}

// A LayerPlan is how one layer of a Keras model becomes a module of PyTorch.
type LayerPlan struct {
	Path   string // of the layer: "block/conv"
	Layer  *Layer
	Name   string // of the module: "block.conv"
	Links  []Link // with full names: "block/conv/kernel" and "block.conv.weight"
	Module string // the call that constructs the module; "" if there is none or it is not known
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
	if err := o.Rules.checkModules(m); err != nil {
		return nil, err
	}
	reshapes := map[string]reshape{}
	if !o.ChannelsLast {
		reshapes = reshapesOf(m)
	}
	trace, outputs := traceFeatures(m, o.Flatten, reshapes)
	orders := trace.inputs
	var plans []LayerPlan
	taken := map[string]string{}
	stacks := map[string]*stack{} // by the name of the module
	for path, l := range m.All() {
		p := LayerPlan{Path: path, Layer: l}
		links, err := LayerLinks(l)
		if l.Class == "PReLU" && !o.ChannelsLast && orders[path].layout == channelsAreFirst {
			links, err = channelsFirstPReLU(l)
		}
		if err == nil {
			links, err = reordered(l, links, orders[path])
		}
		if err == nil && !o.ChannelsLast {
			links, err = channelsToFront(l, links, orders[path])
		}
		if err != nil {
			p.Refused = err
		}
		p.Module, p.Differs = moduleOf(inOrder(l, orders[path], o.ChannelsLast))
		p.Note = trace.notes[path]
		if r, ok := reshapes[path]; ok && r.layout == unknownLayout && (r.shape != nil || orders[path].flattened == nil) {
			links, p.Note = r.features(links), r.note
		}
		if p.Refused == nil && !o.ChannelsLast {
			p.Refused = trace.refused[path]
		}
		module, ok, err := o.Rules.Module(path)
		if err != nil {
			return nil, err
		}
		if !ok {
			module = ModuleName(path)
		}
		p.Name = module
		if s := stacks[module]; s != nil && ok && len(links) > 0 {
			if err := s.follows(m, path); err != nil {
				return nil, err
			}
			links, p.Module, s.top = s.deeper(links), "", path
			s.layers++
			plans[s.plan].Module = s.module()
		} else if ok && len(links) > 0 && stackKey(l) != "" {
			stacks[module] = &stack{path: path, top: path, call: p.Module, plan: len(plans), layers: 1}
		}
		if other, taken := taken[module]; taken && len(links) > 0 && stacks[module] == nil {
			return nil, fmt.Errorf("layers %s and %s would both be %s in PyTorch: %w", other, path, module, ErrAmbiguous)
		}
		for _, link := range links {
			taken[module] = path
			p.Links = append(p.Links, Link{prefixed(path+"/", link.From), prefixed(module+".", link.To), link.Op})
		}
		if len(p.Links) > 0 || p.Refused != nil || p.Differs != nil || p.Note != "" {
			plans = append(plans, p)
		}
	}
	if !o.ChannelsLast {
		plans = describeOutputs(plans, m, outputs)
	}
	return plans, nil
}

// ModuleName returns the name of the PyTorch module for the layer of that path.
func ModuleName(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		parts[i] = strings.ReplaceAll(part, ".", "_")
	}
	return strings.Join(parts, ".")
}

// moduleOf returns the call that constructs the PyTorch module for l, and why it computes
// something else.
func moduleOf(l *Layer) (string, error) {
	if r, ok := rules[l.Class]; ok {
		if r.Module == nil {
			return "", nil
		}
		text, err := r.Module(l)
		if err != nil && !errors.Is(err, ErrUnsupported) {
			return "", err
		}
		if err != nil {
			err = fmt.Errorf("%s %s: %w", l.Class, l.Name, err)
		}
		return text, err
	}
	if err := checkWeightless(l); err != nil {
		return "", fmt.Errorf("%s %s: %w", l.Class, l.Name, err)
	}
	return "", nil
}

// checkWeightless fails for layers without weights that PyTorch cannot express.
func checkWeightless(l *Layer) error {
	switch {
	case l.Class == "Lambda":
		return unsupported("a Lambda is Python code, which is not run")
	case l.Class == "Masking":
		return unsupported("later layers skip the steps that it masks; PyTorch's modules take packed sequences")
	case strings.HasPrefix(l.Class, "MaxPooling"), strings.HasPrefix(l.Class, "AveragePooling"):
		rank := int(l.Class[len(l.Class)-2] - '0') // MaxPooling2D
		kernel, err1 := perAxis(l, "pool_size", rank)
		strides, err2 := kernel, error(nil)
		if l.Config["strides"] != nil {
			strides, err2 = perAxis(l, "strides", rank)
		}
		padding, err3 := l.Text("padding", "valid")
		if err := firstOf(err1, err2, err3); err != nil {
			return err
		}
		if _, err := samePadding(l, padding, kernel, strides, ones(rank)); err != nil {
			return err
		}
		for axis, n := range kernel {
			if padding == "same" && strides[axis] == 1 && n%2 == 0 {
				return unsupported("padding \"same\" pads one more element at the end; pad the input by F.pad")
			}
		}
	}
	return nil
}
