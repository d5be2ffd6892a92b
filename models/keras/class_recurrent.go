package keras

import (
	"fmt"
	"slices"
	"strings"
)

var (
	_ = register(class{variables: recurrent, settings: biased, shapes: recurrentShapes, nodes: recurrentNodes}, "LSTM", "GRU", "SimpleRNN")
	_ = register(class{variables: recurrent, shapes: convRecurrentShapes}, "ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D")
	_ = register(class{variables: bidirectional, settings: wrapping("LSTM"), shapes: bidirectionalShapes, nodes: bidirectionalNodes}, "Bidirectional")
	_ = register(class{variables: timeDistributed, settings: wrapping("Dense"), shapes: timeDistributedShapes, nodes: timeDistributedNodes}, "TimeDistributed")
	_ = register(class{variables: multiHeadAttention, settings: biased, shapes: attentionShapes, nodes: attentionNodes}, "MultiHeadAttention")
	_ = register(class{variables: variablesOfFile, shapes: dotAttentionShapes}, "Attention", "AdditiveAttention")
	_ = register(class{variables: groupedAttention}, "GroupQueryAttention", "GroupedQueryAttention")
)

func recurrentShapes(l *Layer, in [][]int) ([][]int, error) {
	units, err1 := l.Int("units", 0)
	sequences, err2 := l.Bool("return_sequences", false)
	if err := first(err1, err2); err != nil {
		return nil, err
	}
	if len(in[0]) != 2 {
		return nil, fmt.Errorf("input of shape %v; want steps and features: %w", in[0], ErrConfig)
	}
	if sequences {
		return [][]int{{in[0][0], units}}, nil
	}
	return [][]int{{units}}, nil
}

// convRecurrentShapes returns the shape of a convolution over each step.
func convRecurrentShapes(l *Layer, in [][]int) ([][]int, error) {
	if len(in[0]) < 2 {
		return nil, fmt.Errorf("input of shape %v; want steps of images: %w", in[0], ErrConfig)
	}
	shapes, err1 := convShapes(l, [][]int{in[0][1:]})
	sequences, err2 := l.Bool("return_sequences", false)
	if err := first(err1, err2); err != nil || !sequences {
		return shapes, err
	}
	return [][]int{append([]int{in[0][0]}, shapes[0]...)}, nil
}

func recurrentNodes(b *builder, u use, in []value) (value, error) {
	layer, err := recurrentLayer(u.Layer, in)
	if err != nil {
		return value{}, err
	}
	v, err := b.last(in[0])
	v.node = b.add(u, "", layer, v.node)
	return v, err
}

// recurrentLayer returns the layer of package nn, with PyTorch's names of settings.
func recurrentLayer(l *Layer, in []value) (map[string]any, error) {
	if len(in) > 1 {
		return nil, unsupported("an initial state")
	}
	for _, setting := range []string{"return_state", "stateful", "time_major"} {
		if on, err := l.Bool(setting, false); err != nil || on {
			return nil, first(err, unsupported("%s", setting))
		}
	}
	activation, err1 := activationName(l.Config["activation"])
	if l.Config["activation"] == nil {
		activation = "tanh"
	}
	gates, err2 := activationName(l.Config["recurrent_activation"])
	after, err3 := l.Bool("reset_after", true)
	units, err4 := l.Int("units", 0)
	bias, err5 := l.Bool("use_bias", true)
	backwards, err6 := l.Bool("go_backwards", false)
	sequences, err7 := l.Bool("return_sequences", false)
	switch err := first(err1, err2, err3, err4, err5, err6, err7); {
	case err != nil:
		return nil, err
	case l.Class == "SimpleRNN" && activation == "relu":
	case activation != "tanh":
		return nil, unsupported("activation %s", activation)
	case l.Class != "SimpleRNN" && gates != "sigmoid" && l.Config["recurrent_activation"] != nil:
		return nil, unsupported("recurrent_activation %s", gates)
	case l.Class == "GRU" && !after:
		return nil, unsupported("reset_after=False")
	}
	settings := map[string]any{"hidden_size": units, "input_size": in[0].shape[len(in[0].shape)-1], "bias": bias, "return_sequences": sequences}
	if backwards {
		settings["go_backwards"] = true
	}
	name := strings.ToLower(l.Class)
	if l.Class == "SimpleRNN" {
		name, settings["nonlinearity"] = "rnn", activation
	}
	return map[string]any{name: settings}, nil
}

