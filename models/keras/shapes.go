package keras

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// SetInputShapes gives the inputs of m these shapes, of a sample and in Keras's order of
// axes, where they are unknown. It fails if a size that is known differs.
func SetInputShapes(m *Model, shapes ...[]int) error {
	if len(shapes) != len(m.Inputs) {
		return fmt.Errorf("%d shapes for %d inputs: %w", len(shapes), len(m.Inputs), ErrConfig)
	}
	for i, r := range m.Inputs {
		l := m.Layer(r.Layer)
		if known := inputShape(l); len(known) == 1 {
			fits := len(known[0]) == len(shapes[i])
			for k := range known[0] {
				fits = fits && (known[0][k] < 0 || known[0][k] == shapes[i][k])
			}
			if !fits {
				return fmt.Errorf("%s: samples of %v; the model takes %v: %w", l.Name, shapes[i], known[0], ErrConfig)
			}
		}
		batch := []any{nil}
		for _, n := range shapes[i] {
			batch = append(batch, float64(n))
		}
		l.Config = maps.Clone(l.Config)
		l.Config["batch_shape"] = batch
	}
	inferShapes(m)
	return nil
}

// inferShapes sets the shapes of the inputs and outputs of the layers of m, as far as they
// follow from those of the InputLayers or from what the file says.
func inferShapes(m *Model) { inferModel(m, nil) }

// inferModel infers the shapes within m for inputs of those shapes, or for those that its
// InputLayers have, and returns the shapes of the outputs.
func inferModel(m *Model, inputs [][]int) [][]int {
	known := map[Ref][]int{}
	calls, err := order(m)
	if err != nil {
		return nil // as translations of m report
	}
	for _, c := range calls {
		l := &m.Layers[c.layer]
		var in [][]int
		for _, r := range l.Calls[c.node] {
			in = append(in, known[r])
		}
		at := slices.IndexFunc(m.Inputs, func(r Ref) bool { return r.Layer == l.Name })
		if at >= 0 && at < len(inputs) && inputs[at] != nil {
			in = [][]int{inputs[at]}
		}
		out := outputShapes(l, in)
		if c.node == 0 {
			l.OutputShapes = out
			if len(in) > 0 && !slices.ContainsFunc(in, func(s []int) bool { return s == nil }) {
				l.InputShapes = in
			}
		}
		for i, shape := range out {
			known[Ref{Layer: l.Name, Node: c.node, Tensor: i}] = shape
		}
	}
	var out [][]int
	for _, r := range m.Outputs {
		out = append(out, known[r])
	}
	return out
}

// outputShapes returns the shapes of the outputs of l, or nil.
func outputShapes(l *Layer, in [][]int) [][]int {
	switch {
	case l.Class == "InputLayer" && len(in) == 0:
		return inputShape(l)
	case l.Class == "InputLayer":
		return in
	case l.Model != nil:
		return inferModel(l.Model, in)
	}
	if slices.ContainsFunc(in, func(s []int) bool { return s == nil }) {
		switch n := axesOf(l.Class); {
		case len(l.InputShapes) >= len(in):
			in = l.InputShapes // of build_config
		case len(in) == 1 && n > 0:
			in = [][]int{slices.Repeat([]int{-1}, n+1)} // behind a layer of an unknown class
		default:
			return nil
		}
	}
	c, ok := classes[l.Class]
	if !ok || len(in) == 0 {
		return nil
	}
	if c.shapes == nil {
		return in[:1]
	}
	out, err := c.shapes(l, in)
	if err != nil {
		return nil // as the translation of l reports
	}
	return out
}

// inputShape returns the shape that an InputLayer says, without the batch.
func inputShape(l *Layer) [][]int {
	for _, name := range []string{"batch_shape", "batch_input_shape"} {
		list, ok := l.Config[name].([]any)
		if !ok || len(list) == 0 {
			continue
		}
		shape := make([]int, len(list)-1)
		for i, n := range list[1:] {
			shape[i] = -1
			if size, ok := n.(float64); ok {
				shape[i] = int(size)
			}
		}
		return [][]int{shape}
	}
	return nil
}

// channelsFirst reports whether l takes inputs (N, C, …).
func channelsFirst(l *Layer) (bool, error) {
	format, err := l.Text("data_format", "channels_last")
	if err != nil || format == "channels_last" || format == "default" {
		return false, err
	}
	if format != "channels_first" {
		return false, fmt.Errorf("data_format %q; want channels_last or channels_first: %w", format, ErrConfig)
	}
	return true, nil
}

// A spatial shape is one of a layer that slides a window, whatever the order of axes.
type spatial struct {
	sizes    []int
	channels int
	first    bool // (C, …)
}

