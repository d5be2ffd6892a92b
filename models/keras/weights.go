package keras

import (
	"strings"

	"github.com/h5dnn/h5dnn/models/weights"
)

// Links returns how the layers of the model of Keras become the modules of t. Parameters that package nn
// does not have are left out.
func (t *Translation) Links(m *Model, o LinkOptions) (plans []LayerPlan, err error) {
	if err := checkGiven(m, o.Flatten); err != nil {
		return nil, err
	}
	for path, l := range m.All() {
		p := LayerPlan{Path: path, Layer: l, Name: ModuleName(path)}
		p.Module, p.Differs = moduleOf(l)
		links, err := layerLinks(l, ownRule(l.Class))
		if err == nil {
			links, err = reordered(l, links, featureLayout{flattened: t.flat[path]})
		}
		p.Refused = err
		for _, link := range links {
			link.From = affixed(path+"/", link.From, "")
			if link.To, err = t.parameters(p, link.To); err != nil {
				return nil, err
			}
			if len(link.To) > 1 || link.To[0] != "" {
				p.Links = append(p.Links, link)
			}
		}
		if l.Class == "LayerNormalization" && len(p.Links) == 1 && len(p.Links[0].To) == 1 {
			// PyTorch can leave out the bias; package nn has both parameters or neither.
			gamma := p.Links[0].To[0]
			p.Links[0].To, p.Links[0].Op = []string{strings.TrimSuffix(gamma, "gamma") + "beta", gamma}, weights.ConstantOp(0, false)
		}
		if len(links) > 0 || p.Refused != nil || p.Differs != nil {
			plans = append(plans, p)
		}
	}
	return plans, nil
}

// parameters returns the full names of parameters of PyTorch's module, "" for those that package nn does not have.
func (t *Translation) parameters(p LayerPlan, names []string) ([]string, error) {
	list := make([]string, len(names))
	for i, name := range names {
		path := t.partOf(p.Path, name)
		part := strings.TrimPrefix(path[len(p.Path):], "/")
		name, class := strings.TrimPrefix(name, part+"."), classWithin(p.Layer, part)
		module, ok := t.Modules[path]
		switch own := H5dnnName(class, name); {
		case own == "":
		case !ok:
			return nil, layerError(p.Path, p.Layer.Class, notRun, unsupported("it has weights and no module"))
		default:
			list[i] = module + "." + own
		}
	}
	return list, nil
}

// partOf returns the path of the part of a layer that a parameter belongs to, of which its name begins; or of the layer.
func (t *Translation) partOf(path, parameter string) string {
	if part, _, ok := strings.Cut(parameter, "."); ok && t.Modules[path+"/"+part] != "" {
		return path + "/" + part
	}
	return path
}

// classWithin returns the class of the layer that a layer is around, of that name if it is around a model; or its own class.
func classWithin(l *Layer, name string) string {
	if l.Class != "TimeDistributed" {
		return l.Class
	}
	inner := settingsOf(l).wrapped("layer")
	if inner.Model == nil {
		return inner.Class
	}
	for path, layer := range inner.Model.All() {
		if ModuleName(path) == name {
			return layer.Class
		}
	}
	return l.Class
}

// ownRule returns the rule of a class for the parameters of package nn; nil if it has none.
func ownRule(class string) func(*settings) []weights.Link {
	if own := classes[class].own; own != nil {
		return own
	}
	return classes[class].links
}

// ownLinks returns the links of a layer to the parameters of package nn.
func ownLinks(l *settings) []weights.Link {
	if rule := ownRule(l.Class); rule != nil {
		return rule(l)
	}
	return nil
}
