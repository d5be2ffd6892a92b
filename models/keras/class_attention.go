package keras

import (
	"fmt"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/models/weights"
)

// MultiHeadAttention: the kernels of query, key and value (width, heads, head size) become
// rows of one weight (3·width, width); that of the output (heads, head size, width) is
// merged and transposed. PyTorch's head size is width/heads.
var _ = register(class{
	variables: multiHeadAttention, shapes: attentionShapes, module: attentionModule, nodes: attentionNodes, several: true,
	arrays: shaped(map[string]string{"query/kernel": "features num_heads key_dim", "key/kernel": "? num_heads key_dim"}),
	links:  attentionLinks,
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

// attentionSizes returns the number of heads and their sizes for queries and values, by the settings or else
// the weights.
func attentionSizes(l *settings) (heads, head, value int) {
	heads, head = l.Int("num_heads", 0), l.Int("key_dim", 0)
	value = l.Int("value_dim", head)
	if q, ok := l.Weight("query/kernel"); ok && q.Array.Rank() == 3 {
		heads, head = q.Array.Shape[1], q.Array.Shape[2]
	}
	if v, ok := l.Weight("value/kernel"); ok && v.Array.Rank() == 3 {
		value = v.Array.Shape[2]
	}
	return heads, head, value
}

func attentionLinks(l *settings) []weights.Link {
	heads, head, value := attentionSizes(l)
	bias := l.Bool("use_bias", l.hasWeight("query/bias"))
	inputs, width := attentionWidths(l)
	switch {
	case heads < 1 || head < 1:
		l.fail(notInPyTorch("num_heads %d and key_dim %d; convert from a file with the architecture", heads, head))
	case value != head:
		l.fail(notInPyTorch("value_dim %d and key_dim %d; PyTorch has one head size", value, head))
	case width > 0 && width != heads*head:
		l.fail(notInPyTorch("%d heads of size %d and a width of %d; PyTorch's head size is width/heads, %d/%d", heads, head, width, width, heads))
	case inputs[0] > 0 && width > 0 && inputs[0] != width:
		l.fail(notInPyTorch("queries of width %d and an output of width %d; PyTorch has one width", inputs[0], width))
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
		links = append(links, linked("attention_output/bias", "out_proj.bias", weights.Same))
	}
	if shape := l.Config["output_shape"]; shape != nil && fmt.Sprint(shape) != "[]" {
		if width, _ := l.Weight("attention_output/kernel"); width.Array.Rank() != 3 {
			l.fail(notInPyTorch("output_shape %v", shape))
		}
	}
	if axes := l.Ints("attention_axes"); len(axes) > 1 {
		l.fail(notInPyTorch("attention_axes %v; PyTorch has one axis of steps", axes))
	}
	return links
}

// attentionWidths returns the widths of the queries, keys and values, and of the output; 0
// where they are not known.
func attentionWidths(l *settings) (inputs [3]int, output int) {
	for i, name := range []string{"query/kernel", "key/kernel", "value/kernel"} {
		if k, ok := l.Weight(name); ok && k.Array.Rank() == 3 {
			inputs[i] = k.Array.Shape[0]
		}
	}
	if k, ok := l.Weight("attention_output/kernel"); ok && k.Array.Rank() == 3 {
		return inputs, k.Array.Shape[2]
	}
	if n := len(l.InputShapes); n == 2 || n == 3 { // query, value and key
		inputs = [3]int{featuresOf(l.InputShapes[0]), featuresOf(l.InputShapes[n-1]), featuresOf(l.InputShapes[1])}
		output = inputs[0]
	}
	return inputs, output
}

func attentionModule(l *settings, in [][]int) *module {
	inputs, width := attentionWidths(l)
	if width == 0 {
		width = featuresOf(in[0])
	}
	m := constructed("multihead_attention", "nn.MultiheadAttention embed_dim num_heads batch_first= kdim= vdim= bias=True", map[string]any{
		"num_heads": l.Int("num_heads", 0), "bias": l.Bool("use_bias", true),
	}).size("embed_dim", width)
	if m.pytorch["batch_first"] = true; inputs[1] != width || inputs[2] != width {
		m.pytorch["kdim"], m.pytorch["vdim"] = inputs[1], inputs[2]
	}
	return m
}

// dotAttentionShapes returns the steps of the query with the features of the value.
func dotAttentionShapes(l *settings, in [][]int) [][]int {
	if len(in) < 2 || len(in[0]) == 0 || len(in[1]) == 0 {
		l.refuse("inputs of shapes %v", in)
		return nil
	}
	return [][]int{append(slices.Clone(in[0][:len(in[0])-1]), in[1][len(in[1])-1])}
}

func attentionShapes(l *settings, in [][]int) [][]int {
	shape, width := slices.Clone(in[0]), l.Ints("output_shape")
	switch {
	case len(width) > 1:
		l.refuse("output_shape %v", width)
	case len(width) == 1:
		shape[len(shape)-1] = width[0]
	}
	return [][]int{shape}
}

func attentionNodes(b *builder, l *settings, in []value) value {
	if len(in) < 2 || len(in) > 3 {
		l.refuse("%d inputs; want query, value and perhaps key", len(in))
		return in[0]
	}
	for _, v := range in {
		if len(v.shape) != 2 {
			l.refuse("inputs of shape %v; want steps and features", v.shape)
			return v
		}
	}
	heads, size, valueSize := attentionSizes(l)
	if width := in[0].shape[1]; heads*size != width || valueSize != size {
		l.refuse("%d heads of size %d and values of %d for a width of %d; want heads of size width/heads", heads, size, valueSize, width)
	}
	var from []string
	for _, v := range []value{in[0], in[len(in)-1], in[1]} { // query, key and value
		from = append(from, b.last(v).node)
	}
	v := in[0]
	v.first = false
	v.node = b.add(l, "", attentionModule(l, shapesOfValues(in)).config(), from...)
	return v
}

func multiHeadAttention(l *settings) (all []Variable) {
	for _, part := range []string{"query", "key", "value", "attention_output"} {
		all = append(all, within(part+"/", strings.TrimPrefix(part, "attention_")+"_dense", weighted("kernel")(l))...)
	}
	return all
}

// groupedAttention returns the variables of a GroupQueryAttention.
func groupedAttention(l *settings) (all []Variable) {
	for _, part := range []string{"query", "key", "gate", "value", "attention_output"} {
		if part != "gate" || l.Bool("use_gate", false) {
			all = append(all, within(part+"/", "_"+strings.TrimPrefix(part, "attention_")+"_dense", weighted("kernel")(l))...)
		}
	}
	return all
}

var (
	_ = register(class{variables: variablesOfFile, shapes: dotAttentionShapes}, "Attention", "AdditiveAttention")
	_ = register(class{variables: groupedAttention}, "GroupQueryAttention", "GroupedQueryAttention")
)
