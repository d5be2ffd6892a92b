package keras

import (
	"fmt"
	"slices"

	"github.com/h5dnn/h5dnn/models/weights"
)

// MultiHeadAttention: the kernels of query, key and value (width, heads, head size) become
// rows of one weight (3·width, width); that of the output (heads, head size, width) is
// merged and transposed. PyTorch's head size is width/heads.
var _ = register(class{
	variables: multiHeadAttention, settings: biased, shapes: attentionShapes, nodes: attentionNodes, several: true,
	arrays:  shaped(map[string]string{"query/kernel": "features num_heads key_dim", "key/kernel": "? num_heads key_dim"}),
	pytorch: "nn.MultiheadAttention",
	links:   attentionLinks,
	call: func(l *Layer) (string, error) {
		heads, err := l.Int("num_heads", 0)
		if err != nil {
			return "", err
		}
		width := size(l, "attention_output/kernel", 2)
		c := newCall("nn.MultiheadAttention", width, heads).set("batch_first", true)
		inputs, output := attentionWidths(l)
		if inputs[1] != output || inputs[2] != output {
			c.set("kdim", inputs[1]).set("vdim", inputs[2])
		}
		if bias, _ := l.Bool("use_bias", true); !bias {
			c.set("bias", false)
		}
		return c.String(), nil
	},
	samples: []Layer{
		sample(map[string]any{"num_heads": 2.0, "key_dim": 3.0, "value_dim": 3.0, "use_bias": true}, attention(6, 6, 6, true)...),
		sample(map[string]any{"num_heads": 2.0, "key_dim": 3.0, "use_bias": false}, attention(6, 6, 6, false)...),
		sample(map[string]any{"num_heads": 2.0, "key_dim": 3.0, "use_bias": true}, attention(6, 5, 4, true)...),
	},
}, "MultiHeadAttention")

// attention returns the weights of a layer of two heads of size 3.
func attention(query, key, value int, bias bool) []Weight {
	var list []Weight
	for _, one := range []struct {
		name string
		in   int
	}{{"query", query}, {"key", key}, {"value", value}} {
		list = append(list, w(one.name+"/kernel", one.in, 2, 3))
		if bias {
			list = append(list, w(one.name+"/bias", 2, 3))
		}
	}
	list = append(list, w("attention_output/kernel", 2, 3, query))
	if bias {
		list = append(list, w("attention_output/bias", query))
	}
	return list
}

func attentionLinks(l *Layer) ([]weights.Link, error) {
	heads, err1 := l.Int("num_heads", 0)
	head, err2 := l.Int("key_dim", 0)
	value, err3 := l.Int("value_dim", head)
	bias, err4 := l.Bool("use_bias", hasWeight(l, "query/bias"))
	if err := first(err1, err2, err3, err4); err != nil {
		return nil, err
	}
	if q, ok := l.Weight("query/kernel"); ok && q.Array.Rank() == 3 {
		heads, head = q.Array.Shape[1], q.Array.Shape[2]
	}
	if v, ok := l.Weight("value/kernel"); ok && v.Array.Rank() == 3 {
		value = v.Array.Shape[2]
	}
	inputs, width := attentionWidths(l)
	switch {
	case heads < 1 || head < 1:
		return nil, notInPyTorch("num_heads %d and key_dim %d; convert from a file with the architecture", heads, head)
	case value != head:
		return nil, notInPyTorch("value_dim %d and key_dim %d; PyTorch has one head size", value, head)
	case width > 0 && width != heads*head:
		return nil, notInPyTorch("%d heads of size %d and a width of %d; PyTorch's head size is width/heads, %d/%d", heads, head, width, width, heads)
	case inputs[0] > 0 && width > 0 && inputs[0] != width:
		return nil, notInPyTorch("queries of width %d and an output of width %d; PyTorch has one width", inputs[0], width)
	}
	projection := weights.Chain(weights.ReshapeOp([]int{-1, heads, head}, []int{-1, heads * head}), weights.TransposeOp(1, 0))
	kernels := []string{"query/kernel", "key/kernel", "value/kernel"}
	var links []weights.Link
	if inputs[0] == inputs[1] && inputs[1] == inputs[2] {
		links = append(links, weights.Link{From: kernels, To: []string{"in_proj_weight"}, Op: weights.Chain(projection, weights.ConcatOp(0, 3))})
	} else {
		for i, name := range []string{"q_proj_weight", "k_proj_weight", "v_proj_weight"} {
			links = append(links, linked(kernels[i], name, projection))
		}
	}
	if bias {
		links = append(links, weights.Link{From: []string{"query/bias", "key/bias", "value/bias"}, To: []string{"in_proj_bias"}, Op: weights.Chain(weights.ReshapeOp([]int{heads, head}, []int{-1}), weights.ConcatOp(0, 3))})
	}
	links = append(links, linked("attention_output/kernel", "out_proj.weight", weights.Chain(weights.ReshapeOp([]int{heads, head, -1}, []int{heads * head, -1}), weights.TransposeOp(1, 0))))
	if bias {
		links = append(links, linked("attention_output/bias", "out_proj.bias", weights.Same{}))
	}
	return links, checkAttention(l)
}

