package keras

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/models/weights"
	"github.com/h5dnn/h5dnn/storage"
)

// Export returns the parameters of PyTorch's modules that hold the weights of the layers,
// in the order of the layers. Unused lists the weights that no link takes.
func Export(plans []LayerPlan) (tensors []weights.Tensor, unused []string, err error) {
	for _, p := range plans {
		used := map[string]bool{}
		for _, link := range p.Links {
			from := make([]weights.Tensor, len(link.From))
			for i, path := range link.From {
				name := strings.TrimPrefix(path, p.Path+"/")
				w, ok := p.Layer.Weight(name)
				if !ok {
					return nil, nil, fmt.Errorf("%s: layer %s has no weight %s: %w", strings.Join(link.To, ", "), p.Path, name, storage.ErrState)
				}
				from[i], used[name] = weights.Tensor{Name: path, Array: w.Array, Slots: w.Slots}, true
			}
			some, err := link.Forward(from)
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %w", strings.Join(link.To, ", "), err)
			}
			tensors = append(tensors, some...)
		}
		for _, w := range p.Layer.Weights {
			if !used[w.Name] && p.Refused == nil {
				unused = append(unused, p.Path+"/"+w.Name)
			}
		}
	}
	return tensors, unused, nil
}

// Import sets the weights of the layers from parameters by name, and returns what was
// done for each weight. Missing lists the parameters that are not there; unused those that
// no layer takes.
func Import(plans []LayerPlan, parameters map[string]weights.Tensor) (tensors []weights.Tensor, missing, unused []string, err error) {
	used := map[string]bool{}
	for _, p := range plans {
		var list []Weight
		for _, link := range p.Links {
			to, lacking := found(link, parameters, used)
			missing = append(missing, lacking...)
			if len(lacking) > 0 || len(link.From) == 0 {
				continue
			}
			some, err := link.Backward(to)
			if err != nil {
				return nil, nil, nil, fmt.Errorf("%s: %w", strings.Join(link.From, ", "), err)
			}
			for _, t := range some {
				name := strings.TrimPrefix(t.Name, p.Path+"/")
				if have, ok := p.Layer.Weight(name); ok && have.Array.Shape != nil && !slices.Equal(have.Array.Shape, t.Array.Shape) {
					return nil, nil, nil, fmt.Errorf("%s: shape %v; the architecture has %v: %w", strings.Join(link.From, ", "), t.Array.Shape, have.Array.Shape, weights.ErrShape)
				}
				list = append(list, Weight{Name: name, Array: t.Array, Slots: t.Slots})
			}
			tensors = append(tensors, some...)
		}
		if len(p.Links) > 0 {
			p.Layer.Weights = list
		}
	}
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		if !used[name] {
			unused = append(unused, name)
		}
	}
	return tensors, missing, unused, nil
}

// found returns the parameters of a link, which are used then, and the names of those that are missing.
func found(link weights.Link, parameters map[string]weights.Tensor, used map[string]bool) (list []weights.Tensor, missing []string) {
	for _, name := range link.To {
		t, ok := parameters[name]
		if !ok {
			missing = append(missing, name)
			continue
		}
		t.Name, used[name] = name, true
		list = append(list, t)
	}
	if len(link.From) == 0 {
		return nil, nil
	}
	return list, missing
}
