package keras

import (
	"fmt"
	"slices"

	"github.com/h5dnn/h5dnn/models/weights"
)

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
func layoutOf(l *Layer, in layout) layout {
	switch {
	case classes[l.Class].spatial:
		if channelsFirst(settingsOf(l)) {
			return channelsAreFirst
		}
		return channelsAreLast
	case in == unknownLayout && normalizesFirst(l):
		return channelsAreFirst
	}
	return in
}

// normalizesFirst reports whether l normalizes each channel, and the channels are first.
func normalizesFirst(l *Layer) bool {
	return (l.Class == "BatchNormalization" || l.Class == "GroupNormalization") && slices.Equal(settingsOf(l).Ints("axis"), []int{1})
}

// permuteOrder is the order of the output of a Permute.
func permuteOrder(t *tracer, l *Layer, path string, inputs []featureLayout) featureLayout {
	in := inputs[0]
	dims := settingsOf(l).Ints("dims")
	if !in.spatial || slices.IsSorted(dims) {
		return featureLayout{err: in.permuted(l)}
	}
	last := len(dims)
	toFirst, toLast := []int{last}, []int{}
	for axis := 1; axis < last; axis++ {
		toFirst, toLast = append(toFirst, axis), append(toLast, axis+1)
	}
	toLast = append(toLast, 1)
	switch {
	case in.layout != channelsAreFirst && slices.Equal(dims, toFirst):
		t.note(path, "the module for Permute %s is left out in PyTorch, where the channels are first already", l.Name)
		return featureLayout{spatial: true, layout: channelsAreFirst}
	case in.layout == channelsAreFirst && slices.Equal(dims, toLast):
		t.note(path, "the module for Permute %s is left out in PyTorch, where the channels stay first", l.Name)
		return featureLayout{spatial: true, layout: channelsAreLast}
	case in.layout == unknownLayout && slices.Equal(dims, toLast): // the input has them first
		return featureLayout{spatial: true, layout: channelsAreLast}
	}
	return featureLayout{spatial: true, layout: axesArePermuted}
}

// note records a note on the layer of that path.
func (t *tracer) note(path, format string, args ...any) {
	t.notes[path] = fmt.Sprintf(format, args...)
}

// checkFlattened records that l flattens what PyTorch has in another order than one of which
// the channels are last, or first.
func (t *tracer) checkFlattened(l *Layer, path string, in featureLayout) {
	var err error
	switch {
	case !in.spatial:
		return
	case in.layout == channelsAreLast && flattensFirst(l):
		err = notInPyTorch("data_format channels_first, of images that have the channels last")
	case in.layout == axesArePermuted:
		err = fmt.Errorf("a Permute has reordered the axes of the images that it flattens, which are in another order in PyTorch: %w", weights.ErrAmbiguous)
	default:
		return
	}
	t.refused[path] = fmt.Errorf("%s %s: %w", l.Class, l.Name, err)
}

// flattensFirst reports whether l is a Flatten that moves the first axis to the end.
func flattensFirst(l *Layer) bool {
	return l.Class == "Flatten" && l.Config["data_format"] == "channels_first"
}
