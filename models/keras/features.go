package keras

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/h5dnn/h5dnn/models/weights"
)

// A ShapeError is an error of kind ErrAmbiguous: the order of flattened features depends
// on a shape that the model does not state. LinkOptions.Flatten sets it.
type ShapeError struct {
	Layer string // which flattens
	Shape []int  // as far as it is known, with -1 for the rest
}

func (e *ShapeError) Error() string {
	if e.Shape == nil {
		return fmt.Sprintf("the shape of the input of %s, which flattens it, is not known", e.Layer)
	}
	return fmt.Sprintf("the shape %v of the input of %s, which flattens it, is not known in full", e.Shape, e.Layer)
}

// Unwrap returns ErrAmbiguous.
func (e *ShapeError) Unwrap() error { return weights.ErrAmbiguous }

// A featureLayout is what is known of the order of the elements of a layer's output: Keras has
// the channels last, PyTorch first.
type featureLayout struct {
	// flattened are the shapes of features before they were flattened, one after another;
	// nil if both have them in the same order. One of a single number keeps its order.
	flattened [][]int
	spatial   bool // the output has channels and, in PyTorch, spatial axes after them
	layout    layout
	err       error
}

// traceFeatures follows the orders of features through m, and returns the orders of its outputs.
func traceFeatures(m *Model, o LinkOptions) (*tracer, []featureLayout) {
	t := &tracer{given: o.Flatten, inputs: map[string]featureLayout{}, reshapes: reshapesOf(m), refused: map[string]error{}, notes: map[string]string{}}
	outputs, _ := t.model(m, "", nil) // or an error that translations of m report
	return t, outputs
}

// describeOutputs adds to the plans of the layers that are outputs of m, of these orders, that
// PyTorch has their features in another order, or computes something else.
func describeOutputs(plans []LayerPlan, m *Model, outputs []featureLayout) []LayerPlan {
	for i, o := range outputs {
		name := m.Outputs[i].Layer
		l := m.Layer(name)
		if l == nil || o.err == nil && o.flattened == nil {
			continue
		}
		at := slices.IndexFunc(plans, func(p LayerPlan) bool { return p.Path == name })
		if at < 0 {
			at, plans = len(plans), append(plans, LayerPlan{Path: name, Layer: l})
		}
		var unknown *ShapeError
		switch p := &plans[at]; {
		case errors.As(o.err, &unknown):
			p.Note = fmt.Sprintf("the output %s may have its features in another order in PyTorch: %v", name, o.err)
		case o.err != nil && p.Refused == nil:
			p.Refused = o.err
		case o.err == nil:
			p.Note = fmt.Sprintf("the output %s has its features in another order in PyTorch, with the channels first", name)
		}
	}
	return plans
}

type tracer struct {
	given    map[string][]int         // by the name of a layer
	inputs   map[string]featureLayout // by the path of a layer
	reshapes map[string]reshape
	refused  map[string]error  // layers that mix orders of features, by path
	notes    map[string]string // on layers that PyTorch does not need, by path
}

// model follows the layers of m, whose inputs have these orders, and returns those of its
// outputs.
func (t *tracer) model(m *Model, prefix string, inputs []featureLayout) ([]featureLayout, error) {
	return walk(m, inputs, func(layer *Layer, node int, in []featureLayout) ([]featureLayout, error) {
		l := settingsOf(layer)
		l.path = prefix + l.Name
		switch {
		case l.Model != nil:
			return t.model(l.Model, l.path+"/", in)
		case l.Class == "InputLayer" && len(in) > 0:
			return in, nil
		case len(in) == 0:
			in = []featureLayout{{}}
		}
		out := t.output(l, in)
		if node > 0 {
			return []featureLayout{out}, nil
		}
		t.inputs[l.path] = in[0]
		if shape, ok := t.given[l.Name]; ok && !flattens(l) {
			t.inputs[l.path] = featureLayout{flattened: [][]int{shape}}
		}
		var unknown *ShapeError
		if out.err != nil && !errors.As(out.err, &unknown) && !slices.ContainsFunc(in, func(o featureLayout) bool { return o.err != nil }) {
			t.refused[l.path] = out.err
		}
		return []featureLayout{out}, nil
	})
}

