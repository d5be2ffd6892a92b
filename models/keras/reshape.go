package keras

import (
	"fmt"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/models/weights"
	"github.com/h5dnn/h5dnn/views"
)

// A reshape says that features become an image (H, W, C) in Keras, and (C, H, W) by
// PyTorch's x.view(-1, C, H, W).
type reshape struct {
	shape  []int  // of the image in Keras; nil if no weights are reordered
	dense  bool   // of the Dense that computes the features, instead of the Reshape
	layout layout // of the image, where the layers that take it say so
	note   string // for the Reshape
}

// features returns the links of a Dense with its outputs in PyTorch's order.
func (r reshape) features(links []weights.Link) []weights.Link {
	if !r.dense {
		return links
	}
	list := slices.Clone(links)
	for i, link := range list {
		list[i].Op = weights.Chain(link.Op, weights.FeaturesOp(0, r.shape))
	}
	return list
}

// reshapesOf returns the layers of m that make images of vectors, and each Dense that
// computes such a vector, by their paths. Between the two there may be layers that keep the
// order of features.
func reshapesOf(m *Model) map[string]reshape {
	found := map[string]reshape{}
	addReshapes(found, m, "")
	return found
}

func addReshapes(found map[string]reshape, m *Model, prefix string) {
	inputs, uses := wiring(m)
	for i := range m.Layers {
		l := &m.Layers[i]
		if l.Model != nil {
			addReshapes(found, l.Model, prefix+l.Name+"/")
			continue
		}
		if l.Class == "Reshape" && takenFirst(l, uses) {
			found[prefix+l.Name] = reshape{layout: channelsAreFirst}
			continue
		}
		shape, ok := imageOf(m, l, uses)
		if !ok {
			continue
		}
		view := commaSeparated(append([]int{shape[len(shape)-1]}, shape[:len(shape)-1]...))
		from := sourceOf(m, l, inputs, uses)
		if from == nil {
			found[prefix+l.Name] = reshape{note: fmt.Sprintf("%s %s is %s in PyTorch: its input keeps Keras's order of features, in which the channels are last", l.Class, l.Name, permutedView(shape))}
			continue
		}
		found[prefix+from.Name] = reshape{shape: shape, dense: true}
		found[prefix+l.Name] = reshape{shape: shape, note: fmt.Sprintf("%s %s is x.view(-1, %s) in PyTorch: the outputs of %s are reordered", l.Class, l.Name, view, from.Name)}
	}
}

// commaSeparated returns numbers separated by commas, as Python's arguments.
func commaSeparated(list []int) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(list), "[]"), " ", ", ")
}

// permutedView returns PyTorch's operations that make images with the channels first of features
// whose image in Keras has a shape.
func permutedView(shape []int) string {
	axes := []int{0, len(shape)}
	for axis := 1; axis < len(shape); axis++ {
		axes = append(axes, axis)
	}
	return fmt.Sprintf("x.view(-1, %s).permute(%s)", commaSeparated(shape), commaSeparated(axes))
}

// wiring returns the inputs of the layers of m by name, and how often each is used.
func wiring(m *Model) (inputs map[string][]string, uses map[string][]*Layer) {
	inputs, uses = map[string][]string{}, map[string][]*Layer{}
	for i := range m.Layers {
		l := &m.Layers[i]
		var from []string
		for _, call := range l.Calls {
			for _, ref := range call {
				from = append(from, ref.Layer)
			}
		}
		if len(l.Calls) == 0 && i > 0 && l.Class != "InputLayer" { // of a Sequential
			from = []string{m.Layers[i-1].Name}
		}
		inputs[l.Name] = from
		for _, name := range from {
			uses[name] = append(uses[name], l)
		}
	}
	for _, ref := range m.Outputs {
		if m.Class != "Sequential" {
			uses[ref.Layer] = append(uses[ref.Layer], nil)
		}
	}
	return inputs, uses
}

// imageOf returns the shape of the image that l makes of a vector, if that has several
// channels and is not a sequence.
func imageOf(m *Model, l *Layer, uses map[string][]*Layer) (shape []int, ok bool) {
	if l.Class != "Reshape" || len(l.InputShapes) != 1 || len(l.InputShapes[0]) != 1 || len(l.OutputShapes) != 1 {
		return nil, false
	}
	shape = l.OutputShapes[0]
	if len(shape) < 2 || slices.Min(shape) < 1 || len(shape) == 2 && !isConvolved(l, uses, len(m.Layers)) {
		return nil, false
	}
	channels := shape[len(shape)-1]
	return shape, channels > 1 && channels < views.Of(shape...).Len()
}

// isConvolved reports whether the output of l goes to a layer of which PyTorch's has the
// channels first, directly or through elementwise layers.
func isConvolved(l *Layer, uses map[string][]*Layer, limit int) bool {
	for ; limit > 0 && len(uses[l.Name]) == 1 && uses[l.Name][0] != nil; limit-- {
		if l = uses[l.Name][0]; classes[l.Class].spatial {
			return true
		}
		if !classes[l.Class].kept {
			break
		}
	}
	return false
}

// takenFirst reports whether the output of l goes to a layer that takes images with the channels
// first, directly or through layers that keep the order of features.
func takenFirst(l *Layer, uses map[string][]*Layer) bool {
	seen := map[*Layer]bool{nil: true}
	for next := []*Layer{l}; len(next) > 0; next = next[1:] {
		for _, user := range uses[next[0].Name] {
			switch {
			case seen[user]:
			case layoutOf(user, unknownLayout) == channelsAreFirst:
				return true
			case classes[user.Class].kept:
				next = append(next, user)
			}
			seen[user] = true
		}
	}
	return false
}

// sourceOf returns the Dense whose output l takes, directly or through layers that keep the
// order of features, if nothing else takes any of these; or nil.
func sourceOf(m *Model, l *Layer, inputs map[string][]string, uses map[string][]*Layer) *Layer {
	for range m.Layers {
		from := inputs[l.Name]
		if len(from) != 1 || len(uses[from[0]]) != 1 {
			return nil
		}
		if l = m.Layer(from[0]); l == nil || l.Class == "Dense" && len(inputs[l.Name]) <= 1 && len(l.InputShapes) == 1 && len(l.InputShapes[0]) == 1 {
			return l
		}
		if l.Model != nil || !classes[l.Class].kept {
			return nil
		}
	}
	return nil
}
