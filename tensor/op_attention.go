package tensor

import (
	"math"
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
	"github.com/h5dnn/h5dnn/views"
)

// AttentionOptions are the settings of Attention.
type AttentionOptions struct {
	Mask   *Tensor // broadcast to (…, T, S): bools, true where a query takes a key, or floats to add to the scores; nil for none
	Causal bool    // query i takes the keys 0 to i alone
	Scale  float64 // of the scores; 1/√D if 0
	P      float64 // probability of dropping a weight
	Key    Key     // decides which weights are dropped
}

// Attention returns softmax(q·kᵀ/√D)·v, the scaled dot-product attention of Vaswani et al., arXiv:1706.03762, for queries q
// (…, H, T, D), keys k (…, H, S, D) and values v (…, H, S, E): (…, H, T, E). If k and v have fewer heads, each serves H divided by
// their number of q's, neighbours (Ainslie et al., arXiv:2305.13245). A query that takes no key has the result 0.
func Attention(q, k, v *Tensor, o AttentionOptions) *Tensor {
	checkGiven("attention", q, k, v)
	a := attention{AttentionOptions: o}
	a.measure(q, k, v)
	if y := a.inBlocks(q, k, v); y != nil {
		return y
	}
	return a.composed(q, k, v)
}

// composed returns the attention as a composite of other operations.
func (a attention) composed(q, k, v *Tensor) *Tensor {
	if a.groups > 1 {
		split := func(x *Tensor, heads int) *Tensor { return x.Unflatten(-3, heads, x.Shape()[x.Rank()-3]/heads) }
		heads := k.Shape()[k.Rank()-3]
		if m := a.Mask; m != nil && m.Rank() > 2 {
			a.Mask = m.Unsqueeze(-3)
			if m.Shape()[m.Rank()-3] > 1 {
				a.Mask = split(m, heads)
			}
		}
		return a.weighted(a.weights(split(q, heads), k.Unsqueeze(-3)), v.Unsqueeze(-3)).Flatten(q.Rank()-3, q.Rank()-2)
	}
	return a.weighted(a.weights(q, k), v)
}

// An attention is a call of Attention.
type attention struct {
	AttentionOptions
	groups int     // heads of q for each of k
	taken  *Tensor // whether each query takes a key; nil if all do
}

// measure fails unless the shapes fit, and finds the number of groups.
func (a *attention) measure(q, k, v *Tensor) {
	n := q.Rank()
	if n < 2 || k.Rank() != n || v.Rank() != n || k.Shape()[n-1] != q.Shape()[n-1] || v.Shape()[n-2] != k.Shape()[n-2] || !slices.Equal(v.Shape()[:n-2], k.Shape()[:n-2]) {
		fail("attention", ErrShape, "queries %v, keys %v and values %v; want (…, T, D), (…, S, D) and (…, S, E)", q.Shape(), k.Shape(), v.Shape())
	}
	a.groups = 1
	if n > 2 && k.Shape()[n-3] > 0 {
		if a.groups = q.Shape()[n-3] / k.Shape()[n-3]; a.groups*k.Shape()[n-3] != q.Shape()[n-3] {
			fail("attention", ErrShape, "%d heads of queries for %d of keys; want a multiple", q.Shape()[n-3], k.Shape()[n-3])
		}
	}
	if a.Scale == 0 {
		a.Scale = 1 / math.Sqrt(float64(q.Shape()[n-1]))
	}
}

// weights returns softmax(scale·q·kᵀ) with the masks.
func (a *attention) weights(q, k *Tensor) *Tensor {
	scores := q.MulScalar(a.Scale).MatMul(k.T()).ToFloat32()
	var keep *Tensor
	switch m := a.Mask; {
	case m == nil:
	case m.DType() == dtype.Bool:
		keep = m
	default:
		keep, scores = m.NeScalar(math.Inf(-1)), scores.Add(m.Cast(scores.DType()))
	}
	if keep == nil && !a.Causal {
		return scores.Softmax(-1)
	}
	keep = keptBy(scores, keep, a.Causal)
	if a.Mask != nil {
		a.taken = keep.Any(-1, KeepDims)
	}
	return scores.masked(keep).Softmax(-1)
}

