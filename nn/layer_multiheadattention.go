package nn

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// MultiHeadAttentionOptions are the settings of a MultiHeadAttention.
type MultiHeadAttentionOptions struct {
	EmbedDim    int            `json:"embed_dim,omitempty"`    // features of the queries; taken from the first input if 0
	NumHeads    int            `json:"num_heads"`              // required
	Dropout     float64        `json:"dropout,omitempty"`      // probability of dropping a weight in training
	NoBias      Negated        `json:"bias"`                   // of all products
	KDim        int            `json:"kdim,omitempty"`         // features of the keys; if 0, taken from the first input like embed_dim, or embed_dim
	VDim        int            `json:"vdim,omitempty"`         // features of the values; if 0, taken from the first input like embed_dim, or embed_dim
	HeadDim     int            `json:"head_dim,omitempty"`     // of queries and keys in a head; embed_dim/num_heads if 0
	ValueDim    int            `json:"value_dim,omitempty"`    // of values in a head; head_dim if 0
	NumKVHeads  int            `json:"num_kv_heads,omitempty"` // heads of keys and values, each for neighbouring heads of queries; num_heads if 0
	OutFeatures int            `json:"out_features,omitempty"` // embed_dim if 0
	Causal      bool           `json:"causal,omitempty"`       // whether step i takes the steps up to i alone
	RotaryBase  float64        `json:"rotary_base,omitempty"`  // of rotary positions, such as 10000; none if 0
	Gate        bool           `json:"gate,omitempty"`         // multiply the heads by the sigmoid of a product of the queries
	Inputs      Names          `json:"inputs,omitempty"`       // of query, key, value, attention_mask, attn_mask, key_mask, key_padding_mask and query_mask; the first of the first three that there are inputs for, if absent
	DType       dtype.Type     `json:"dtype,omitzero"`         // the first input's if absent; float32 if embed_dim is given
	Device      storage.Device `json:"-" nn:"-"`               // the first input's if nil; the CPU if embed_dim is given
}

// MultiHeadAttention attends in several heads (Vaswani et al., arXiv:1706.03762): each is the attention of products of its
// inputs (N, T, features) with weights, and a product joins them. One input attends to itself; of two the second has the keys and
// the values.
//
// The masks are nonzero where a query takes a key: attention_mask (N, T, S) or (N, H, T, S), key_mask (N, S) and query_mask (N, T).
// PyTorch's key_padding_mask (N, S) is nonzero where a key is left out; its attn_mask is added to the scores.
type MultiHeadAttention struct {
	MultiHeadAttentionOptions
	InProjWeight                          *Parameter // the weights of queries, keys and values, one below another; nil unless all have one shape
	QProjWeight, KProjWeight, VProjWeight *Parameter // heads·size × features; nil if InProjWeight has them
	InProjBias                            *Parameter // of all three; nil without
	GateProj                              *Linear    // nil without a gate
	OutProj                               *Linear
	Drop                                  *Dropout `nn:"dropout"`

	deferred
	cache  *Cache
	tables constants // of rotary positions
	masks  attentionMasks
}

// NewMultiHeadAttention returns a MultiHeadAttention, built if EmbedDim is given. NumHeads is required.
func NewMultiHeadAttention(o MultiHeadAttentionOptions) *MultiHeadAttention {
	m := &MultiHeadAttention{MultiHeadAttentionOptions: o, Drop: newDropout(DropoutOptions{P: o.Dropout})}
	if o.EmbedDim < 0 || o.NumHeads < 1 {
		tensor.Fail("multihead_attention", ErrConfig, "embed_dim %d, num_heads %d; want at least 1 of each", o.EmbedDim, o.NumHeads)
	}
	checkAttentionInputs("multihead_attention", o.Inputs)
	m.prepare("multihead_attention", o.EmbedDim > 0, deferral{
		m, &m.Device, &m.DType, func(x *tensor.Tensor) { m.EmbedDim = features(x) }, m.make,
	})
	return m
}

