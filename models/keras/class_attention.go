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
	variables: multiHeadAttention, shapes: attentionShapes, module: attentionModule, nodes: attentionNodes, several: true, flags: true, own: ownAttentionLinks,
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
	heads, head = l.Int("num_heads", l.Int("num_query_heads", 0)), l.Int("key_dim", l.Int("head_dim", 0))
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

// attentionNodes adds the attention of package nn, which has PyTorch's settings and more.
func attentionNodes(b *builder, l *settings, in []value) value {
	names, from := b.attentionInputs(l, in, "query", "value", "key")
	if l.failed() != nil {
		return in[0]
	}
	width := func(name string) int {
		for _, one := range []string{name, "value", "query"} {
			if i := slices.Index(names, one); i >= 0 {
				return featuresOf(in[i].shape)
			}
		}
		return 0
	}
	heads, size, valueSize := attentionSizes(l)
	kv, query := l.Int("num_key_value_heads", heads), width("query")
	settings := map[string]any{"embed_dim": query, "num_heads": heads, "bias": l.Bool("use_bias", l.hasWeight("query/bias")), "inputs": names}
	for name, n := range map[string][2]int{
		"kdim": {width("key"), query}, "vdim": {width("value"), query}, "head_dim": {size, 0}, "value_dim": {valueSize, size},
		"num_kv_heads": {kv, heads}, "out_features": {featuresOf(attentionShapes(l, shapesOfValues(in))[0]), query},
	} {
		if n[0] != n[1] {
			settings[name] = n[0]
		}
	}
	if heads*size == query {
		delete(settings, "head_dim")
	}
	for name, on := range map[string]bool{"causal": isCausal(l, names), "gate": l.Bool("use_gate", false)} {
		if on {
			settings[name] = true
		}
	}
	if p := l.Float("dropout", 0); p > 0 {
		settings["dropout"] = p
	}
	if axes := l.Ints("attention_axes"); len(axes) > 1 || len(axes) == 1 && axes[0] != 1 && axes[0] != -2 {
		l.refuse("attention_axes %v", axes)
	}
	v := in[0]
	v.first, v.flat = false, nil
	v.node = b.add(l, "", map[string]any{"multihead_attention": settings}, from...)
	return v
}

// attentionInputs returns the names that package nn has for the inputs of an attention, and their nodes: those by position are
// named in the order of names.
func (b *builder) attentionInputs(l *settings, in []value, names ...string) (list, from []string) {
	for _, flag := range l.call.Flags {
		if flag != "use_causal_mask" {
			l.refuse("it is called with %s=True", flag)
		}
	}
	if l.Config["sliding_window"] != nil {
		l.refuse("sliding_window")
	}
	own := map[string]string{"query": "query", "value": "value", "key": "key", "query_mask": "query_mask", "value_mask": "key_mask", "key_mask": "key_mask", "attention_mask": "attention_mask"}
	for i, v := range in {
		name, axes := "", 2
		if i < len(l.call.Inputs) {
			name = l.call.Inputs[i]
		}
		if name == "" && i < len(names) {
			name = names[i]
		}
		switch {
		case strings.HasSuffix(name, "_mask") && name != "attention_mask":
			axes = 1
		case name == "attention_mask" && len(v.shape) == 3:
			axes = 3
		}
		if own[name] == "" || slices.Contains(list, own[name]) || len(v.shape) != axes {
			l.refuse("an input %s of shape %v", name, v.shape)
			return nil, nil
		}
		list, from = append(list, own[name]), append(from, b.last(v).node)
	}
	if !slices.Contains(list, "value") || !slices.Contains(list, "query") {
		l.refuse("inputs %v; want query and value", list)
		return nil, nil
	}
	if mask := b.addedMask(l, list, in); mask != "" {
		list, from = append(list, "attn_mask"), append(from, mask)
	}
	return list, from
}

// isCausal reports whether the attention of package nn is causal: it is called so, and the mask that is added to its scores does not say it.
func isCausal(l *settings, names []string) bool {
	return slices.Contains(l.call.Flags, "use_causal_mask") && !slices.Contains(names, "attn_mask")
}

