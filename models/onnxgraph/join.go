package onnxgraph

import (
	"math"
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize/onnx"
	"github.com/h5dnn/h5dnn/tensor"
)

// A joiner replaces nodes by fewer that compute the same.
type joiner struct {
	*builder
	uses   []int
	source []*node   // of values
	users  [][]*node // of values
}

// A join replaces a node, if it can, and reports whether it did.
type join func(j *joiner, n *node) bool

// joinNodes folds batch normalizations into convolutions, adds biases within products, applies activations in
// the kernels before them, and recognizes GELU and SiLU where exporters write their arithmetic, as b.joins says.
func (b *builder) joinNodes() {
	for _, join := range b.joins {
		j := &joiner{builder: b}
		j.index()
		for _, n := range b.m.nodes {
			if join(j, n) {
				j.index()
			}
		}
		b.removeUnused()
	}
}

// index finds the sources and uses of values.
func (j *joiner) index() {
	m := j.m
	j.uses, j.source, j.users = m.uses(), make([]*node, len(m.names)), make([][]*node, len(m.names))
	for _, n := range m.nodes {
		for _, out := range n.out {
			if out >= 0 {
				j.source[out] = n
			}
		}
		for _, in := range n.in {
			if in >= 0 {
				j.users[in] = append(j.users[in], n)
			}
		}
	}
}

// only returns the source of a value that one node alone uses, if it is a node of one of the operators.
func (j *joiner) only(value int, ops ...string) *node {
	if value < 0 || j.uses[value] != 1 || j.source[value] == nil || !slices.Contains(ops, j.source[value].op) {
		return nil
	}
	return j.source[value]
}

// value adds a constant.
func (j *joiner) value(name string, x *tensor.Tensor) int {
	at := j.define(name)
	j.m.known[at] = x
	j.uses = append(j.uses, 1)
	return at
}

// isNumber reports whether a value is a constant near x.
func (j *joiner) isNumber(value int, x float64) bool {
	known := j.m.known[value]
	return known != nil && known.Len() == 1 && known.DType().IsFloat() && math.Abs(tensor.Values[float64](known.Cast(dtype.Float64))[0]-x) < 1e-5*math.Abs(x)
}

// either returns the other input of a node of two inputs if one of them is near x.
func (j *joiner) either(n *node, op string, x float64) (other int, ok bool) {
	if n == nil || n.op != op || len(n.in) != 2 {
		return 0, false
	}
	switch {
	case j.isNumber(n.in[1], x):
		return n.in[0], true
	case j.isNumber(n.in[0], x):
		return n.in[1], true
	}
	return 0, false
}

// normalization folds a batch normalization of constants into the convolution before it.
func (j *joiner) normalization(n *node) bool {
	if n.op != "BatchNormalization" || len(n.in) != 5 || n.integer("training_mode", 0) != 0 || len(n.out) == 0 {
		return false
	}
	conv := j.only(n.in[0], "Conv")
	if conv == nil || j.m.known[conv.in[1]] == nil || len(conv.in) > 2 && conv.in[2] >= 0 && j.m.known[conv.in[2]] == nil {
		return false
	}
	var c [4]*tensor.Tensor
	for i := range c {
		if c[i] = j.m.known[n.in[1+i]]; c[i] == nil || c[i].Rank() != 1 {
			return false
		}
		c[i] = c[i].Cast(dtype.Float64)
	}
	w := j.m.known[conv.in[1]]
	if w.Rank() < 3 || c[0].Len() != w.Size(0) || j.uses[conv.in[1]] != 1 {
		return false
	}
	scale := c[0].Div(c[3].AddScalar(n.number("epsilon", 1e-5)).Sqrt())
	bias := c[2].Neg()
	if len(conv.in) > 2 && conv.in[2] >= 0 {
		bias = bias.Add(j.m.known[conv.in[2]].Cast(dtype.Float64))
	}
	bias = bias.Mul(scale).Add(c[1])
	folded := w.Cast(dtype.Float64).Mul(alongAxis(scale, w.Rank(), 0))
	conv.in = []int{conv.in[0], j.value(conv.name+"/folded weight", folded.Cast(w.DType())), j.value(conv.name+"/folded bias", bias.Cast(w.DType()))}
	return j.replace(n, conv)
}

// replace makes node n be computed by the node before it.
func (j *joiner) replace(n, by *node) bool {
	by.out = []int{n.out[0]}
	n.out = []int{-1}
	n.in = nil
	return true
}

