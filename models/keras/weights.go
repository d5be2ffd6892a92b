package keras

import (
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/models/weights"
)

// Links returns how the layers of the model of Keras become the modules of t. Parameters that package nn
// does not have are left out.
func (t *Translation) Links(m *Model, o LinkOptions) ([]LayerPlan, error) {
	plans, err := linkAll(m, o, func(path string, l *Layer) (p LayerPlan, links []weights.Link) {
		p = LayerPlan{Path: path, Layer: l}
		if links, p.Refused = LayerLinks(l); p.Refused == nil {
			links, p.Refused = reordered(l, links, featureLayout{flattened: t.flat[path]})
		}
		p.Module, p.Differs = moduleOf(l)
		return p, links
	})
	if err != nil {
		return nil, err
	}
	list := slices.Clone(plans)
	for i, p := range plans {
		list[i].Links = nil
		for _, link := range p.Links {
			to := make([]string, 0, len(link.To))
			for _, name := range link.To {
				name, err := t.parameter(p, strings.TrimPrefix(name, ModuleName(p.Path)+"."))
				if err != nil {
					return nil, err
				}
				to = append(to, name)
			}
			if op, ok := t.kernels[p.Path]; ok && strings.HasSuffix(to[0], ".weight") {
				link.Op = weights.Chain(link.Op, op)
			}
			if len(to) > 1 || to[0] != "" {
				list[i].Links = append(list[i].Links, weights.Link{From: link.From, To: to, Op: link.Op})
			}
		}
		if links := list[i].Links; p.Layer.Class == "LayerNormalization" && len(links) == 1 && len(links[0].To) == 1 {
			// PyTorch can leave out the bias; package nn has both parameters or neither.
			gamma := links[0].To[0]
			links[0].To, links[0].Op = []string{strings.TrimSuffix(gamma, "gamma") + "beta", gamma}, weights.ConstantOp(0, false)
		}
	}
	return list, nil
}

// parameter returns the full name of a parameter that PyTorch's module calls name, or ""
// if package nn has none.
func (t *Translation) parameter(p LayerPlan, name string) (string, error) {
	path := p.Path
	if part, rest, ok := strings.Cut(name, "."); ok && t.Modules[path+"/"+part] != "" {
		path, name = path+"/"+part, rest
	}
	own := H5dnnName(p.Layer.Class, name)
	if own == "" {
		return "", nil
	}
	module, ok := t.Modules[path]
	if !ok {
		return "", layerError(p.Path, p.Layer.Class, notRun, unsupported("it has weights and no module"))
	}
	return module + "." + own, nil
}
