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
			some, err := exportLink(p, link, used)
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

func exportLink(p LayerPlan, link weights.Link, used map[string]bool) ([]weights.Tensor, error) {
	arrays := make([]storage.Array, len(link.From))
	slots := map[string][]storage.Array{}
	for i, path := range link.From {
		name := strings.TrimPrefix(path, p.Path+"/")
		w, ok := p.Layer.Weight(name)
		if !ok {
			return nil, fmt.Errorf("layer %s has no weight %s: %w", p.Path, name, storage.ErrState)
		}
		arrays[i], used[name] = w.Array, true
		for slot, a := range w.Slots {
			slots[slot] = append(slots[slot], a)
		}
	}
	out, err := link.Op.Forward(arrays)
	if err != nil {
		return nil, err
	}
	if len(out) != len(link.To) {
		return nil, fmt.Errorf("%v: %d arrays; want %d", link.Op, len(out), len(link.To))
	}
	list := make([]weights.Tensor, len(out))
	for i, a := range out {
		list[i] = weights.Tensor{Name: link.To[i], Array: a, From: link.From, Operation: link.Op.String()}
	}
	for _, slot := range slices.Sorted(maps.Keys(slots)) {
		if len(slots[slot]) != len(link.From) {
			continue // of some of the weights only: those that are trained
		}
		buffers, err := weights.ForwardSlots(link.Op, slots[slot])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", slot, err)
		}
		for i, a := range buffers {
			if list[i].Slots == nil {
				list[i].Slots = map[string]storage.Array{}
			}
			list[i].Slots[slot] = a
		}
	}
	return list, nil
}

// Import sets the weights of the layers from parameters by name, and returns what was
// done for each weight. Missing lists the parameters that are not there; unused those that
// no layer takes.
func Import(plans []LayerPlan, parameters map[string]weights.Tensor) (tensors []weights.Tensor, missing, unused []string, err error) {
	used := map[string]bool{}
	for _, p := range plans {
		var weights []Weight
		for _, link := range p.Links {
			some, lacking, err := importLink(p, link, parameters, used)
			if err != nil {
				return nil, nil, nil, fmt.Errorf("%s: %w", strings.Join(link.From, ", "), err)
			}
			missing = append(missing, lacking...)
			tensors = append(tensors, some...)
			for _, t := range some {
				weights = append(weights, Weight{Name: strings.TrimPrefix(t.Name, p.Path+"/"), Array: t.Array, Slots: t.Slots})
			}
		}
		if len(p.Links) > 0 {
			p.Layer.Weights = weights
		}
	}
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		if !used[name] {
			unused = append(unused, name)
		}
	}
	return tensors, missing, unused, nil
}

func importLink(p LayerPlan, link weights.Link, parameters map[string]weights.Tensor, used map[string]bool) (tensors []weights.Tensor, missing []string, err error) {
	arrays := make([]storage.Array, len(link.To))
	slots := map[string][]storage.Array{}
	var from []string
	for i, name := range link.To {
		t, ok := parameters[name]
		if !ok && len(link.From) > 0 {
			missing = append(missing, name)
			continue
		}
		arrays[i], used[name] = t.Array, true
		from = append(from, name)
		for slot, a := range t.Slots {
			slots[slot] = append(slots[slot], a)
		}
	}
	if len(missing) > 0 || len(link.From) == 0 {
		return nil, missing, nil
	}
	back, err := link.Op.Backward(arrays)
	if err != nil {
		return nil, nil, err
	}
	for i, a := range back {
		if err := checkShape(p.Layer, strings.TrimPrefix(link.From[i], p.Path+"/"), a); err != nil {
			return nil, nil, err
		}
		tensors = append(tensors, weights.Tensor{Name: link.From[i], Array: a, From: from, Operation: "inverse of " + link.Op.String()})
		if _, same := link.Op.(weights.Same); same {
			tensors[i].Operation = link.Op.String()
		}
	}
	for _, slot := range slices.Sorted(maps.Keys(slots)) {
		if len(slots[slot]) != len(link.To) {
			continue
		}
		buffers, err := weights.BackwardSlots(link.Op, slots[slot])
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", slot, err)
		}
		for i, a := range buffers {
			if tensors[i].Slots == nil {
				tensors[i].Slots = map[string]storage.Array{}
			}
			tensors[i].Slots[slot] = a
		}
	}
	return tensors, nil, nil
}

// checkShape fails if the layer has the weight with another shape.
func checkShape(l *Layer, name string, a storage.Array) error {
	if have, ok := l.Weight(name); ok && have.Array.Shape != nil && !slices.Equal(have.Array.Shape, a.Shape) {
		return fmt.Errorf("shape %v; the architecture has %v: %w", a.Shape, have.Array.Shape, weights.ErrShape)
	}
	return nil
}
