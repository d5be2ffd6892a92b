package models

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/models/keras"
	"github.com/h5dnn/h5dnn/views"
)

// checkShapes returns an error if a weight that was made for a layer of Keras does not have the
// shape that the settings of the layer and of those before it say: Keras would not load it.
// What they leave open is not checked.
func (p *Plan) checkShapes(m *keras.Model) error {
	have := map[string][]int{}
	for _, t := range p.Tensors {
		have[t.Name] = t.Array.Shape
	}
	for path, l := range m.All() {
		shapes := weightShapes(l)
		for _, name := range slices.Sorted(maps.Keys(shapes)) {
			want := shapes[name]
			got, ok := have[path+"/"+name]
			if !ok {
				continue
			}
			fits := len(got) == len(want)
			for i := 0; fits && i < len(want); i++ {
				fits = want[i] < 0 || want[i] == got[i]
			}
			if !fits {
				text := strings.ReplaceAll(fmt.Sprint(want), "-1", "any")
				return fmt.Errorf("%s/%s has shape %v, but the layer (%s) takes %s: %w", path, name, got, l.Class, text, views.ErrShape)
			}
		}
	}
	return nil
}

// weightShapes returns the shapes of weights of a layer by name, with -1 for unknown sizes.
func weightShapes(l *keras.Layer) map[string][]int {
	setting := func(name string) int {
		n, err := l.Int(name, -1)
		if err != nil {
			return -1
		}
		return n
	}
	features := -1 // of the input, whose channels are last
	if format, _ := l.Config["data_format"].(string); len(l.InputShapes) > 0 && len(l.InputShapes[0]) > 0 && format != "channels_first" {
		features = l.InputShapes[0][len(l.InputShapes[0])-1]
	}
	var input []int // with -1 for unknown sizes; nil if the rank is not known
	if len(l.InputShapes) > 0 {
		input = l.InputShapes[0]
	}
	class, transposed := l.Class, strings.HasSuffix(l.Class, "Transpose")
	switch class = strings.TrimSuffix(class, "Transpose"); class {
	case "Dense":
		return map[string][]int{"kernel": {features, setting("units")}, "bias": {setting("units")}}
	case "Embedding":
		return map[string][]int{"embeddings": {setting("input_dim"), setting("output_dim")}}
	case "Conv1D", "Conv2D", "Conv3D":
		kernel := []int{-1, -1, -1}[:class[4]-'0']
		in, out := features, setting("filters")
		if groups := setting("groups"); groups > 1 && in > 0 {
			in /= groups
		}
		if transposed {
			return map[string][]int{"kernel": append(kernel, out, in), "bias": {out}}
		}
		return map[string][]int{"kernel": append(kernel, in, out), "bias": {out}}
	case "LSTM", "GRU", "SimpleRNN":
		gates := map[string]int{"LSTM": 4, "GRU": 3, "SimpleRNN": 1}[class]
		if units := setting("units"); units > 0 {
			return map[string][]int{"kernel": {features, gates * units}, "recurrent_kernel": {units, gates * units}}
		}
	case "Bidirectional":
		return bidirectionalShapes(l)
	case "MultiHeadAttention":
		heads, size := setting("num_heads"), setting("key_dim")
		return map[string][]int{"query/kernel": {features, heads, size}, "key/kernel": {-1, heads, size}}
	case "DepthwiseConv1D", "DepthwiseConv2D":
		kernel := []int{-1, -1}[:class[len(class)-2]-'0']
		return map[string][]int{"kernel": append(kernel, features, max(1, setting("depth_multiplier")))}
	case "PReLU":
		shape := slices.Clone(input)
		shared, err := l.Ints("shared_axes")
		for _, axis := range shared {
			if axis >= 1 && axis <= len(shape) {
				shape[axis-1] = 1
			}
		}
		if shape != nil && err == nil {
			return map[string][]int{"alpha": shape}
		}
	}
	return normalizationShapes(l, input, features)
}

// normalizationShapes returns the shapes of weights of a layer that normalizes an input of a
// shape, nil if that is not known, with the given number of features.
func normalizationShapes(l *keras.Layer, input []int, features int) map[string][]int {
	switch l.Class {
	case "LayerNormalization":
		axes, err := l.Ints("axis")
		if n := max(1, len(axes)); err == nil && n <= len(input) {
			shape := input[len(input)-n:]
			return map[string][]int{"gamma": shape, "beta": shape}
		}
	case "GroupNormalization", "RMSNormalization":
		if axis, err := l.Int("axis", -1); err == nil && axis == -1 {
			return map[string][]int{"gamma": {features}, "beta": {features}, "scale": {features}}
		}
	case "BatchNormalization":
		if axis, err := l.Int("axis", -1); err == nil && (axis == -1 || input != nil && axis == len(input)) {
			vector := []int{features}
			return map[string][]int{"gamma": vector, "beta": vector, "moving_mean": vector, "moving_variance": vector}
		}
	}
	return nil
}

// bidirectionalShapes returns the shapes of weights of a Bidirectional.
func bidirectionalShapes(l *keras.Layer) map[string][]int {
	described, _ := l.Config["layer"].(map[string]any)
	inner := keras.Layer{InputShapes: l.InputShapes}
	inner.Class, _ = described["class_name"].(string)
	inner.Config, _ = described["config"].(map[string]any)
	both := map[string][]int{}
	for name, shape := range weightShapes(&inner) {
		both["forward/"+name], both["backward/"+name] = shape, shape
	}
	return both
}

// sameShapes returns an error if weights do not have the shapes of those in the file of the
// architecture.
func (p *Plan) sameShapes() error {
	for _, t := range p.Tensors {
		if want, ok := p.options.Architecture.shapes[t.Name]; ok && !slices.Equal(want, t.Array.Shape) {
			return fmt.Errorf("%s has shape %v, but that of the architecture has %v: %w", t.Name, t.Array.Shape, want, views.ErrShape)
		}
	}
	return nil
}