func (m *MultiHeadAttention) make(alloc Allocator) {
	m.check()
	o := m.MultiHeadAttentionOptions
	rows, widths := m.rows(), [3]int{o.EmbedDim, m.or(o.KDim, o.EmbedDim), m.or(o.VDim, o.EmbedDim)}
	weight := func(out, in int) *Parameter {
		fill, _ := fillsOf(alloc.Layer, "xavier", in, out)
		return alloc.Param(fill, out, in)
	}
	total := rows[0] + rows[1] + rows[2]
	if widths == [3]int{o.EmbedDim, o.EmbedDim, o.EmbedDim} && rows[0] == rows[1] && rows[1] == rows[2] {
		m.InProjWeight = weight(total, o.EmbedDim)
	} else {
		m.QProjWeight, m.KProjWeight, m.VProjWeight = weight(rows[0], widths[0]), weight(rows[1], widths[1]), weight(rows[2], widths[2])
	}
	if !o.NoBias {
		m.InProjBias = alloc.Param(ConstantFill(0), total)
	}
	joined := o.NumHeads * m.valueDim()
	product := LinearOptions{InFeatures: joined, OutFeatures: m.or(o.OutFeatures, o.EmbedDim), NoBias: o.NoBias, DType: o.DType, Device: o.Device}
	if m.OutProj = NewLinear(product); m.OutProj.Bias != nil {
		m.OutProj.Bias.fill = ConstantFill(0)
		m.OutProj.Bias.fill(m.OutProj.Bias.Array(), tensor.Key{})
	}
	if o.Gate {
		product.InFeatures, product.OutFeatures = o.EmbedDim, joined
		m.GateProj = NewLinear(product)
	}
}

// check fails for settings of which no layer can be made.
func (m *MultiHeadAttention) check() {
	o := m.MultiHeadAttentionOptions
	fail := func(format string, args ...any) { tensor.Fail("multihead_attention", ErrConfig, format, args...) }
	switch {
	case o.HeadDim == 0 && o.EmbedDim%o.NumHeads != 0:
		fail("%d heads of embed_dim %d; want a divisor, or head_dim", o.NumHeads, o.EmbedDim)
	case min(o.KDim, o.VDim, o.HeadDim, o.ValueDim, o.NumKVHeads, o.OutFeatures) < 0 || o.RotaryBase < 0:
		fail("a size below 0")
	case o.NumHeads%m.kvHeads() != 0:
		fail("%d heads for %d of keys and values; want a multiple", o.NumHeads, m.kvHeads())
	case o.RotaryBase > 0 && m.headDim()%2 != 0:
		fail("rotary positions for heads of %d; want an even size", m.headDim())
	}
}

func (*MultiHeadAttention) or(size, otherwise int) int {
	if size == 0 {
		return otherwise
	}
	return size
}

func (m *MultiHeadAttention) headDim() int  { return m.or(m.HeadDim, m.EmbedDim/max(1, m.NumHeads)) }
func (m *MultiHeadAttention) valueDim() int { return m.or(m.ValueDim, m.headDim()) }
func (m *MultiHeadAttention) kvHeads() int  { return m.or(m.NumKVHeads, m.NumHeads) }

// rows returns the rows of the weights of queries, keys and values.
func (m *MultiHeadAttention) rows() [3]int {
	return [3]int{m.NumHeads * m.headDim(), m.kvHeads() * m.headDim(), m.kvHeads() * m.valueDim()}
}

// Forward returns the attention of x (N, T, features) to itself.
func (m *MultiHeadAttention) Forward(x *tensor.Tensor) *tensor.Tensor { return ForwardOne(m, x) }

// ForwardAll returns the attention (N, T, OutFeatures) of the first input to the others.
func (m *MultiHeadAttention) ForwardAll(inputs []*tensor.Tensor) []*tensor.Tensor {
	in := namedInputs("multihead_attention", m.Inputs, attentionInputs[:3], inputs)
	query, key, value := queryKeyValue(in)
	for _, x := range []*tensor.Tensor{query, key, value} {
		if x.Rank() != 3 {
			tensor.Fail("multihead_attention", views.ErrShape, "input %v; want (samples, steps, features)", x.Shape())
		}
	}
	for size, x := range map[*int]*tensor.Tensor{&m.KDim: key, &m.VDim: value} {
		if !m.built && *size == 0 && features(x) != features(query) {
			*size = features(x)
		}
	}
	m.buildFor("multihead_attention", query)
	for _, x := range []*tensor.Tensor{query, key, value} {
		checkDevice("multihead_attention", x, m.OutProj.Weight.Device())
	}
	q, k, v := m.projected(query, key, value)
	if m.RotaryBase > 0 {
		q, k = m.turned(q), m.turned(k)
	}
	o := tensor.AttentionOptions{Causal: m.Causal}
	if m.cache != nil {
		o.Causal = m.causalAfter(q)
		k, v = m.cache.extend(m, k, v)
	}
	o.Mask = m.masks.join(in, q, k, &o.Causal, m.NumHeads)
	o.P, o.Key = m.Drop.draw(q)
	y := tensor.Attention(q, k, v, o).Permute(0, 2, 1, 3).Contiguous().Flatten(2, 3)
	if m.GateProj != nil {
		y = y.Mul(call("gate_proj", m.GateProj, query).Sigmoid())
	}
	return []*tensor.Tensor{call("out_proj", m.OutProj, y)}
}

