package keras

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// SetInputShapes gives each input of m the shape that is given for its name, of a sample and in Keras's order of
// axes; nil leaves it as it is. It fails if a size that is known differs.
func SetInputShapes(m *Model, given func(input string) []int) error {
	for _, r := range m.Inputs {
		l, shape := m.Layer(r.Layer), given(r.Layer)
		if len(shape) == 0 {
			continue
		}
		if known := inputShape(l); len(known) == 1 {
			fits := len(known[0]) == len(shape)
			for k := range known[0] {
				fits = fits && (known[0][k] < 0 || known[0][k] == shape[k])
			}
			if !fits {
				return fmt.Errorf("%s: samples of %v; the model takes %v: %w", l.Name, shape, known[0], ErrConfig)
			}
		}
		batch := []any{nil}
		for _, n := range shape {
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
	out, err := walk(m, inputs, func(l *Layer, node int, in [][]int) ([][]int, error) {
		out := outputShapes(l, in)
		if node == 0 {
			l.OutputShapes = out
			if len(in) > 0 && !slices.ContainsFunc(in, func(s []int) bool { return s == nil }) {
				l.InputShapes = in
			}
		}
		return out, nil
	})
	if err != nil {
		return nil // as translations of m report
	}
	return out
}

// outputShapes returns the shapes of the outputs of l, or nil.
func outputShapes(l *Layer, in [][]int) [][]int {
	switch {
	case l.Class == "InputLayer" && (len(in) == 0 || in[0] == nil):
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
	out, err := shapesOfClass(settingsOf(l), c, in)
	if err != nil {
		return nil // as the translation of l reports
	}
	return out
}

// shapesOfClass returns the shapes of the outputs of a layer of class c.
func shapesOfClass(l *settings, c class, in [][]int) ([][]int, error) {
	if c.shapes == nil {
		return in[:1], nil
	}
	out := c.shapes(l, in)
	return out, l.failed()
}

// inputShape returns the shape that an InputLayer says, without the batch.
func inputShape(l *Layer) [][]int {
	for _, name := range []string{"batch_shape", "batch_input_shape"} {
		if shapes := shapesOf(l.Config[name]); shapes != nil {
			return shapes
		}
	}
	return nil
}

// channelsFirst reports whether l takes inputs (N, C, …).
func channelsFirst(l *settings) bool {
	format := l.Text("data_format", "channels_last")
	if !slices.Contains([]string{"channels_last", "channels_first", "default"}, format) {
		l.invalid("data_format %q; want channels_last or channels_first", format)
	}
	return format == "channels_first"
}

// A spatial shape is one of a layer that slides a window, whatever the order of axes.
type spatial struct {
	sizes    []int
	channels int
	first    bool // (C, …)
}

// spatialOf reads the shape of the input of a layer with the given number of spatial axes.
func spatialOf(l *settings, shape []int, axes int) spatial {
	if len(shape) != axes+1 {
		l.invalid("input of shape %v; want %d spatial axes and channels", shape, axes)
		shape = slices.Repeat([]int{-1}, axes+1)
	}
	if channelsFirst(l) {
		return spatial{shape[1:], shape[0], true}
	}
	return spatial{shape[:axes], shape[axes], false}
}

// with returns the shape with other sizes and channels, as the shape of the only output.
func (s spatial) with(sizes []int, channels int) [][]int {
	if s.first {
		return [][]int{append([]int{channels}, sizes...)}
	}
	return [][]int{append(slices.Clone(sizes), channels)}
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

// A window is what convolutions and pools move over their input.
type window struct {
	kernel, stride, dilation []int
	padding                  string // valid, same or causal
}

// windowOf reads the settings of a window, whose strides are its kernel's sizes by default if it is one of a
// pool.
func windowOf(l *settings, kernel string, pool bool) window {
	axes := axesOf(l.Class)
	w := window{kernel: l.each(kernel, axes, 2), dilation: l.each("dilation_rate", axes, 1), padding: strings.ToLower(l.Text("padding", "valid"))}
	if w.stride = w.kernel; !pool || l.Config["strides"] != nil {
		w.stride = l.each("strides", axes, 1)
	}
	if slices.Min(slices.Concat(w.kernel, w.stride, w.dilation)) < 1 {
		l.invalid("kernel %v, strides %v, dilation_rate %v; want at least 1", w.kernel, w.stride, w.dilation)
		w.stride = slices.Repeat([]int{1}, axes) // which sizes are divided by
	}
	if w.padding != "valid" && w.padding != "same" && w.padding != "causal" {
		l.refuse("padding %q", w.padding)
	}
	return w
}

// reach returns the number of elements from the first to the last of a window.
func (w window) reach(axis int) int { return (w.kernel[axis]-1)*w.dilation[axis] + 1 }

// sizes returns the sizes of the output.
func (w window) sizes(l *settings, in []int) []int {
	out := make([]int, len(in))
	for i, n := range in {
		switch {
		case n < 0:
			out[i] = -1
		case w.padding == "valid":
			out[i] = (n-w.reach(i))/w.stride[i] + 1
			if n < w.reach(i) {
				l.invalid("a window of %d over %d elements", w.reach(i), n)
			}
		default:
			out[i] = (n + w.stride[i] - 1) / w.stride[i]
		}
	}
	return out
}

// pad returns the zeros before and after each axis. In TensorFlow, "same" pads as much as
// n/stride windows need, one more after than before.
func (w window) pad(l *settings, in []int) (before, after []int) {
	before, after = make([]int, len(in)), make([]int, len(in))
	for i, n := range in {
		switch {
		case w.padding == "valid":
		case w.padding == "causal":
			before[i] = w.reach(i) - 1
		default:
			total := w.reach(i) - 1
			if w.stride[i] > 1 {
				total = max(0, ((n+w.stride[i]-1)/w.stride[i]-1)*w.stride[i]+w.reach(i)-n)
			}
			if w.stride[i] > 1 && n < 0 {
				l.refuse("padding \"same\" with strides %v, whose zeros depend on the size of the input, which is not known", w.stride)
			}
			before[i], after[i] = total/2, total-total/2
		}
	}
	return before, after
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