// spatialOf reads the shape of the input of a layer with the given number of spatial axes.
func spatialOf(l *Layer, shape []int, axes int) (s spatial, err error) {
	if s.first, err = channelsFirst(l); err != nil {
		return s, err
	}
	if len(shape) != axes+1 {
		return s, fmt.Errorf("input of shape %v; want %d spatial axes and channels: %w", shape, axes, ErrConfig)
	}
	if s.first {
		s.channels, s.sizes = shape[0], shape[1:]
	} else {
		s.sizes, s.channels = shape[:axes], shape[axes]
	}
	return s, nil
}

// inputOf returns the shape of the input of a layer with the given number of spatial axes, of unknown
// sizes if it is not known.
func inputOf(l *Layer, axes int) []int {
	if len(l.InputShapes) == 0 || len(l.InputShapes[0]) != axes+1 {
		return slices.Repeat([]int{-1}, axes+1)
	}
	return l.InputShapes[0]
}

// with returns the shape with other sizes and channels.
func (s spatial) with(sizes []int, channels int) []int {
	if s.first {
		return append([]int{channels}, sizes...)
	}
	return append(slices.Clone(sizes), channels)
}

// axesOf returns the number of spatial axes that the name of a class says: 2 for
// MaxPooling2D and Conv2DTranspose.
func axesOf(class string) int {
	at := strings.IndexAny(class, "123")
	if at < 0 {
		return 0
	}
	return int(class[at] - '0')
}

// each returns a setting with a number for each of the given number of axes.
func each(l *Layer, name string, axes, otherwise int) ([]int, error) {
	list, err := l.Ints(name)
	if err != nil {
		return nil, err
	}
	switch len(list) {
	case 0:
		list = []int{otherwise}
		fallthrough
	case 1:
		return slices.Repeat(list, axes), nil
	case axes:
		return list, nil
	}
	return nil, fmt.Errorf("%s %v; want %d numbers: %w", name, list, axes, ErrConfig)
}

// A window is what convolutions and pools move over their input.
type window struct {
	kernel, stride, dilation []int
	padding                  string // valid, same or causal
}

// windowOf reads the settings of a window.
func windowOf(l *Layer, axes int, kernel string, stride []int) (w window, err error) {
	if w.kernel, err = each(l, kernel, axes, 2); err != nil {
		return w, err
	}
	if w.stride = stride; l.Config["strides"] != nil || stride == nil {
		if w.stride, err = each(l, "strides", axes, 1); err != nil {
			return w, err
		}
	}
	if w.dilation, err = each(l, "dilation_rate", axes, 1); err != nil {
		return w, err
	}
	if w.padding, err = l.Text("padding", "valid"); err != nil {
		return w, err
	}
	for i := range axes {
		if w.kernel[i] < 1 || w.stride[i] < 1 || w.dilation[i] < 1 {
			return w, fmt.Errorf("kernel %v, strides %v, dilation_rate %v; want at least 1: %w", w.kernel, w.stride, w.dilation, ErrConfig)
		}
	}
	if w.padding = strings.ToLower(w.padding); w.padding != "valid" && w.padding != "same" && w.padding != "causal" {
		return w, unsupported("padding %q", w.padding)
	}
	return w, nil
}

// reach returns the number of elements from the first to the last of a window.
func (w window) reach(axis int) int { return (w.kernel[axis]-1)*w.dilation[axis] + 1 }

// sizes returns the sizes of the output.
func (w window) sizes(in []int) ([]int, error) {
	out := make([]int, len(in))
	for i, n := range in {
		switch {
		case n < 0:
			out[i] = -1
		case w.padding == "valid":
			out[i] = (n-w.reach(i))/w.stride[i] + 1
			if n < w.reach(i) {
				return nil, fmt.Errorf("a window of %d over %d elements: %w", w.reach(i), n, ErrConfig)
			}
		default:
			out[i] = (n + w.stride[i] - 1) / w.stride[i]
		}
	}
	return out, nil
}

// pad returns the zeros before and after each axis. In TensorFlow, "same" pads as much as
// n/stride windows need, one more after than before.
func (w window) pad(in []int) (before, after []int, err error) {
	before, after = make([]int, len(in)), make([]int, len(in))
	for i, n := range in {
		switch {
		case w.padding == "valid":
		case w.padding == "causal":
			before[i] = w.reach(i) - 1
		case w.stride[i] > 1 && n < 0:
			return nil, nil, unsupported("padding \"same\" with strides %v, whose zeros depend on the size of the input, which is not known", w.stride)
		default:
			total := w.reach(i) - 1
			if w.stride[i] > 1 {
				total = max(0, ((n+w.stride[i]-1)/w.stride[i]-1)*w.stride[i]+w.reach(i)-n)
			}
			before[i], after[i] = total/2, total-total/2
		}
	}
	return before, after, nil
}

// product returns the number of elements, or -1.
func product(shape []int) int {
	n := 1
	for _, size := range shape {
		if size < 0 {
			return -1
		}
		n *= size
	}
	return n
}
