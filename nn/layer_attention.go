package nn

import (
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// AttentionOptions are the settings of an Attention.
type AttentionOptions struct {
	Score    string         `json:"score"`               // of a query and a key: dot (or empty), concat or additive
	UseScale bool           `json:"use_scale,omitempty"` // multiply by Scale
	Features int            `json:"features,omitempty"`  // of an additive score, which has a scale for each; taken from the first input if 0
	Dropout  float64        `json:"dropout,omitempty"`   // probability of dropping a weight in training
	Causal   bool           `json:"causal,omitempty"`    // whether step i takes the steps up to i alone
	Inputs   Names          `json:"inputs,omitempty"`    // as of multihead_attention; query, value and key if absent
	DType    dtype.Type     `json:"dtype,omitzero"`      // the first input's if absent; float32 unless it has features to take
	Device   storage.Device `json:"-" nn:"-"`            // the first input's if nil; the CPU unless it has features to take
}

// Attention is softmax(score)·value of Keras's Attention and AdditiveAttention, for query (N, T, features), value (N, S, width) and key
// (N, S, features), or without a third input value. The scores are scale·q·k (Luong et al., arXiv:1508.04025), weight·Σ tanh(scale·(q + k)), or
// Σ scale·tanh(q + k) (Bahdanau et al., arXiv:1409.0473).
type Attention struct {
	AttentionOptions
	Scale             *Parameter // one number, or of each feature of an additive score; nil without
	ConcatScoreWeight *Parameter // one number; nil unless the score is concat
	Drop              *Dropout   `nn:"dropout"`

	deferred
	masks attentionMasks
}

// NewAttention returns an Attention, built unless Features of the scale of an additive score are not given.
func NewAttention(o AttentionOptions) *Attention {
	if !slices.Contains([]string{"", "dot", "concat", "additive"}, o.Score) {
		tensor.Fail("attention", ErrConfig, "score %q; want dot, concat or additive", o.Score)
	}
	checkAttentionInputs("attention", o.Inputs)
	a := &Attention{AttentionOptions: o, Drop: newDropout(DropoutOptions{P: o.Dropout})}
	a.prepare("attention", !o.UseScale || o.Score != "additive" || o.Features != 0, deferral{
		a, &a.Device, &a.DType, func(x *tensor.Tensor) { a.Features = features(x) }, a.make,
	})
	return a
}

func (a *Attention) make(alloc Allocator) {
	var shape []int
	switch a.Score {
	case "concat":
		a.ConcatScoreWeight = alloc.Param(ConstantFill(1))
	case "additive":
		shape = []int{a.Features}
	}
	if a.UseScale {
		a.Scale = alloc.Param(ConstantFill(1), shape...)
	}
}

// Forward returns the attention of x to itself.
func (a *Attention) Forward(x *tensor.Tensor) *tensor.Tensor { return ForwardOne(a, x) }

// ForwardAll returns the attention (N, T, width) of the query.
func (a *Attention) ForwardAll(inputs []*tensor.Tensor) []*tensor.Tensor {
	in := namedInputs("attention", a.Inputs, []string{"query", "value", "key"}, inputs)
	a.buildFor("attention", in["query"])
	query, key, value := queryKeyValue(in)
	for _, x := range []*tensor.Tensor{query, key, value} {
		if x.Rank() != 3 {
			tensor.Fail("attention", views.ErrShape, "input %v; want (samples, steps, features)", x.Shape())
		}
	}
	if a.Score == "" || a.Score == "dot" {
		q := query
		if a.Scale != nil {
			q = q.Mul(a.Scale.Tensor)
		}
		o := tensor.AttentionOptions{Scale: 1, Causal: a.Causal}
		o.Mask = a.masks.join(in, query, key, &o.Causal, 0)
		o.P, o.Key = a.Drop.draw(query)
		return []*tensor.Tensor{tensor.Attention(q, key, value, o)}
	}
	sums := query.Unsqueeze(2).Add(key.Unsqueeze(1))
	if a.Score == "concat" {
		if a.Scale != nil {
			sums = sums.Mul(a.Scale.Tensor)
		}
		sums = sums.Tanh().Mul(a.ConcatScoreWeight.Tensor)
	} else if sums = sums.Tanh(); a.Scale != nil {
		sums = sums.Mul(a.Scale.Tensor)
	}
	scores, causal := sums.Sum(-1), a.Causal
	if mask := a.masks.join(in, query, key, &causal, 0); mask != nil || causal {
		scores = tensor.MaskScores(scores, mask, causal)
	}
	weights := scores.Softmax(-1)
	if p, drawn := a.Drop.draw(query); p > 0 {
		weights = weights.Dropout(p, drawn)
	}
	return []*tensor.Tensor{weights.MatMul(value)}
}

// queryKeyValue returns the inputs of an attention; of those that are not given another stands in the place.
func queryKeyValue(in map[string]*tensor.Tensor) (query, key, value *tensor.Tensor) {
	query, key, value = in["query"], in["key"], in["value"]
	switch {
	case key == nil && value == nil:
		key, value = query, query
	case key == nil:
		key = value
	case value == nil:
		value = key
	}
	return query, key, value
}

// attentionInputs are the names of inputs of an attention.
var attentionInputs = []string{"query", "key", "value", "attention_mask", "attn_mask", "key_mask", "key_padding_mask", "query_mask"}

// checkAttentionInputs fails unless names are some of attentionInputs, and query is the first.
func checkAttentionInputs(layer string, names Names) {
	for i, name := range names {
		if !slices.Contains(attentionInputs, name) || slices.Contains(names[:i], name) || i == 0 && name != "query" {
			tensor.Fail(layer, ErrConfig, "inputs %v; want query as the first and then others of %v, each once", []string(names), attentionInputs)
		}
	}
}

// namedInputs returns inputs by name, in the order of names, or of the first of otherwise.
func namedInputs(layer string, names Names, otherwise []string, inputs []*tensor.Tensor) map[string]*tensor.Tensor {
	if names == nil {
		names = otherwise[:min(len(otherwise), max(1, len(inputs)))]
	}
	if len(names) != len(inputs) {
		tensor.Fail(layer, views.ErrShape, "%d inputs; want %v", len(inputs), []string(names))
	}
	in := map[string]*tensor.Tensor{}
	for i, name := range names {
		in[name] = inputs[i]
	}
	return in
}

// attentionMasks joins the masks of an attention.
type attentionMasks struct{ causal constants }

// join returns one mask for scores (N, T, S), or with an axis of heads before T: of bools, or floats to add; nil for none. On devices that cannot upload in
// a captured step it has the causal mask, too, and causal is false then.
func (m *attentionMasks) join(in map[string]*tensor.Tensor, query, key *tensor.Tensor, causal *bool, heads int) *tensor.Tensor {
	var keep *tensor.Tensor
	and := func(mask *tensor.Tensor) {
		if keep != nil {
			mask = keep.BitAnd(mask)
		}
		keep = mask
	}
	headed := func(x *tensor.Tensor) *tensor.Tensor {
		if x.Rank() == 3 && heads > 0 {
			return x.Unsqueeze(1)
		}
		return x
	}
	if x := in["attention_mask"]; x != nil {
		and(headed(x.NeScalar(0)))
	}
	if x := in["key_mask"]; x != nil {
		and(headed(x.NeScalar(0).Unsqueeze(1)))
	}
	if x := in["key_padding_mask"]; x != nil {
		and(headed(x.EqScalar(0).Unsqueeze(1)))
	}
	if x := in["query_mask"]; x != nil {
		and(headed(x.NeScalar(0).Unsqueeze(-1)))
	}
	if *causal && query.Device() != storage.CPU {
		n, s := query.Shape()[query.Rank()-2], key.Shape()[key.Rank()-2]
		and(m.causal.on(query, [2]int{n, s}, func() *tensor.Tensor {
			return tensor.Arange(dtype.Int32, 0, float64(n), 1).Unsqueeze(1).Ge(tensor.Arange(dtype.Int32, 0, float64(s), 1))
		}))
		*causal = false
	}
	added := in["attn_mask"]
	if added == nil {
		return keep
	}
	if added = headed(added); keep == nil {
		return added
	}
	return tensor.Where(keep, added, tensor.FullLike(added, -1e30))
}

var _ = RegisterLayer("attention", NewAttention, AttentionOptions{Score: "dot"})