// output returns the order of the output of l.
func (t *tracer) output(l *settings, in []featureLayout) featureLayout {
	switch c := classes[l.Class]; {
	case c.order != nil:
		return c.order(t, l, in)
	case c.kept:
		out := in[0]
		out.layout = layoutOf(l, out.layout)
		return out
	case c.spatial:
		return featureLayout{spatial: true, layout: layoutOf(l, in[0].layout)}
	case c.links != nil:
		return featureLayout{}
	}
	return featureLayout{err: in[0].permuted(l)}
}

// newOrder is the order of features that Keras and PyTorch compute alike.
func newOrder(*tracer, *settings, []featureLayout) featureLayout { return featureLayout{} }

// flattenOrder is the order of the output of a Flatten.
func flattenOrder(t *tracer, l *settings, inputs []featureLayout) featureLayout {
	in, moved := inputs[0], l.Class == "Flatten" && channelsFirst(l) // to the end, by Keras
	switch {
	case in.spatial && in.layout == channelsAreLast && moved:
		t.refused[l.path] = fmt.Errorf("%s %s: %w", l.Class, l.Name, notInPyTorch("data_format channels_first, of images that have the channels last"))
	case in.spatial && in.layout == axesArePermuted:
		t.refused[l.path] = fmt.Errorf("%s %s: a Permute has reordered the axes of the images that it flattens, which are in another order in PyTorch: %w", l.Class, l.Name, weights.ErrAmbiguous)
	}
	shape, given := t.given[l.Name]
	if !given {
		if len(l.InputShapes) == 0 {
			return featureLayout{err: &ShapeError{Layer: l.Name}}
		}
		switch shape = l.InputShapes[0]; {
		case len(shape) < 2:
			return in
		case len(shape) == 2 && !in.spatial: // (steps, features)
			return featureLayout{}
		case moved:
			shape = append(slices.Clone(shape[1:]), shape[0])
		case in.layout == channelsAreFirst: // as PyTorch flattens them
			return featureLayout{}
		}
	}
	if slices.Min(append([]int{1}, shape...)) < 1 {
		return featureLayout{err: &ShapeError{Layer: l.Name, Shape: shape}}
	}
	if channels := shape[len(shape)-1]; channels == 1 || channels == product(shape) {
		return featureLayout{}
	}
	return featureLayout{flattened: [][]int{shape}}
}

// flattens reports whether the output of l is a vector of all elements.
func flattens(l *settings) bool {
	return l.Class == "Flatten" || l.Class == "Reshape" && len(l.Ints("target_shape")) == 1
}

// reshapeOrder is the order of the output of a Reshape.
func reshapeOrder(t *tracer, l *settings, in []featureLayout) featureLayout {
	if flattens(l) {
		return flattenOrder(t, l, in)
	}
	return imageOrder(t, l, in)
}

// imageOrder is the order of an output whose shape says whether it has channels and spatial axes.
func imageOrder(t *tracer, l *settings, in []featureLayout) featureLayout {
	shape := slices.Concat(l.OutputShapes, l.InputShapes)
	if len(shape) > 0 && len(in[0].flattened) == 1 && slices.Equal(shape[0], in[0].flattened[0]) {
		return featureLayout{spatial: true}
	}
	return featureLayout{spatial: len(shape) > 0 && len(shape[0]) > 2, layout: t.reshapes[l.path].layout, err: in[0].permuted(l)}
}

// mergeOrder is the order of several inputs that are combined elementwise.
func mergeOrder(_ *tracer, l *settings, in []featureLayout) featureLayout {
	for _, other := range in[1:] {
		if !slices.EqualFunc(other.flattened, in[0].flattened, slices.Equal) {
			return featureLayout{err: fmt.Errorf("%s %s: its inputs are flattened from different shapes: %w", l.Class, l.Name, weights.ErrAmbiguous)}
		}
	}
	return in[0]
}

// denseOrder is the order of the output of a layer that computes the last axis from the last axis of its input.
func denseOrder(t *tracer, l *settings, in []featureLayout) featureLayout {
	if shape := t.reshapes[l.path].shape; shape != nil {
		return featureLayout{flattened: [][]int{shape}}
	}
	return featureLayout{spatial: in[0].spatial && len(l.InputShapes) > 0 && len(l.InputShapes[0]) > 2, layout: in[0].layout}
}

// permuted returns an error if a layer that is not known takes features whose order
// differs.
func (o featureLayout) permuted(l *settings) error {
	if o.err == nil && o.flattened != nil {
		return fmt.Errorf("%s %s takes features that PyTorch has in another order: %w", l.Class, l.Name, weights.ErrAmbiguous)
	}
	return o.err
}