// bias adds a vector behind a product with a constant matrix in the product.
func (j *joiner) bias(n *node) bool {
	if n.op != "Add" || len(n.in) != 2 {
		return false
	}
	for i := range 2 {
		product, bias := j.only(n.in[i], "MatMul"), j.m.known[n.in[1-i]]
		if product == nil || bias == nil || bias.Rank() == 0 || bias.Rank() > 2 || bias.Rank() == 2 && bias.Size(0) != 1 || product.joined {
			continue
		}
		w := j.m.known[product.in[1]]
		if w == nil || w.Rank() != 2 || w.Size(1) != bias.Size(-1) || !w.DType().IsFloat() || j.m.known[product.in[0]] != nil {
			continue
		}
		if len(product.in) == 2 && j.rank(product.in[0]) != 1 {
			at := n.in[1-i]
			if bias.Rank() == 2 { // as scikit-learn's
				at = j.value(j.m.names[at]+" row", bias.Flatten(0, 1))
			}
			product.in, product.joined = append(product.in, at), true
			return j.replace(n, product)
		}
	}
	return false
}

// rank returns the rank of a value if it is known to be an input, else −1.
func (j *joiner) rank(value int) int {
	for _, in := range j.m.inputs {
		if in.number == value && in.Shape != nil {
			return len(in.Shape)
		}
	}
	return -1
}

// activationOf returns the activation that a node computes.
func activationOf(n *node) tensor.Activation {
	switch n.op {
	case "Relu":
		return tensor.ReLUActivation
	case "Sigmoid":
		return tensor.SigmoidActivation
	case "Tanh":
		return tensor.TanhActivation
	case "Swish":
		if n.number("alpha", 1) == 1 {
			return tensor.SiLUActivation
		}
	case "Gelu":
		if n.text("approximate", "none") == "tanh" {
			return tensor.GELUTanhActivation
		}
		return tensor.GELUActivation
	}
	return tensor.NoActivation
}

// activates reports whether the kernel of a node may apply an activation.
func (j *joiner) activates(n *node) bool {
	if n == nil || n.act != tensor.NoActivation {
		return false
	}
	switch n.op {
	case "Conv", "ConvTranspose", "BatchNormalization", "Gemm":
		return true
	case "MatMul":
		return n.joined
	}
	return false
}

// activation applies an activation in the kernel of the node before it.
func (j *joiner) activation(n *node) bool {
	act := activationOf(n)
	if act == tensor.NoActivation || len(n.in) != 1 {
		return false
	}
	before := j.only(n.in[0], "Conv", "ConvTranspose", "BatchNormalization", "Gemm", "MatMul")
	if !j.activates(before) {
		return false
	}
	before.act = act
	return j.replace(n, before)
}

// silu recognizes x·sigmoid(x).
func (j *joiner) silu(n *node) bool {
	if n.op != "Mul" || len(n.in) != 2 {
		return false
	}
	for i := range 2 {
		if s, x := j.only(n.in[i], "Sigmoid"), n.in[1-i]; s != nil && s.in[0] == x {
			n.become("Swish", x)
			return true
		}
	}
	return false
}

// become makes n a node of an operator of one input, with the attributes that the operator has by default.
func (n *node) become(op string, x int) {
	n.op, n.rule, n.in, n.attributes = op, rules[operator{"", op}], []int{x}, map[string]onnx.Attribute{}
}

// gelu recognizes x·(1 + erf(x/√2))/2, in the orders in which exporters write it.
func (j *joiner) gelu(n *node) bool {
	if n.op != "Erf" || len(n.out) != 1 || j.uses[n.out[0]] != 1 {
		return false
	}
	scaled := j.source[n.in[0]]
	x, ok := j.either(scaled, "Div", math.Sqrt2)
	if ok = ok && scaled.in[0] == x; !ok {
		if x, ok = j.either(scaled, "Mul", 1/math.Sqrt2); !ok {
			return false
		}
	}
	plus := j.users[n.out[0]][0]
	if _, ok := j.either(plus, "Add", 1); !ok || j.uses[plus.out[0]] != 1 {
		return false
	}
	product := j.users[plus.out[0]][0]
	if product.op != "Mul" || len(product.in) != 2 {
		return false
	}
	other := product.in[0]
	if other == plus.out[0] {
		other = product.in[1]
	}
	last := product
	switch {
	case other == x: // (x·(1 + erf))·½
		if j.uses[product.out[0]] != 1 {
			return false
		}
		last = j.users[product.out[0]][0]
		if _, ok := j.either(last, "Mul", 0.5); !ok {
			return false
		}
	default: // (½·x)·(1 + erf), or ½·(1 + erf)·x
		if half, ok := j.either(j.source[other], "Mul", 0.5); ok && half == x {
			break
		}
		if !j.isNumber(other, 0.5) || j.uses[product.out[0]] != 1 {
			return false
		}
		last = j.users[product.out[0]][0]
		if last.op != "Mul" || len(last.in) != 2 || last.in[0] != x && last.in[1] != x {
			return false
		}
	}
	last.become("Gelu", x)
	return true
}