func bidirectionalShapes(l *Layer, in [][]int) ([][]int, error) {
	inner, err := wrapped(l, "layer")
	if err != nil {
		return nil, err
	}
	if inner.Class != "LSTM" && inner.Class != "GRU" && inner.Class != "SimpleRNN" {
		return nil, unsupported("around a %s", inner.Class)
	}
	shapes, err := recurrentShapes(inner, in)
	if mode, _ := l.Text("merge_mode", "concat"); err == nil && mode == "concat" {
		shapes[0][len(shapes[0])-1] *= 2
	}
	return shapes, err
}

func bidirectionalNodes(b *builder, u use, in []value) (value, error) {
	inner, err := wrapped(u.Layer, "layer")
	if err != nil {
		return value{}, err
	}
	if mode, _ := u.Text("merge_mode", ""); mode != "concat" {
		return value{}, unsupported("merge_mode %q", mode)
	}
	layer, err := recurrentLayer(inner, in)
	if err != nil {
		return value{}, err
	}
	for _, settings := range layer {
		settings.(map[string]any)["bidirectional"] = true
	}
	v, err := b.last(in[0])
	v.node = b.add(u, "", layer, v.node)
	return v, err
}

func timeDistributedShapes(l *Layer, in [][]int) ([][]int, error) {
	inner, err := wrapped(l, "layer")
	if err != nil {
		return nil, err
	}
	c, ok := classes[inner.Class]
	if !ok || len(in[0]) < 2 {
		return nil, unsupported("around a %s", inner.Class)
	}
	if c.shapes == nil {
		return in[:1], nil
	}
	shapes, err := c.shapes(inner, [][]int{in[0][1:]})
	if err != nil {
		return nil, err
	}
	return [][]int{append([]int{in[0][0]}, shapes[0]...)}, nil
}

func timeDistributedNodes(b *builder, u use, in []value) (value, error) {
	inner, err := wrapped(u.Layer, "layer")
	if err != nil {
		return value{}, err
	}
	if inner.Class != "Dense" { // which acts on the last axis anyway
		return value{}, unsupported("around a %s", inner.Class)
	}
	inner.Name = u.Name
	v, err := denseNodes(b, use{inner, u.path}, in)
	if err != nil {
		return v, err
	}
	return b.activated(use{inner, u.path}, v)
}

// dotAttentionShapes returns the steps of the query with the features of the value.
func dotAttentionShapes(_ *Layer, in [][]int) ([][]int, error) {
	if len(in) < 2 || len(in[0]) == 0 || len(in[1]) == 0 {
		return nil, unsupported("inputs of shapes %v", in)
	}
	shape := slices.Clone(in[0])
	shape[len(shape)-1] = in[1][len(in[1])-1]
	return [][]int{shape}, nil
}

func attentionShapes(l *Layer, in [][]int) ([][]int, error) {
	shape := slices.Clone(in[0])
	width, err := l.Ints("output_shape")
	if err != nil || len(width) > 1 {
		return nil, first(err, unsupported("output_shape %v", width))
	}
	if len(width) == 1 {
		shape[len(shape)-1] = width[0]
	}
	return [][]int{shape}, nil
}

func attentionNodes(b *builder, u use, in []value) (value, error) {
	if len(in) < 2 || len(in) > 3 {
		return value{}, unsupported("%d inputs; want query, value and perhaps key", len(in))
	}
	for _, v := range in {
		if len(v.shape) != 2 {
			return v, unsupported("inputs of shape %v; want steps and features", v.shape)
		}
	}
	heads, err1 := u.Int("num_heads", 0)
	size, err2 := u.Int("key_dim", 0)
	valueSize, err3 := u.Int("value_dim", size)
	bias, err4 := u.Bool("use_bias", true)
	width := in[0].shape[1]
	if err := first(err1, err2, err3, err4); err != nil {
		return value{}, err
	}
	if heads*size != width || valueSize != size {
		return value{}, unsupported("%d heads of size %d and values of %d for a width of %d; want heads of size width/heads", heads, size, valueSize, width)
	}
	key := in[1]
	if len(in) == 3 {
		key = in[2]
	}
	var from []string
	for _, v := range []value{in[0], key, in[1]} {
		v, err := b.last(v)
		if err != nil {
			return v, err
		}
		from = append(from, v.node)
	}
	v := in[0]
	v.first = false
	v.node = b.add(u, "", map[string]any{"multihead_attention": map[string]any{"embed_dim": width, "num_heads": heads, "bias": bias}}, from...)
	return v, nil
}