// addedMask returns the node of the mask that Keras adds to the scores, made of the masks of the named inputs: −1e9 where a score does not count, with
// later keys if the attention is causal; "" if no input has a mask. A query for which no key counts takes all alike. Attention and AdditiveAttention have no
// masks of keys, and multiply their results by the mask of the queries.
func (b *builder) addedMask(l *settings, names []string, in []value) string {
	own := l.Class == "Attention" || l.Class == "AdditiveAttention"
	query, keys := "", []string{}
	node := func(part string, layer any, from ...string) string { return b.add(l, "mask_"+part, layer, from...) }
	rescale := func(part string, scale, offset float64, from string) string {
		return node(part, map[string]any{"rescale": map[string]any{"scale": scale, "offset": offset}}, from)
	}
	function := func(part, name string, settings map[string]any, from ...string) string {
		return node(part, map[string]any{"function": map[string]any{"name": name, "settings": settings}}, from...)
	}
	masks := 0
	for i, name := range names {
		v := in[i]
		if strings.HasSuffix(name, "_mask") {
			masks++
		}
		switch {
		case v.mask == "" || own && name == "key":
		case name == "query" && !own:
			query = node("rows", map[string]any{"reshape": map[string]any{"shape": []int{-1, 1}}}, v.mask)
		case (name == "value" || name == "key") && !slices.Contains(keys, v.mask):
			keys = append(keys, v.mask)
		}
	}
	switch {
	case query == "" && len(keys) == 0:
		return ""
	case masks > 0 || strings.HasPrefix(l.Class, "Group"):
		l.refuse("a mask of its inputs, from a Masking or an Embedding with mask_zero, beside an argument or in groups")
		return ""
	}
	ones := func(part string, shape []int, v value) string {
		steps := function(part+"_sum", "sum", map[string]any{"dim": -1}, b.last(v).node)
		return node(part, map[string]any{"reshape": map[string]any{"shape": shape}}, rescale(part+"_ones", 0, 1, steps))
	}
	if query == "" {
		query = ones("rows", []int{-1, 1}, in[slices.Index(names, "query")])
	}
	var columns string
	switch len(keys) {
	case 0:
		columns = ones("columns", []int{1, -1}, in[slices.Index(names, "value")])
	case 2:
		keys[0] = node("keys", "mul", keys...)
		fallthrough
	default:
		columns = node("columns", map[string]any{"reshape": map[string]any{"shape": []int{1, -1}}}, keys[0])
	}
	mask := node("pairs", "mul", query, columns)
	if slices.Contains(l.call.Flags, "use_causal_mask") {
		one := rescale("ones", 0, 1, mask)
		later := function("later", "sub", nil, function("row", "cumsum", map[string]any{"dim": 1}, one), function("column", "cumsum", map[string]any{"dim": 2}, one))
		mask = node("causal", "mul", mask, node("earlier", map[string]any{"hardtanh": map[string]any{"min": 0, "max": 1}}, rescale("distance", 1, 1, later)))
	}
	return rescale("added", 1e9, -1e9, mask)
}

