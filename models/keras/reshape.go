package keras

import (
	"fmt"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/models/weights"
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
	w := wiringOf(m)
	for i := range m.Layers {
		l := &m.Layers[i]
		switch shape := w.imageOf(l); {
		case l.Model != nil:
			addReshapes(found, l.Model, prefix+l.Name+"/")
		case l.Class == "Reshape" && w.takenFirst(l):
			found[prefix+l.Name] = reshape{layout: channelsAreFirst}
		case shape == nil:
		default:
			r := reshape{shape: shape}
			last := len(shape) - 1
			if from := w.sourceOf(l); from != nil {
				found[prefix+from.Name] = reshape{shape: shape, dense: true}
				view := append([]int{shape[last]}, shape[:last]...)
				r.note = fmt.Sprintf("%s %s is x.view(-1, %s) in PyTorch: the outputs of %s are reordered", l.Class, l.Name, commaSeparated(view), from.Name)
			} else {
				axes := []int{0, len(shape)}
				for axis := range last {
					axes = append(axes, axis+1)
				}
				r = reshape{note: fmt.Sprintf("%s %s is x.view(-1, %s).permute(%s) in PyTorch: its input keeps Keras's order of features, in which the channels are last",
					l.Class, l.Name, commaSeparated(shape), commaSeparated(axes))}
			}
			found[prefix+l.Name] = r
		}
	}
}

// commaSeparated returns numbers separated by commas, as Python's arguments.
func commaSeparated(list []int) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(list), "[]"), " ", ", ")
}

// A wiring is the connections of the layers of a model.
type wiring struct {
	model  *Model
	inputs map[string][]string // by the names of layers
	uses   map[string][]*Layer // nil for outputs of the model
}

func wiringOf(m *Model) wiring {
	w := wiring{m, map[string][]string{}, map[string][]*Layer{}}
	for i := range m.Layers {
		l := &m.Layers[i]
		for _, ref := range slices.Concat(l.Calls...) {
			w.inputs[l.Name] = append(w.inputs[l.Name], ref.Layer)
			w.uses[ref.Layer] = append(w.uses[ref.Layer], l)
		}
	}
	for _, ref := range m.Outputs {
		if m.Class != "Sequential" {
			w.uses[ref.Layer] = append(w.uses[ref.Layer], nil)
		}
	}
	return w
}

// before returns the only layer whose output a layer takes, if nothing else takes it; or nil.
func (w wiring) before(l *Layer) *Layer {
	if from := w.inputs[l.Name]; len(from) == 1 && len(w.uses[from[0]]) == 1 {
		return w.model.Layer(from[0])
	}
	return nil
}

// imageOf returns the shape of the image that l makes of a vector, if that has several
// channels and is not a sequence; or nil.
func (w wiring) imageOf(l *Layer) []int {
	if l.Class != "Reshape" || len(l.InputShapes) != 1 || len(l.InputShapes[0]) != 1 || len(l.OutputShapes) != 1 {
		return nil
	}
	shape := l.OutputShapes[0]
	if len(shape) < 2 || slices.Min(shape) < 1 || len(shape) == 2 && !w.isConvolved(l) {
		return nil
	}
	if channels := shape[len(shape)-1]; channels == 1 || channels == product(shape) {
		return nil
	}
	return shape
}

// isConvolved reports whether the output of l goes to a layer of which PyTorch's has the
// channels first, directly or through elementwise layers.
func (w wiring) isConvolved(l *Layer) bool {
	for range w.model.Layers {
		if uses := w.uses[l.Name]; len(uses) != 1 || uses[0] == nil {
			return false
		}
		if l = w.uses[l.Name][0]; classes[l.Class].spatial || !classes[l.Class].kept {
			return classes[l.Class].spatial
		}
	}
	return false
}

// takenFirst reports whether the output of l goes to a layer that takes images with the channels
// first, directly or through layers that keep the order of features.
func (w wiring) takenFirst(l *Layer) bool {
	seen := map[*Layer]bool{nil: true}
	for next := []*Layer{l}; len(next) > 0; next = next[1:] {
		for _, user := range w.uses[next[0].Name] {
			switch {
			case seen[user]:
			case layoutOf(settingsOf(user), unknownLayout) == channelsAreFirst:
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
func (w wiring) sourceOf(l *Layer) *Layer {
	for range w.model.Layers {
		switch l = w.before(l); {
		case l == nil || l.Class == "Dense" && len(w.inputs[l.Name]) <= 1 && len(l.InputShapes) == 1 && len(l.InputShapes[0]) == 1:
			return l
		case l.Model != nil || !classes[l.Class].kept:
			return nil
		}
	}
	return nil
}