// projected returns the heads of queries, keys and values (N, heads, T, size).
func (m *MultiHeadAttention) projected(query, key, value *tensor.Tensor) (q, k, v *tensor.Tensor) {
	rows := m.rows()
	heads := func(x *tensor.Tensor, n int) *tensor.Tensor {
		return x.Unflatten(-1, n, x.Shape()[2]/n).Permute(0, 2, 1, 3)
	}
	if m.InProjWeight != nil && query == key && key == value {
		checkInput("multihead_attention", query, m.InProjWeight.Tensor, 2, m.EmbedDim)
		parts := tensor.Linear(query, m.InProjWeight.Tensor, m.InProjBias.tensorOf(), tensor.NoActivation).Split(-1, rows[:]...)
		return heads(parts[0], m.NumHeads), heads(parts[1], m.kvHeads()), heads(parts[2], m.kvHeads())
	}
	weights := []*tensor.Tensor{m.QProjWeight.tensorOf(), m.KProjWeight.tensorOf(), m.VProjWeight.tensorOf()}
	if m.InProjWeight != nil {
		weights = m.InProjWeight.Split(0, rows[:]...)
	}
	biases := make([]*tensor.Tensor, 3)
	if m.InProjBias != nil {
		biases = m.InProjBias.Split(0, rows[:]...)
	}
	product := func(x *tensor.Tensor, i, n int) *tensor.Tensor {
		checkInput("multihead_attention", x, weights[i], 2, weights[i].Shape()[1])
		return heads(tensor.Linear(x, weights[i], biases[i], tensor.NoActivation), n)
	}
	return product(query, 0, m.NumHeads), product(key, 1, m.kvHeads()), product(value, 2, m.kvHeads())
}

// turned returns x (N, heads, T, size) with rotary positions.
func (m *MultiHeadAttention) turned(x *tensor.Tensor) *tensor.Tensor {
	first, half := m.cache.Len(), m.headDim()/2
	last := first + x.Shape()[2]
	size := 16
	for size < last { // few tables for sequences of all lengths
		size *= 2
	}
	table := func(name string, f func(*tensor.Tensor) *tensor.Tensor) *tensor.Tensor {
		type key struct {
			name string
			size int
		}
		return m.tables.on(x, key{name, size}, func() *tensor.Tensor {
			return f(angles(size, half, m.RotaryBase, 2*half)).Cast(m.DType)
		}).Narrow(0, first, last-first)
	}
	return x.Rotary(table("cos", (*tensor.Tensor).Cos), table("sin", (*tensor.Tensor).Sin))
}

// causalAfter reports whether queries must be kept from later keys: the first of a cache are, and a single one has none.
func (m *MultiHeadAttention) causalAfter(q *tensor.Tensor) bool {
	switch {
	case !m.Causal:
		tensor.Fail("multihead_attention", ErrConfig, "a cache for attention that is not causal; its results change with later tokens")
	case m.cache.Len() > 0 && q.Shape()[2] > 1:
		tensor.Fail("multihead_attention", views.ErrShape, "%d tokens after %d in a cache; want one", q.Shape()[2], m.cache.Len())
	}
	return q.Shape()[2] > 1
}

func (m *MultiHeadAttention) setCache(c *Cache) { m.cache = c }

var _ = RegisterLayer("multihead_attention", NewMultiHeadAttention, MultiHeadAttentionOptions{})