// attentionWidths returns the widths of the queries, keys and values, and of the output; 0
// where they are not known.
func attentionWidths(l *Layer) (inputs [3]int, output int) {
	for i, name := range []string{"query/kernel", "key/kernel", "value/kernel"} {
		if k, ok := l.Weight(name); ok && k.Array.Rank() == 3 {
			inputs[i] = k.Array.Shape[0]
		}
	}
	if k, ok := l.Weight("attention_output/kernel"); ok && k.Array.Rank() == 3 {
		return inputs, k.Array.Shape[2]
	}
	if n := len(l.InputShapes); n == 2 || n == 3 { // query, value and key
		last := func(shape []int) int { return max(0, slices.Concat([]int{0}, shape)[len(shape)]) }
		inputs = [3]int{last(l.InputShapes[0]), last(l.InputShapes[n-1]), last(l.InputShapes[1])}
		output = inputs[0]
	}
	return inputs, output
}

// checkAttention fails on settings that PyTorch's module does not have.
func checkAttention(l *Layer) error {
	if shape := l.Config["output_shape"]; shape != nil && fmt.Sprint(shape) != "[]" {
		if width, _ := l.Weight("attention_output/kernel"); width.Array.Rank() != 3 {
			return notInPyTorch("output_shape %v", shape)
		}
	}
	axes, err := l.Ints("attention_axes")
	if err != nil {
		return err
	}
	if len(axes) > 1 {
		return notInPyTorch("attention_axes %v; PyTorch has one axis of steps", axes)
	}
	return nil
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

func multiHeadAttention(l *Layer) ([]Variable, error) {
	list, err := weighted("kernel")(l)
	var all []Variable
	for name, attribute := range attentionParts {
		all = append(all, within(name+"/", attribute, list)...)
	}
	return all, err
}

// attentionParts yields the projections of a MultiHeadAttention and the attributes that
// they are stored under.
func attentionParts(yield func(name, attribute string) bool) {
	_ = yield("query", "query_dense") && yield("key", "key_dense") && yield("value", "value_dense") && yield("attention_output", "output_dense")
}

// groupedAttention returns the variables of a GroupQueryAttention.
func groupedAttention(l *Layer) ([]Variable, error) {
	list, err1 := weighted("kernel")(l)
	gate, err2 := l.Bool("use_gate", false)
	var all []Variable
	for _, part := range []string{"query", "key", "gate", "value", "output"} {
		name := part
		if part == "output" {
			name = "attention_output"
		}
		if part != "gate" || gate {
			all = append(all, within(name+"/", "_"+part+"_dense", list)...)
		}
	}
	return all, first(err1, err2)
}

var (
	_ = register(class{variables: variablesOfFile, shapes: dotAttentionShapes}, "Attention", "AdditiveAttention")
	_ = register(class{variables: groupedAttention}, "GroupQueryAttention", "GroupedQueryAttention")
)
