package onnxgraph

import (
	"slices"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

var (
	_ = addRecurrent("RNN", kind{gates: 1, states: 1, functions: []string{"Tanh"}, step: rnnCell})
	_ = addRecurrent("GRU", kind{gates: 3, states: 1, functions: []string{"Sigmoid", "Tanh"}, step: gruCell})
	_ = addRecurrent("LSTM", kind{gates: 4, states: 2, functions: []string{"Sigmoid", "Tanh", "Tanh"}, step: lstmCell})
)

// A kind is what the layers of a recurrent operator have in common.
type kind struct {
	gates, states int
	functions     []string // the activations of a direction by default
	step          cell
}

func addRecurrent(op string, k kind) bool {
	return add(rule{op: op, since: 1, run: func(c *call) []*tensor.Tensor { return c.recurrent(k) }})
}

type function = func(x *tensor.Tensor) *tensor.Tensor

// A direction is one direction of a recurrent layer, whose gates are blocks of hidden rows of its weights.
type direction struct {
	*call
	kind
	at        int            // number of the direction
	input     *tensor.Tensor // (gates·hidden, inputs)
	inputBias *tensor.Tensor // (gates·hidden), or nil
	recurrent *tensor.Tensor // (gates·hidden, hidden)
	bias      *tensor.Tensor // of the products with the state: (gates·hidden), or nil
	peephole  *tensor.Tensor // (3·hidden) of an LSTM, or nil
	lengths   *tensor.Tensor // of the sequences: (N), or nil
	hidden    int
	f         []function
}

// A cell returns the state after a step, from x, the products of the input with bias (N, gates·hidden), and
// the state before: h, and c of an LSTM.
type cell func(d *direction, x *tensor.Tensor, state []*tensor.Tensor) []*tensor.Tensor

// gate returns block i of the columns of x.
func (d *direction) gate(x *tensor.Tensor, i int) *tensor.Tensor {
	return x.Narrow(1, i*d.hidden, d.hidden)
}

// limited cuts x to the range that the attribute clip gives.
func (d *direction) limited(x *tensor.Tensor) *tensor.Tensor {
	if clip := d.number("clip", 0); clip > 0 {
		return x.Clamp(-clip, clip)
	}
	return x
}

func rnnCell(d *direction, x *tensor.Tensor, state []*tensor.Tensor) []*tensor.Tensor {
	return one(d.f[0](d.limited(x.Add(tensor.Linear(state[0], d.recurrent, d.bias, tensor.NoActivation)))))
}

// gruCell has the gates z, r and h.
func gruCell(d *direction, x *tensor.Tensor, state []*tensor.Tensor) []*tensor.Tensor {
	h := state[0]
	product := tensor.Linear(h, d.recurrent, d.bias, tensor.NoActivation)
	both := d.f[0](d.limited(x.Narrow(1, 0, 2*d.hidden).Add(product.Narrow(1, 0, 2*d.hidden))))
	z, r := d.gate(both, 0), d.gate(both, 1)
	var n *tensor.Tensor
	if d.integer("linear_before_reset", 0) != 0 {
		n = r.Mul(d.gate(product, 2))
	} else {
		var bias *tensor.Tensor
		if d.bias != nil {
			bias = d.bias.Narrow(0, 2*d.hidden, d.hidden)
		}
		n = tensor.Linear(r.Mul(h), d.recurrent.Narrow(0, 2*d.hidden, d.hidden), bias, tensor.NoActivation)
	}
	n = d.f[1](d.limited(d.gate(x, 2).Add(n)))
	return one(n.Add(z.Mul(h.Sub(n))))
}

// lstmCell has the gates i, o, f and c. The first three have one activation, and are computed at once where the cell
// does not add to their sums.
func lstmCell(d *direction, x *tensor.Tensor, state []*tensor.Tensor) []*tensor.Tensor {
	h, c := state[0], state[1]
	sums := d.limited(x.Add(tensor.Linear(h, d.recurrent, d.bias, tensor.NoActivation)))
	candidate := d.f[1](d.gate(sums, 3))
	if d.peephole == nil && d.integer("input_forget", 0) == 0 {
		gates := d.f[0](sums.Narrow(1, 0, 3*d.hidden))
		next := d.gate(gates, 2).Mul(c).Add(d.gate(gates, 0).Mul(candidate))
		return []*tensor.Tensor{d.gate(gates, 1).Mul(d.f[2](next)), next}
	}
	sums = x.Add(tensor.Linear(h, d.recurrent, d.bias, tensor.NoActivation))
	gate := func(i, peephole int, c *tensor.Tensor) *tensor.Tensor {
		g := d.gate(sums, i)
		if d.peephole != nil {
			g = g.Add(c.Mul(d.peephole.Narrow(0, peephole*d.hidden, d.hidden)))
		}
		return d.f[0](d.limited(g))
	}
	input := gate(0, 0, c)
	forget := input.RSubScalar(1)
	if d.integer("input_forget", 0) == 0 {
		forget = gate(2, 2, c)
	}
	next := forget.Mul(c).Add(input.Mul(candidate))
	return []*tensor.Tensor{gate(1, 1, next).Mul(d.f[2](next)), next}
}

// activations returns the functions of direction number at, by default those named.
func (c *call) activations(at int, names []string) []function {
	if a, ok := c.attribute("activations"); ok {
		if len(a.Strings) < (at+1)*len(names) {
			c.fail(views.ErrShape, "%d activations; want %d for each direction", len(a.Strings), len(names))
		}
		names = a.Strings[at*len(names):][:len(names)]
	}
	alphas, betas := c.attributes["activation_alpha"].Floats, c.attributes["activation_beta"].Floats
	next := func(list *[]float32, otherwise float64) float64 {
		if len(*list) == 0 {
			return otherwise
		}
		x := (*list)[0]
		*list = (*list)[1:]
		return float64(x)
	}
	functions := make([]function, len(names))
	for i, name := range names {
		switch name {
		case "Sigmoid":
			functions[i] = (*tensor.Tensor).Sigmoid
		case "Tanh":
			functions[i] = (*tensor.Tensor).Tanh
		case "Relu":
			functions[i] = (*tensor.Tensor).ReLU
		case "Softsign":
			functions[i] = (*tensor.Tensor).Softsign
		case "Softplus":
			functions[i] = func(x *tensor.Tensor) *tensor.Tensor { return x.Softplus() }
		case "HardSigmoid":
			alpha, beta := next(&alphas, 0.2), next(&betas, 0.5)
			functions[i] = func(x *tensor.Tensor) *tensor.Tensor { return x.MulScalar(alpha).AddScalar(beta).Clamp(0, 1) }
		case "LeakyRelu":
			alpha := next(&alphas, 0.01)
			functions[i] = func(x *tensor.Tensor) *tensor.Tensor { return x.LeakyReLU(alpha) }
		case "Elu":
			alpha := next(&alphas, 1)
			functions[i] = func(x *tensor.Tensor) *tensor.Tensor { return x.ELU(alpha, 1) }
		default:
			c.fail(storage.ErrState, "the activation %s", name)
		}
	}
	return functions
}

// recurrent computes a layer in one direction or two. Inputs are X, W, R, B, sequence_lens, initial states, and
// of an LSTM P; outputs are Y and the last states.
func (c *call) recurrent(k kind) []*tensor.Tensor {
	x, w, r, b := c.x(0), c.x(1), c.x(2), c.optional(3)
	if x.Rank() != 3 || w.Rank() != 3 || r.Rank() != 3 {
		c.fail(views.ErrShape, "%v with weights %v and %v; want three axes each", x.Shape(), w.Shape(), r.Shape())
	}
	batchFirst := c.integer("layout", 0) == 1
	swapped := func(x *tensor.Tensor) *tensor.Tensor { // batch and the axis before or behind it
		if batchFirst {
			return x.Transpose(0, 1)
		}
		return x
	}
	x = swapped(x)
	rows, directions := k.gates*r.Size(2), w.Size(0)
	if w.Size(1) != rows || r.Size(1) != rows || r.Size(0) != directions || b != nil && b.Len() != 2*rows*directions {
		c.fail(views.ErrShape, "weights %v and %v do not fit each other", w.Shape(), r.Shape())
	}
	ys := make([]*tensor.Tensor, directions)
	lasts := make([][]*tensor.Tensor, k.states)
	for at := range directions {
		d := c.direction(k, at)
		state := make([]*tensor.Tensor, k.states)
		for i := range state {
			if c.has(5 + i) {
				state[i] = swapped(c.x(5+i)).Select(0, at)
			} else {
				state[i] = c.elements(tensor.Zeros(x.DType(), x.Size(1), d.hidden))
			}
		}
		y, last := d.run(x, state)
		ys[at] = y.Unsqueeze(1)
		for i := range lasts {
			lasts[i] = append(lasts[i], last[i].Unsqueeze(0))
		}
	}
	y := tensor.Cat(1, ys...) // (T, directions, N, hidden)
	if batchFirst {
		y = y.Permute(2, 0, 1, 3)
	}
	results := one(y)
	for _, last := range lasts {
		results = append(results, swapped(tensor.Cat(0, last...)))
	}
	return results[:min(len(results), len(c.out))]
}

// direction returns direction number at of a layer.
func (c *call) direction(k kind, at int) *direction {
	r := c.x(2).Select(0, at)
	d := &direction{call: c, kind: k, at: at, input: c.x(1).Select(0, at), recurrent: r, hidden: r.Size(1), lengths: c.optional(4), f: c.activations(at, k.functions)}
	if b := c.optional(3); b != nil {
		rows := k.gates * d.hidden
		d.inputBias, d.bias = b.Select(0, at).Narrow(0, 0, rows), b.Select(0, at).Narrow(0, rows, rows)
	}
	if c.has(7) {
		d.peephole = c.x(7).Select(0, at)
	}
	return d
}

// run returns the outputs (T, N, hidden) for x (T, N, inputs), and the last states.
func (d *direction) run(x *tensor.Tensor, state []*tensor.Tensor) (y *tensor.Tensor, last []*tensor.Tensor) {
	reversed := d.at == 1 || d.text("direction", "forward") == "reverse"
	if cell, order, ok := d.plainCell(); ok && x.Size(0) > 0 {
		gate := func(x *tensor.Tensor) *tensor.Tensor { return reordered(x, order, d.hidden) }
		products := tensor.Linear(x, gate(d.input), gate(d.inputBias), tensor.NoActivation)
		return tensor.Recurrent(products, gate(d.recurrent), gate(d.bias), state, tensor.RecurrentOptions{Cell: cell, Reverse: reversed})
	}
	if !reversed {
		return d.loop(x, state)
	}
	y, last = d.loop(reversedSteps(x, d.lengths), state)
	return reversedSteps(y, d.lengths), last
}

// plainCell returns the cell of tensor.Recurrent that computes a direction, and the places of its gates in ONNX's order. It
// returns false for one with lengths, peepholes, limits, joined gates or other activations than the kind's, which is a loop of operations.
func (d *direction) plainCell() (cell tensor.Cell, order []int, ok bool) {
	if d.lengths != nil || d.peephole != nil || d.number("clip", 0) > 0 || d.integer("input_forget", 0) != 0 {
		return 0, nil, false
	}
	n := len(d.functions)
	if a, given := d.attribute("activations"); given && !slices.Equal(a.Strings[d.at*n:][:n], d.functions) {
		return 0, nil, false
	}
	switch d.gates {
	case 1:
		return tensor.RNNCell, nil, true
	case 4:
		return tensor.LSTMCell, []int{0, 2, 3, 1}, true
	}
	if d.integer("linear_before_reset", 0) == 0 {
		return tensor.GRUBeforeCell, []int{1, 0, 2}, true
	}
	return tensor.GRUCell, []int{1, 0, 2}, true
}

// reordered returns x, which may be nil, with blocks of hidden rows in another order; nil for the same.
func reordered(x *tensor.Tensor, order []int, hidden int) *tensor.Tensor {
	if x == nil || order == nil {
		return x
	}
	blocks := make([]*tensor.Tensor, len(order))
	for i, at := range order {
		blocks[i] = x.Narrow(0, at*hidden, hidden)
	}
	return tensor.Cat(0, blocks...)
}

// reversedSteps returns x (T, N, …) with the steps in reverse, of each sequence if lengths are given.
func reversedSteps(x, lengths *tensor.Tensor) *tensor.Tensor {
	if lengths == nil {
		return x.Flip(0)
	}
	return reverseSequences(x, lengths, 1, 0)
}

// loop goes through the steps of x, and returns the outputs (T, N, hidden) and the last states. Behind the length
// of a sequence outputs are 0, and the state stays.
func (d *direction) loop(x *tensor.Tensor, state []*tensor.Tensor) (*tensor.Tensor, []*tensor.Tensor) {
	products := tensor.Linear(x, d.input, d.inputBias, tensor.NoActivation)
	outputs := make([]*tensor.Tensor, 0, x.Size(0))
	for t := range x.Size(0) {
		results := x.Tape().Scope(func() []*tensor.Tensor {
			next := d.step(d, products.Select(0, t), state)
			output := next[0]
			if d.lengths != nil {
				inside := d.lengths.GtScalar(t).Unsqueeze(1)
				for i := range next {
					next[i] = tensor.Where(inside, next[i], state[i])
				}
				output = tensor.Where(inside, next[0], next[0].MulScalar(0))
			}
			return append(slices.Clone(next), output)
		})
		state = results[:len(state)]
		outputs = append(outputs, results[len(state)])
	}
	if len(outputs) == 0 {
		d.fail(views.ErrShape, "no steps")
	}
	return tensor.Stack(0, outputs...), state
}