// inBlocks returns the attention by blocks of keys, or nil where it is a composite: for types other than float32, GPUs, masks with a gradient,
// and tensors with names of axes.
func (a attention) inBlocks(q, k, v *Tensor) *Tensor {
	in := []*Tensor{q, k, v}
	if a.Mask != nil {
		in = append(in, a.Mask)
	}
	for i, x := range in {
		if x.IsLazy() || x.format != nil || x.Device() != storage.CPU && x.Device() != Meta || x.Rank() > 4 || x.Len() == 0 || x.AutocastEnabled() || i == 3 && x.requiresGrad {
			return nil
		}
		if x.DType() != dtype.Float32 && (i < 3 || x.DType() != dtype.Bool) {
			return nil
		}
	}
	shape := slices.Clone(q.Shape())
	shape[len(shape)-1] = v.Shape()[v.Rank()-1]
	for i, x := range in {
		for range 4 - x.Rank() {
			in[i] = in[i].Unsqueeze(0)
		}
		if i < 3 {
			in[i] = in[i].adjacentRows()
		}
	}
	if a.Mask != nil {
		in[3] = in[3].Expand(in[0].Shape()[0], in[0].Shape()[1], in[0].Shape()[2], in[1].Shape()[2])
	}
	y := Apply(&blockAttention{of: a}, in...)
	for y.Rank() > len(shape) {
		y = y.Squeeze(0)
	}
	return y
}

// adjacentRows returns x, or a copy, with the elements of the last axis adjacent.
func (x *Tensor) adjacentRows() *Tensor {
	if last := x.Rank() - 1; x.array.Stride[last] == 1 || x.Shape()[last] == 1 {
		return x
	}
	return x.Contiguous()
}

// A blockAttention is attention of rank 4 by blocks of keys. The result has the layout of the queries.
type blockAttention struct {
	of  attention
	lse *Tensor // logarithms of the sums of exponentials; nil unless Backward may follow
}

func (*blockAttention) Name() string { return "attention" }

func (*blockAttention) Infer(in []Spec) []Spec {
	return one(in[0].Type, rowsLike(in[0].View, in[2].Shape[3]))
}

// rowsLike returns a dense view like v with rows of n adjacent elements along the last axis.
func rowsLike(v views.View, n int) views.View {
	v.Shape = append(slices.Clone(v.Shape[:3]), n)
	if like := views.Like(v); like.Stride[3] == 1 {
		return like
	}
	return views.Of(v.Shape...)
}

func (op *blockAttention) Forward(c *Context, out, in []storage.Array) error {
	if c.Recording() {
		var err error
		if op.lse, err = c.Save(dtype.Float32, views.Of(in[0].Shape[:3]...)); err != nil {
			return err
		}
		out = append(slices.Clone(out), op.lse.array)
	}
	return c.Run(kernels.Attention, op.options(), out, in...)
}

func (op *blockAttention) options() kernels.AttentionOptions {
	o := op.of
	return kernels.AttentionOptions{Scale: o.Scale, Causal: o.Causal, P: o.P, Seed: o.Key.Seed, Stream: o.Key.Stream}
}

// Backward computes the weights again, block by block. To be recorded, it differentiates the composite.
func (op *blockAttention) Backward(out, grads, in []*Tensor) []*Tensor {
	if dy := grads[0]; dy.noGrad {
		operands := append([]*Tensor{in[0], in[1], in[2], out[0], op.lse, dy.adjacentRows()}, in[3:]...)
		var specs []Spec
		for _, x := range in[:3] {
			specs = append(specs, Spec{Type: x.DType(), View: rowsLike(x.array.View, x.Shape()[3])})
		}
		return append(RunKernel(kernels.AttentionGrad, op.options(), specs, operands...), nil)[:len(in)]
	}
	seen := make([]*Tensor, 3)
	for i, x := range in[:3] {
		seen[i] = view(rename{}, x, x.array.View)
	}
	of := op.of
	of.Mask = optional(in, 3)
	dxs := Grad([]*Tensor{of.composed(seen[0], seen[1], seen[2])}, seen, GradOptions{Incoming: grads, CreateGraph: true, AllowUnused: true})
	return append(dxs, nil)[:len(in)]
}

