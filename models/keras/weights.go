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
		rule := classes[l.Class].own
		if rule == nil {
			rule = classes[l.Class].links
		}
		links, err := layerLinks(l, rule)
		if err == nil {
			links, err = reordered(l, links, featureLayout{flattened: t.flat[path]})
		}
		p.Refused = err
		for _, link := range links {
			link.From = affixed(path+"/", link.From, "")
			if link.To, err = t.parameters(p, link.To); err != nil {
				return nil, err
			}
			if op, ok := t.kernels[path]; ok && strings.HasSuffix(link.To[0], ".weight") {
				link.Op = weights.Chain(link.Op, op)
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
		path := p.Path
		if part, rest, ok := strings.Cut(name, "."); ok && t.Modules[path+"/"+part] != "" {
			path, name = path+"/"+part, rest
		}
		module, ok := t.Modules[path]
		switch own := H5dnnName(p.Layer.Class, name); {
		case own == "":
		case !ok:
			return nil, layerError(p.Path, p.Layer.Class, notRun, unsupported("it has weights and no module"))
		default:
			list[i] = module + "." + own
		}
	}
	return list, nil
}