// ownAttentionLinks returns the links to the attention of package nn.
func ownAttentionLinks(l *settings) []weights.Link {
	heads, head, value := attentionSizes(l)
	kv := l.Int("num_key_value_heads", heads)
	inputs, _ := attentionWidths(l)
	rows := func(n, size int) weights.Op {
		return weights.Chain(weights.ReshapeOp([]int{-1, n, size}, []int{-1, n * size}), weights.TransposeOp(1, 0))
	}
	sizes := []int{heads * head, kv * head, kv * value}
	kernels := []string{"query/kernel", "key/kernel", "value/kernel"}
	var links []weights.Link
	if inputs[0] == inputs[1] && inputs[1] == inputs[2] && sizes[0] == sizes[1] && sizes[1] == sizes[2] && head == value {
		links = append(links, weights.Link{From: kernels, To: []string{"in_proj_weight"}, Op: weights.Chain(rows(heads, head), weights.ConcatOp(0, 3))})
	} else {
		links = append(links, linked(kernels[0], "q_proj_weight", rows(heads, head)), linked(kernels[1], "k_proj_weight", rows(kv, head)), linked(kernels[2], "v_proj_weight", rows(kv, value)))
	}
	bias := l.Bool("use_bias", l.hasWeight("query/bias"))
	if bias {
		both := []int{heads, -1}
		if kv != heads {
			both[0] = -1
		}
		links = append(links, weights.Link{From: []string{"query/bias", "key/bias", "value/bias"}, To: []string{"in_proj_bias"}, Op: weights.Chain(weights.ReshapeOp(both, []int{-1}), weights.ConcatOp(0, 3, sizes...))})
	}
	product := func(from, to string, op weights.Op) {
		if links = append(links, linked(from+"/kernel", to+".weight", op)); bias {
			links = append(links, linked(from+"/bias", to+".bias", weights.ReshapeOp([]int{-1}, []int{-1})))
		}
	}
	product("attention_output", "out_proj", weights.Chain(weights.ReshapeOp([]int{heads, value, -1}, []int{heads * value, -1}), weights.TransposeOp(1, 0)))
	if l.Bool("use_gate", false) {
		if product("gate", "gate_proj", rows(heads, value)); bias {
			links[len(links)-1].Op = weights.ReshapeOp([]int{heads, value}, []int{-1})
		}
	}
	return links
}

func multiHeadAttention(l *settings) (all []Variable) {
	prefix := ""
	if l.Class != "MultiHeadAttention" {
		prefix = "_"
	}
	for _, part := range []string{"query", "key", "gate", "value", "attention_output"} {
		if part != "gate" || l.Bool("use_gate", false) {
			all = append(all, within(part+"/", prefix+strings.TrimPrefix(part, "attention_")+"_dense", weighted("kernel")(l))...)
		}
	}
	return all
}

// GroupQueryAttention: attention whose keys and values have fewer heads.
var _ = register(class{
	variables: multiHeadAttention, shapes: attentionShapes, nodes: attentionNodes, several: true, flags: true, own: ownAttentionLinks,
}, "GroupQueryAttention", "GroupedQueryAttention")

// Attention and AdditiveAttention: one head, without products of the inputs.
var _ = register(class{
	variables: func(l *settings) []Variable {
		var names []string
		if l.Bool("use_scale", l.Class == "AdditiveAttention") {
			names = append(names, "scale")
		}
		if l.Text("score_mode", "dot") == "concat" {
			names = append(names, "concat_score_weight")
		}
		return positions(names...)
	},
	shapes: dotAttentionShapes, several: true, flags: true,
	nodes: func(b *builder, l *settings, in []value) value {
		names, from := b.attentionInputs(l, in, "query", "value", "key")
		settings := map[string]any{"score": l.Text("score_mode", "dot"), "inputs": names}
		if l.Class == "AdditiveAttention" {
			settings["score"] = "additive"
		}
		if l.Bool("use_scale", l.Class == "AdditiveAttention") {
			settings["use_scale"] = true
			settings["features"] = featuresOf(in[0].shape)
		}
		if isCausal(l, names) {
			settings["causal"] = true
		}
		if p := l.Float("dropout", 0); p > 0 {
			settings["dropout"] = p
		}
		v := in[0]
		v.first, v.flat = false, nil
		v.node = b.add(l, "", map[string]any{"attention": settings}, from...)
		if mask := in[0].mask; mask != "" {
			mask = b.add(l, "counts", map[string]any{"reshape": map[string]any{"shape": []int{-1, 1}}}, mask)
			v.node = b.add(l, "masked", "mul", v.node, mask)
		}
		return v
	},
	own: func(l *settings) (links []weights.Link) {
		for _, v := range classes[l.Class].variables(l) {
			links = append(links, linked(v.Name, v.Name, weights.Same))
		}
		return links
	},
}, "Attention", "AdditiveAttention")
