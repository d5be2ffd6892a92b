package onnxgraph

import (
	"maps"
	"slices"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

var (
	_ = simple("MatMul", 1, func(c *call) *tensor.Tensor {
		x, w := c.x(0), c.x(1)
		if w.Rank() == 2 && x.Rank() > 1 && x.DType().IsFloat() {
			return tensor.Linear(x, w.T(), c.bias(), c.act)
		}
		return x.MatMul(w)
	})
	_ = simple("Gemm", 1, func(c *call) *tensor.Tensor {
		a, b, bias := c.x(0), c.x(1), c.optional(2)
		if a.Rank() != 2 || b.Rank() != 2 {
			c.fail(views.ErrShape, "%v · %v; want matrices", a.Shape(), b.Shape())
		}
		if c.integer("transA", 0) == 1 {
			a = a.T()
		}
		if c.integer("transB", 0) == 0 {
			b = b.T()
		}
		alpha, beta := c.number("alpha", 1), c.number("beta", 1)
		if alpha == 1 && beta == 1 && a.DType().IsFloat() && (bias == nil || bias.Rank() == 1 && bias.Len() == b.Size(0)) {
			return tensor.Linear(a, b, bias, c.act)
		}
		y := a.MatMul(b.T())
		if alpha != 1 {
			y = y.MulScalar(alpha)
		}
		if bias != nil && beta != 0 {
			if beta != 1 {
				bias = bias.MulScalar(beta)
			}
			y = y.Add(bias)
		}
		return c.activated(y)
	})
	_ = simple("Einsum", 12, func(c *call) *tensor.Tensor { return tensor.Einsum(c.text("equation", ""), c.all()...) })
	_ = add(rule{op: "Attention", since: 23, run: attention})
)

// bias returns the addend that opening the model has joined with the product, or nil.
func (c *call) bias() *tensor.Tensor {
	if !c.joined {
		return nil
	}
	return c.optional(2)
}

// activated applies the activation that opening the model has joined with the node.
func (c *call) activated(x *tensor.Tensor) *tensor.Tensor {
	switch c.act {
	case tensor.ReLUActivation:
		return x.ReLU()
	case tensor.TanhActivation:
		return x.Tanh()
	case tensor.SigmoidActivation:
		return x.Sigmoid()
	case tensor.GELUActivation:
		return x.GELU()
	case tensor.GELUTanhActivation:
		return x.GELUTanh()
	case tensor.SiLUActivation:
		return x.SiLU()
	}
	return x
}

// attention is softmax(scale·Q·Kᵀ + mask)·V of the heads of (N, H, T, D) or (N, T, H·D).
func attention(c *call) []*tensor.Tensor {
	for _, name := range slices.Sorted(maps.Keys(c.attributes)) {
		zero := name == "softcap" && c.number(name, 0) == 0
		if !zero && !slices.Contains([]string{"is_causal", "kv_num_heads", "q_num_heads", "qk_matmul_output_mode", "scale", "softmax_precision"}, name) {
			c.fail(storage.ErrState, "the attribute %s", name)
		}
	}
	if len(c.in) > 4 || c.outputs(1) || c.outputs(2) || c.outputs(3) {
		c.fail(storage.ErrState, "keys of earlier steps, lengths of keys or further outputs")
	}
	q, k, v := c.x(0), c.x(1), c.x(2)
	merged := q.Rank() == 3
	heads := func(x *tensor.Tensor, name string) *tensor.Tensor {
		if x.Rank() == 4 {
			return x
		}
		n := c.integer(name, 0)
		if x.Rank() != 3 || n < 1 || x.Size(2)%n != 0 {
			c.fail(views.ErrShape, "%d heads of %v", n, x.Shape())
		}
		return x.Reshape(x.Size(0), x.Size(1), n, x.Size(2)/n).Transpose(1, 2)
	}
	q, k, v = heads(q, "q_num_heads"), heads(k, "kv_num_heads"), heads(v, "kv_num_heads")
	o := tensor.AttentionOptions{Causal: c.integer("is_causal", 0) == 1, Scale: c.number("scale", 0)}
	if c.has(3) {
		o.Mask = c.x(3)
	}
	y := tensor.Attention(q, k, v, o)
	if merged {
		y = y.Transpose(1, 2)
		y = y.Reshape(y.Size(0), y.Size(1), y.Size(2)*y.Size(3))
	}
	return c.padded(y)
}