// concatOrder is the order of several outputs joined.
func concatOrder(_ *tracer, l *settings, in []featureLayout) featureLayout {
	out := featureLayout{}
	for i, o := range in {
		if o.err != nil {
			return o
		}
		out.spatial, out.layout = out.spatial || o.spatial, max(out.layout, o.layout)
		switch {
		case o.flattened != nil:
			out.flattened = append(out.flattened, o.flattened...)
		case i < len(l.InputShapes) && len(l.InputShapes[i]) == 1:
			out.flattened = append(out.flattened, l.InputShapes[i])
		default:
			out.flattened = append(out.flattened, []int{-1})
		}
	}
	if !slices.ContainsFunc(in, func(o featureLayout) bool { return o.flattened != nil }) {
		out.flattened = nil
	}
	if slices.ContainsFunc(out.flattened, func(shape []int) bool { return slices.Min(shape) < 1 }) {
		return featureLayout{err: fmt.Errorf("%s %s: the size of an input is not known: %w", l.Class, l.Name, weights.ErrAmbiguous)}
	}
	return out
}

// A layout is where Keras has the channels of images. PyTorch has them first.
type layout int

const (
	unknownLayout layout = iota // of inputs that no layer has taken yet; as if the channels were last
	channelsAreLast
	channelsAreFirst // as in PyTorch
	axesArePermuted  // by a Permute, in another way
)

// layoutOf returns the layout of the input and the output of a layer whose data_format says
// it, or of normalization over the first axis.
func layoutOf(l *settings, in layout) layout {
	switch {
	case classes[l.Class].spatial:
		if channelsFirst(l) {
			return channelsAreFirst
		}
		return channelsAreLast
	case in == unknownLayout && (l.Class == "BatchNormalization" || l.Class == "GroupNormalization") && slices.Equal(l.Ints("axis"), []int{1}):
		return channelsAreFirst
	}
	return in
}

// permuteOrder is the order of the output of a Permute.
func permuteOrder(t *tracer, l *settings, inputs []featureLayout) featureLayout {
	in, dims := inputs[0], l.Ints("dims")
	if !in.spatial || slices.IsSorted(dims) {
		return featureLayout{err: in.permuted(l)}
	}
	toFirst, toLast := channelsMoved(len(dims))
	switch first := in.layout == channelsAreFirst; {
	case !first && slices.Equal(dims, toFirst):
		t.notes[l.path] = fmt.Sprintf("the module for Permute %s is left out in PyTorch, where the channels are first already", l.Name)
		return featureLayout{spatial: true, layout: channelsAreFirst}
	case first && slices.Equal(dims, toLast):
		t.notes[l.path] = fmt.Sprintf("the module for Permute %s is left out in PyTorch, where the channels stay first", l.Name)
		return featureLayout{spatial: true, layout: channelsAreLast}
	case in.layout == unknownLayout && slices.Equal(dims, toLast): // the input has them first
		return featureLayout{spatial: true, layout: channelsAreLast}
	}
	return featureLayout{spatial: true, layout: axesArePermuted}
}

// reordered returns links with the features of their input in PyTorch's order.
func reordered(l *Layer, links []weights.Link, o featureLayout) ([]weights.Link, error) {
	features := classes[l.Class].features
	if o.err != nil && len(features) > 0 {
		return nil, o.err
	}
	if o.flattened == nil {
		return links, nil
	}
	list := slices.Clone(links)
	for i, link := range list {
		if len(link.From) > 0 && slices.Contains(features, link.From[0]) {
			list[i].Op = weights.Chain(weights.FeaturesOp(0, o.flattened...), link.Op)
		}
	}
	return list, nil
}

// checkGiven fails for names of layers that m does not have.
func checkGiven(m *Model, given map[string][]int) error {
	for _, name := range slices.Sorted(maps.Keys(given)) {
		found := false
		for _, l := range m.All() {
			found = found || l.Name == name
		}
		if !found {
			return fmt.Errorf("shape of features for layer %s: the model has no layer of that name", name)
		}
		if len(given[name]) == 0 || slices.Min(given[name]) < 1 {
			return fmt.Errorf("shape %v of features for layer %s: want sizes of at least 1", given[name], name)
		}
	}
	return nil
}