// keptBy joins a mask for scores (…, T, S), or nil, with the causal one.
func keptBy(scores, keep *Tensor, causal bool) *Tensor {
	if !causal {
		return keep
	}
	rows, columns := scores.Shape()[scores.Rank()-2], scores.Shape()[scores.Rank()-1]
	lower := scores.onDevice(arange(rows)).Unsqueeze(1).Ge(scores.onDevice(arange(columns)))
	if keep == nil {
		return lower
	}
	return keep.BitAnd(lower)
}

// masked returns scores with a number whose exponential is 0 where keep is false.
func (x *Tensor) masked(keep *Tensor) *Tensor {
	lowest := -math.MaxFloat32
	if x.DType().Size() == 2 {
		lowest = -6e4
	}
	return Where(keep, x, x.constant(lowest))
}

// MaskScores returns scores (…, T, S) of attention with a mask as that of [AttentionOptions], which may be nil, and, if
// causal is set, without those of later keys: softmax gives these the weight 0.
func MaskScores(scores, mask *Tensor, causal bool) *Tensor {
	if mask != nil && mask.DType() != dtype.Bool {
		scores, mask = scores.Add(mask.Cast(scores.DType())), nil
	}
	if mask == nil && !causal {
		return scores
	}
	return scores.masked(keptBy(scores, mask, causal))
}

// weighted returns the sums of v by weights.
func (a *attention) weighted(weights, v *Tensor) *Tensor {
	if a.P > 0 {
		weights = weights.Dropout(a.P, a.Key)
	}
	y := weights.MatMul(v)
	if a.taken != nil {
		y = Where(a.taken, y, y.constant(0))
	}
	return y
}

// Rotary turns the pairs x[i], x[i+D/2] of the last axis by angles (…, T, D/2) whose cosines and sines are given (Su et al.,
// arXiv:2104.09864), so that products of rows depend on the difference of their angles. If the tables are shorter, the
// elements of x that remain are left as they are.
func (x *Tensor) Rotary(cos, sin *Tensor) *Tensor {
	checkGiven("rotary", x, cos, sin)
	half := cos.Shape()[cos.Rank()-1]
	rest := x.Shape()[x.Rank()-1] - 2*half
	if rest < 0 {
		fail("rotary", ErrShape, "tables %v for rows of %v; want at most half their length", cos.Shape(), x.Shape())
	}
	parts := x.Split(-1, half, half, rest)
	a, b := parts[0], parts[1]
	turned := []*Tensor{a.Mul(cos).Sub(b.Mul(sin)), b.Mul(cos).Add(a.Mul(sin))}
	if rest > 0 {
		turned = append(turned, parts[2])
	}
	return Cat(-1, turned...)
}

func init() {
	call := func(o AttentionOptions) func(in ...*Tensor) *Tensor {
		return func(in ...*Tensor) *Tensor {
			o := o
			o.Mask = optional(in, 3)
			return Attention(in[0], in[1], in[2], o)
		}
	}
	q, k, v := samples.In(2, 2, 3, 4).Rows(), samples.In(2, 2, 5, 4).Rows(), samples.In(2, 2, 5, 3).Rows()
	samples.Register("attention", call(AttentionOptions{}), q, k, v)
	samples.Register("attention scaled", call(AttentionOptions{Scale: 1}), samples.In(2, 3, 4), samples.In(2, 5, 4), samples.In(2, 5, 4))
	samples.Register("attention causal", call(AttentionOptions{Causal: true}), q, k, v)
	samples.Register("attention mask", call(AttentionOptions{}), q, k, v, samples.In(2, 1, 1, 5).Of(samples.Bools).Rows())
	samples.Register("attention bias", call(AttentionOptions{Causal: true}), q, k, v, samples.In(3, 5))
	samples.Register("attention grouped", call(AttentionOptions{Causal: true}), samples.In(2, 4, 3, 4).Rows(), k, v)
	samples.Register("attention grouped mask", call(AttentionOptions{}), samples.In(2, 4, 3, 4).Rows(), k, v, samples.In(2, 4, 3, 5).Of(samples.Bools).Rows())
	samples.Register("rotary", func(in ...*Tensor) *Tensor { return in[0].Rotary(in[1].Cos(), in[1].Sin()) }, samples.In(2, 3, 5).Rows(), samples.In(3, 2))
}
