package kernels

import (
	"fmt"
	"math"
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// AttentionOptions are the options of Attention and AttentionGrad.
type AttentionOptions struct {
	Scale        float64 // of the scores
	Causal       bool    // whether query i takes the keys 0 to i alone
	P            float64 // probability of dropping a weight, as Dropout of weights (N, H, T, S) does
	Seed, Stream uint64
}

// Attention is y = softmax(Scale·q·kᵀ)·v for each head (Vaswani et al., arXiv:1706.03762): Out y (N, H, T, E) and, if wanted, lse (N, H, T), the logarithm
// of the sum of the exponentials of a query's scores; In q (N, H, T, D), k (N, K, S, D), v (N, K, S, E) and, if there is one, a mask (N, H, T, S): bools, true
// where a query takes a key, or floats to add to the scores. Each of the K heads of keys serves H/K neighbours of q's. A query without
// keys has the result 0 and the lse ∞.
var Attention = hostOnly(define("attention",
	func(c *Call, _ AttentionOptions) error {
		if err := c.checkOperands(min(max(len(c.Out), 1), 2), min(max(len(c.In), 3), 4)); err != nil {
			return err
		}
		a := attentionOf(c.In[:3], c.In[3:])
		return a.check(a.alike(c.Out[0], a.v), c.Out[1:])
	},
	func(c *Call, options AttentionOptions) error {
		a := attentionOf(c.In[:3], c.In[3:])
		a.eachQuery(options, func(n, h, t int, weights []float64, lse float64) {
			y := make([]float64, a.v.Shape[3])
			for s, w := range weights {
				for i, v := range headRow(&a.v, n, h/a.groups(), s).read(nil) {
					y[i] += w * v
				}
			}
			headRow(&c.Out[0], n, h, t).write(y)
			if len(c.Out) > 1 {
				lseRow(&c.Out[1], n, h, t).write([]float64{lse})
			}
		})
		return nil
	},
	func(c *Call, options AttentionOptions) (bool, error) {
		a := attentionOf(c.In[:3], c.In[3:])
		g, ok := a.native(options, []*storage.Array{&c.Out[0]}, c.Out[1:])
		if !ok {
			return false, nil
		}
		g.Y = headStrides(&c.Out[0])
		return true, g.Run(fromFirst[float32](&c.Out[0]), fromFirst[float32](second(c.Out)), fromFirst[float32](&a.q), fromFirst[float32](&a.k), fromFirst[float32](&a.v), start(a.mask))
	}))

// AttentionGrad is the gradients of Attention: Out dq, dk and dv; In q, k, v, y, lse, dy and, if there is one, the mask.
var AttentionGrad = hostOnly(define("attention grad",
	func(c *Call, _ AttentionOptions) error {
		if err := c.checkOperands(3, min(max(len(c.In), 6), 7)); err != nil {
			return err
		}
		a := attentionOf(c.In[:3], c.In[6:])
		for i, like := range []storage.Array{a.q, a.k, a.v} {
			if err := oneShape(like, c.Out[i]); err != nil {
				return err
			}
			if err := oneType(like.Type, c.Out[i]); err != nil {
				return err
			}
		}
		if err := oneShape(c.In[3], c.In[5]); err != nil {
			return err
		}
		return a.check(a.alike(c.In[3], a.v, c.In[5]), c.In[4:5])
	},
	func(c *Call, options AttentionOptions) error {
		a := attentionOf(c.In[:3], c.In[6:])
		y, lse, dy := &c.In[3], &c.In[4], &c.In[5]
		for i := range c.Out {
			if err := CPU.Run(Fill, &Call{Out: c.Out[i : i+1], Options: FillOptions{}}); err != nil {
				return err
			}
		}
		add := func(l line, by float64, x []float64) {
			row := l.read(nil)
			for i := range row {
				row[i] += by * x[i]
			}
			l.write(row)
		}
		plain := options
		plain.P = 0
		a.eachQuery(plain, func(n, h, t int, weights []float64, _ float64) {
			head := h / a.groups()
			grad, delta := headRow(dy, n, h, t).read(nil), 0.0
			for i, v := range headRow(y, n, h, t).read(nil) {
				delta += v * grad[i]
			}
			if math.IsInf(lseRow(lse, n, h, t).read(nil)[0], 1) {
				return
			}
			q := headRow(&a.q, n, h, t).read(nil)
			for s, w := range weights {
				factor := options.factor(a.index(n, h, t) + s)
				dw := 0.0
				for i, v := range headRow(&a.v, n, head, s).read(nil) {
					dw += v * grad[i]
				}
				ds := w * (factor*dw - delta) * options.Scale
				add(headRow(&c.Out[0], n, h, t), ds, headRow(&a.k, n, head, s).read(nil))
				add(headRow(&c.Out[1], n, head, s), ds, q)
				add(headRow(&c.Out[2], n, head, s), w*factor, grad)
			}
		})
		return nil
	},
	func(c *Call, options AttentionOptions) (bool, error) {
		a := attentionOf(c.In[:3], c.In[6:])
		y, lse, dy := &c.In[3], &c.In[4], &c.In[5]
		g, ok := a.native(options, []*storage.Array{y, dy, &c.Out[0], &c.Out[1], &c.Out[2]}, c.In[4:5])
		if !ok {
			return false, nil
		}
		g.Y, g.DY, g.DQ, g.DK, g.DV = headStrides(y), headStrides(dy), headStrides(&c.Out[0]), headStrides(&c.Out[1]), headStrides(&c.Out[2])
		return true, g.Grad(fromFirst[float32](&c.Out[0]), fromFirst[float32](&c.Out[1]), fromFirst[float32](&c.Out[2]),
			fromFirst[float32](&a.q), fromFirst[float32](&a.k), fromFirst[float32](&a.v), fromFirst[float32](y), fromFirst[float32](dy), fromFirst[float32](lse), start(a.mask))
	}))

// An attention is the operands of a call; mask is nil without one.
type attention struct {
	q, k, v storage.Array
	mask    *storage.Array
}

func attentionOf(qkv, mask []storage.Array) attention {
	a := attention{q: qkv[0], k: qkv[1], v: qkv[2]}
	if len(mask) > 0 {
		a.mask = &mask[0]
	}
	return a
}

// second returns the second of list, or nil.
func second(list []storage.Array) *storage.Array {
	if len(list) < 2 {
		return nil
	}
	return &list[1]
}

// groups returns how many heads of queries each head of keys serves.
func (a attention) groups() int { return a.q.Shape[1] / max(1, a.k.Shape[1]) }

// index returns the row-major index of the first weight of a query.
func (a attention) index(n, h, t int) int {
	return ((n*a.q.Shape[1]+h)*a.q.Shape[2] + t) * a.k.Shape[2]
}

// alike checks that results (N, H, T, E) belong to a, and that all are of one type.
func (a attention) alike(y storage.Array, others ...storage.Array) error {
	if err := allFloats(append(others, a.q, a.k, y)...); err != nil {
		return err
	}
	for _, x := range []storage.Array{a.q, a.k, a.v, y} {
		if x.Rank() != 4 {
			return fmt.Errorf("%v; want (N, heads, rows, features): %w", x.Shape, views.ErrShape)
		}
	}
	q, k, v := a.q.Shape, a.k.Shape, a.v.Shape
	if k[3] != q[3] || k[0] != q[0] || !slices.Equal(k[:3], v[:3]) || k[1] < 1 || q[1]%k[1] != 0 || !slices.Equal(y.Shape, []int{q[0], q[1], q[2], v[3]}) {
		return fmt.Errorf("queries %v, keys %v and values %v do not make %v: %w", q, k, v, y.Shape, views.ErrShape)
	}
	return nil
}

// check checks the mask and lse, if there are any, after others.
func (a attention) check(others error, lse []storage.Array) error {
	if others != nil {
		return others
	}
	for _, x := range lse {
		if !slices.Equal(x.Shape, a.q.Shape[:3]) || x.Type != a.q.Type {
			return fmt.Errorf("lse is %v; want %v%v: %w", x, a.q.Type, a.q.Shape[:3], views.ErrShape)
		}
	}
	if m := a.mask; m != nil {
		if want := []int{a.q.Shape[0], a.q.Shape[1], a.q.Shape[2], a.k.Shape[2]}; !slices.Equal(m.Shape, want) {
			return fmt.Errorf("the mask is %v; want %v: %w", m.Shape, want, views.ErrShape)
		}
		if m.Type != dtype.Bool && m.Type != a.q.Type {
			return fmt.Errorf("the mask is of %v; want bool or %v: %w", m.Type, a.q.Type, dtype.ErrType)
		}
	}
	return nil
}

func headRow(a *storage.Array, n, h, t int) line {
	return line{a, a.Offset + n*a.Stride[0] + h*a.Stride[1] + t*a.Stride[2], a.Stride[3], a.Shape[3]}
}

func lseRow(a *storage.Array, n, h, t int) line {
	return line{a, a.Offset + n*a.Stride[0] + h*a.Stride[1] + t*a.Stride[2], 1, 1}
}

// factor returns what a weight is multiplied by, 0 if it is dropped.
func (o AttentionOptions) factor(index int) float64 {
	least := DropoutOptions{P: o.P}.least()
	if o.P > 0 && Philox(o.Seed, o.Stream, uint64(index/4))[index%4]>>8 < least {
		return 0
	}
	return 1 / (1 - o.P)
}

// eachQuery calls f with the weights of each query, and the logarithm of the sum of the exponentials of its scores.
func (a attention) eachQuery(o AttentionOptions, f func(n, h, t int, weights []float64, lse float64)) {
	q := a.q.Shape
	for i := range q[0] * q[1] * q[2] {
		n, h, t := i/(q[1]*q[2]), i/q[2]%q[1], i%q[2]
		query, weights := headRow(&a.q, n, h, t).read(nil), make([]float64, a.k.Shape[2])
		var mask []float64
		if a.mask != nil {
			mask = headRow(a.mask, n, h, t).read(nil)
		}
		top, sum := math.Inf(-1), 0.0
		for s := range weights {
			for i, k := range headRow(&a.k, n, h/a.groups(), s).read(nil) {
				weights[s] += o.Scale * query[i] * k
			}
			switch {
			case o.Causal && s > t, mask != nil && a.mask.Type == dtype.Bool && mask[s] == 0:
				weights[s] = math.Inf(-1)
			case mask != nil && a.mask.Type != dtype.Bool:
				weights[s] += mask[s]
			}
			top = math.Max(top, weights[s])
		}
		if math.IsInf(top, -1) {
			f(n, h, t, make([]float64, len(weights)), math.Inf(1))
			continue
		}
		for s := range weights {
			weights[s] = math.Exp(weights[s] - top)
			sum += weights[s]
		}
		for s := range weights {
			weights[s] *= o.factor(a.index(n, h, t)+s) / sum
		}
		f(n, h, t, weights, top+math.Log(sum))
	}
}

func headStrides(a *storage.Array) [3]int64 {
	return [3]int64{int64(a.Stride[0]), int64(a.Stride[1]), int64(a.Stride[2])}
}

// native describes a and its options to C, which also takes others and a dense lse. It reports false for types and layouts that C does not take.
func (a attention) native(o AttentionOptions, others []*storage.Array, lse []storage.Array) (g native.Attention, ok bool) {
	for _, x := range append(others, &a.q, &a.k, &a.v) {
		if x.Type != dtype.Float32 || x.Len() == 0 || x.Stride[3] != 1 && x.Shape[3] != 1 {
			return g, false
		}
	}
	for _, x := range lse {
		if !x.Contiguous() {
			return g, false
		}
	}
	q, k := a.q.Shape, a.k.Shape
	g.N, g.Heads, g.Groups = int64(q[0]), int64(k[1]), int64(a.groups())
	g.T, g.S, g.D, g.E = int64(q[2]), int64(k[2]), int64(q[3]), int64(a.v.Shape[3])
	g.Q, g.K, g.V = headStrides(&a.q), headStrides(&a.k), headStrides(&a.v)
	g.Scale, g.Kept, g.Seed, g.Stream = o.Scale, 1/(1-o.P), o.Seed, o.Stream
	if o.Causal {
		g.Causal = 1
	}
	if o.P > 0 {
		g.Drops, g.Least = 1, int64(DropoutOptions{P: o.P}.least())
	}
	if m := a.mask; m != nil {
		g.Mask = native.AddsMask
		if m.Type == dtype.Bool {
			g.Mask = native.KeepsMask
		}
		for i := range m.Stride {
			g.MaskStride[i] = int64(m.Stride[i])
		}
	}
	return g, true
}
