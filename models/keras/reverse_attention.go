package keras

import "slices"

func init() {
	reversals["multihead_attention"] = (*reverser).multiHeadAttention
	reversals["attention"] = (*reverser).attention
}

// attentionInputs returns the inputs of an attention by name, which are in the order of otherwise unless the settings name them, with a value.
func (r *reverser) attentionInputs(l *settings, in []tensor, otherwise ...string) map[string]tensor {
	given, inputs := names(l.Config["inputs"]), map[string]tensor{}
	if given == nil {
		given = otherwise[:min(len(otherwise), len(in))]
	}
	for i, v := range in {
		if i >= len(given) || !slices.Contains(otherwise, given[i]) {
			l.refuse("inputs %v; want some of %v", given, otherwise)
			return nil
		}
		inputs[given[i]] = r.ordered(v, false)
	}
	if _, ok := inputs["value"]; !ok { // as queryKeyValue of package nn
		inputs["value"] = inputs["query"]
		if key, ok := inputs["key"]; ok {
			inputs["value"] = key
		}
	}
	return inputs
}

// attend adds a layer that is called with inputs in the order of names, and with their names.
func (r *reverser) attend(class string, l *settings, config map[string]any, inputs map[string]tensor, order []string, byName bool) tensor {
	if l.failed() != nil {
		return inputs["query"]
	}
	var list []tensor
	call := Arguments{}
	for _, name := range order {
		if v, ok := inputs[name]; ok {
			if list = append(list, v); byName && name != "query" {
				call.Inputs = append(call.Inputs, name)
			} else {
				call.Inputs = append(call.Inputs, "")
			}
		}
	}
	if l.Bool("causal", false) {
		call.Flags = []string{"use_causal_mask"}
	}
	out := r.layer(class, l.Name, config, list...)
	layer := r.model.Layer(out.ref.Layer)
	layer.Arguments = append(layer.Arguments, call)
	return out
}

func (r *reverser) multiHeadAttention(l *settings, in []tensor) tensor {
	inputs := r.attentionInputs(l, in, "query", "key", "value", "attention_mask")
	width, heads := l.Int("embed_dim", 0), max(1, l.Int("num_heads", 0))
	size := l.Int("head_dim", 0)
	if size == 0 {
		size = width / heads
	}
	switch kv := l.Int("num_kv_heads", 0); {
	case l.Float("rotary_base", 0) != 0 || l.Bool("gate", false):
		l.refuse("rotary positions, or a gate")
	case kv != 0 && kv != heads:
		l.refuse("%d heads of keys for %d of queries", kv, heads)
	}
	config := map[string]any{"num_heads": heads, "key_dim": size, "value_dim": size, "dropout": l.Float("dropout", 0), "use_bias": l.Bool("bias", true)}
	if n := l.Int("value_dim", 0); n != 0 {
		config["value_dim"] = n
	}
	if n := l.Int("out_features", 0); n != 0 && n != width {
		config["output_shape"] = []int{n}
	}
	return r.attend("MultiHeadAttention", l, config, inputs, []string{"query", "value", "key", "attention_mask"}, true)
}

func (r *reverser) attention(l *settings, in []tensor) tensor {
	inputs := r.attentionInputs(l, in, "query", "value", "key")
	class, config := "Attention", map[string]any{"use_scale": l.Bool("use_scale", false), "dropout": l.Float("dropout", 0)}
	switch score := l.Text("score", "dot"); score {
	case "additive":
		class = "AdditiveAttention"
	case "concat":
		config["score_mode"] = score
	}
	return r.attend(class, l, config, inputs, []string{"query", "value", "key"}, false)
}
