package tensor

import (
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
	"github.com/h5dnn/h5dnn/views"
)

// A Cell is the function of one step of a recurrent layer; package kernels has the formulas. Weights have a row for each gate and unit, in the order of PyTorch:
// i, f, g, o of an LSTM, r, z, n of a GRU.
type Cell = kernels.Cell

// The cells. GRUBeforeCell resets the state before its product with the weights, GRUCell after.
const (
	RNNCell       = kernels.RNNCell
	LSTMCell      = kernels.LSTMCell
	GRUCell       = kernels.GRUCell
	GRUBeforeCell = kernels.GRUBeforeCell
)

// RecurrentOptions are the settings of Recurrent.
type RecurrentOptions struct {
	Cell       Cell
	Reverse    bool                       // begin at the last step
	Gate       func(x *Tensor) *Tensor    // activation of the gates; sigmoid if nil
	Activation func(x *Tensor) *Tensor    // of the candidate and the cell; tanh if nil
	Projection *Tensor                    // of the output of each step, (outputs, hidden); nil for none
	Counts     func(t int) (mask *Tensor) // (N, 1), the samples in which step t counts: the state of others stays; nil if all do
	ZeroOutput bool                       // outputs of steps that do not count are 0, instead of the output before
}

// Recurrent goes through the steps of a recurrent layer. Of x (T, N, gates·hidden), the products of the inputs and the weights with their bias,
// w (gates·hidden, hidden), the weights of the state, b (gates·hidden), which may be nil, and the states (N, hidden) before the first step, h, and c of an LSTM,
// or none for zeros, it returns the outputs (T, N, hidden), and the states after the last step.
//
// On the CPU, in float32 and float64, it is one operation, unless an option replaces the activations, projects outputs or leaves out
// steps. Otherwise, and on other devices, it is a loop of operations, as are its second derivatives.
func Recurrent(x, w, b *Tensor, states []*Tensor, o RecurrentOptions) (y *Tensor, after []*Tensor) {
	checkGiven("recurrent", x, w)
	if len(states) != 0 && len(states) != o.Cell.States() {
		fail("recurrent", ErrShape, "%d states; want none, or %d", len(states), o.Cell.States())
	}
	if !o.isOne(x, w) {
		return o.loop(x, w, b, states)
	}
	op := &recurrent{options: kernels.RecurrentOptions{Cell: o.Cell, Reverse: o.Reverse, Bias: b != nil, State: len(states) > 0}}
	in := []*Tensor{x, w}
	if b != nil {
		in = append(in, b)
	}
	out := ApplyAll(op, append(in, states...)...)
	return out[0], out[1:]
}

// isOne reports whether the layer is one operation.
func (o RecurrentOptions) isOne(x, w *Tensor) bool {
	t, d := x.DType(), x.Device()
	return o.Gate == nil && o.Activation == nil && o.Projection == nil && o.Counts == nil && (t == dtype.Float32 || t == dtype.Float64) && w.DType() == t &&
		(d == storage.CPU || d == Meta) && (x.tape == nil || x.tape.autocast == dtype.Invalid)
}

// loop is Recurrent by operations.
func (o RecurrentOptions) loop(x, w, b *Tensor, state []*Tensor) (y *Tensor, after []*Tensor) {
	inputs := x.Unbind(0)
	if len(inputs) == 0 {
		fail("recurrent", ErrShape, "no steps")
	}
	if len(state) == 0 {
		zeros := func(size int) *Tensor { return ZerosLike(inputs[0].Narrow(1, 0, size)) }
		state = []*Tensor{zeros(w.Shape()[1]), zeros(w.Shape()[0] / o.Cell.Gates())}[:o.Cell.States()]
	}
	outputs := make([]*Tensor, len(inputs))
	var zero, output *Tensor
	if o.Counts != nil {
		zero = ZerosLike(state[0])
		output = zero
	}
	for i := range inputs {
		t := i
		if o.Reverse {
			t = len(inputs) - 1 - i
		}
		next := o.step(inputs[t], w, b, state)
		if o.Counts == nil {
			output = next[0]
		} else {
			counts, otherwise := o.Counts(t), output
			if o.ZeroOutput {
				otherwise = zero
			}
			output = Where(counts, next[0], otherwise)
			for k := range next {
				next[k] = Where(counts, next[k], state[k])
			}
		}
		state, outputs[t] = next, output
	}
	return Stack(0, outputs...), state
}

// step returns the state after a step, from its x (N, gates·hidden).
func (o RecurrentOptions) step(x, w, b *Tensor, state []*Tensor) []*Tensor {
	sigmoid, tanh := o.Gate, o.Activation
	if sigmoid == nil {
		sigmoid = (*Tensor).Sigmoid
	}
	if tanh == nil {
		tanh = (*Tensor).Tanh
	}
	h, size := state[0], w.Shape()[0]/o.Cell.Gates()
	switch o.Cell {
	case RNNCell:
		return []*Tensor{tanh(x.Add(Linear(h, w, b, NoActivation)))}
	case LSTMCell:
		gates := x.Add(Linear(h, w, b, NoActivation)).Chunk(1, 4)
		c := sigmoid(gates[1]).Mul(state[1]).Add(sigmoid(gates[0]).Mul(tanh(gates[2])))
		h = sigmoid(gates[3]).Mul(tanh(c))
		if o.Projection != nil {
			h = Linear(h, o.Projection, nil, NoActivation)
		}
		return []*Tensor{h, c}
	}
	parts := x.Split(1, 2*size, size)
	var gates []*Tensor
	var candidate *Tensor // what the state adds to it
	if o.Cell == GRUCell {
		product := Linear(h, w, b, NoActivation).Split(1, 2*size, size)
		gates = sigmoid(parts[0].Add(product[0])).Chunk(1, 2)
		candidate = gates[0].Mul(product[1])
	} else {
		weight, bias := w.Split(0, 2*size, size), []*Tensor{nil, nil}
		if b != nil {
			bias = b.Split(0, 2*size, size)
		}
		gates = sigmoid(parts[0].Add(Linear(h, weight[0], bias[0], NoActivation))).Chunk(1, 2)
		candidate = Linear(gates[0].Mul(h), weight[1], bias[1], NoActivation)
	}
	n := tanh(parts[1].Add(candidate))
	return []*Tensor{n.Add(gates[1].Mul(h.Sub(n)))}
}

// recurrent is a layer as one operation. Its operands are x, w and, by its options, b and the states.
type recurrent struct {
	options      kernels.RecurrentOptions
	gates, extra *Tensor // what kernels.RecurrentGrad takes
}

func (*recurrent) Name() string { return "recurrent" }

// before returns the number of operands before the states.
func (op *recurrent) before() int {
	if op.options.Bias {
		return 3
	}
	return 2
}

func (op *recurrent) Infer(in []Spec) []Spec {
	x, w, gates := in[0], in[1], op.options.Cell.Gates()
	wantFloat("recurrent", in...)
	if x.Rank() != 3 || w.Rank() != 2 || x.Shape[0] < 1 || w.Shape[0] != gates*w.Shape[1] || x.Shape[2] != w.Shape[0] {
		fail("recurrent", ErrShape, "products %v and weights %v; want (steps, N, %d·hidden) and (%d·hidden, hidden)", x.Shape, w.Shape, gates, gates)
	}
	state := views.Of(x.Shape[1], w.Shape[1])
	for i, a := range in[2:] {
		want := state.Shape
		if op.options.Bias && i == 0 {
			want = w.Shape[:1]
		}
		if !slices.Equal(a.Shape, want) || a.Type != x.Type {
			fail("recurrent", ErrShape, "operand %d is %v%v; want %v%v", 2+i, a.Type, a.Shape, x.Type, want)
		}
	}
	out := one(x.Type, views.Of(x.Shape[0], x.Shape[1], w.Shape[1]))
	for range op.options.Cell.States() {
		out = append(out, one(x.Type, state)...)
	}
	return out
}

func (op *recurrent) Forward(c *Context, out, in []storage.Array) (err error) {
	if in, err = c.contiguous(in); err != nil {
		return err
	}
	if c.Recording() {
		out = slices.Clone(out)
		if op.gates, err = c.Save(in[0].Type, views.Of(in[0].Shape...)); err != nil {
			return err
		}
		out = append(out, op.gates.array)
		if op.options.Cell.Extra() {
			if op.extra, err = c.Save(in[0].Type, views.Of(out[0].Shape...)); err != nil {
				return err
			}
			out = append(out, op.extra.array)
		}
	}
	return c.Run(kernels.Recurrent, op.options, out, in...)
}

func (op *recurrent) Backward(out, grads, in []*Tensor) []*Tensor {
	if slices.ContainsFunc(grads, func(d *Tensor) bool { return d != nil && !d.noGrad }) {
		return op.recordedBackward(grads, in)
	}
	options, first := op.options, op.before()
	options.DY, options.DH, options.DC = grads[0] != nil, grads[1] != nil, len(grads) > 2 && grads[2] != nil
	operands := []*Tensor{in[1].Contiguous(), op.gates, out[0]}
	for _, x := range slices.Concat([]*Tensor{op.extra}, in[first:], grads) {
		if x != nil {
			operands = append(operands, x.Contiguous())
		}
	}
	x, state := Spec{Type: in[0].DType(), View: views.Of(in[0].Shape()...)}, Spec{Type: in[0].DType(), View: views.Of(out[1].Shape()...)}
	specs := slices.Repeat([]Spec{state}, options.Cell.States())
	if options.Cell == GRUCell {
		specs = slices.Insert(specs, 0, x)
	}
	d := RunKernel(kernels.RecurrentGrad, options, slices.Insert(specs, 0, x), operands...)
	dx, dp := d[0], d[len(d)-len(grads)]
	dxs := []*Tensor{dx, in[1].ifNeeded(func() *Tensor { return op.weightGrad(dp, out[0], in) })}
	if options.Bias {
		dxs = append(dxs, in[2].ifNeeded(func() *Tensor { return dp.Sum(0, 1) }))
	}
	return append(dxs, d[len(d)-options.Cell.States():]...)[:len(in)]
}

// weightGrad returns the gradient of w, one product over the steps and samples but for the first step, from the gradient dp of the
// products with w.
func (op *recurrent) weightGrad(dp, y *Tensor, in []*Tensor) *Tensor {
	steps, size := y.Shape()[0], y.Shape()[2]
	from, to, first := 0, 1, 0
	if op.options.Reverse {
		from, to, first = 1, 0, steps-1
	}
	rows := func(x *Tensor, from, n int) *Tensor { return x.Narrow(0, from, n).Flatten(0, 1) }
	product := func(dp *Tensor) *Tensor {
		dw := rows(dp, to, steps-1).T().MatMul(rows(y, from, steps-1))
		if op.options.State {
			dw = dw.Add(dp.Select(0, first).T().MatMul(in[op.before()]))
		}
		return dw
	}
	if op.options.Cell != GRUBeforeCell {
		return product(dp)
	}
	parts := dp.Split(2, 2*size, size)
	return Cat(0, product(parts[0].Contiguous()), parts[1].Contiguous().Flatten(0, 1).T().MatMul(op.extra.Flatten(0, 1)))
}

// recordedBackward is Backward in operations that can be recorded: the gradient of the loop.
func (op *recurrent) recordedBackward(grads, in []*Tensor) []*Tensor {
	again, targets := make([]*Tensor, len(in)), []*Tensor{}
	for i, x := range in {
		again[i] = view(rename{}, x, x.array.View) // which is not an operand of another
		if x.requiresGrad {
			targets = append(targets, again[i])
		}
	}
	var b *Tensor
	if op.options.Bias {
		b = again[2]
	}
	y, after := RecurrentOptions{Cell: op.options.Cell, Reverse: op.options.Reverse}.loop(again[0], again[1], b, again[op.before():])
	var ys, incoming []*Tensor
	for i, y := range append([]*Tensor{y}, after...) {
		if grads[i] != nil {
			ys, incoming = append(ys, y), append(incoming, grads[i])
		}
	}
	found := Grad(ys, targets, GradOptions{Incoming: incoming, CreateGraph: true, AllowUnused: true})
	dxs := make([]*Tensor, len(in))
	for i := range in {
		if at := slices.Index(targets, again[i]); at >= 0 && found[at] != nil {
			dxs[i] = found[at].inBackward(&pass{GradOptions: GradOptions{CreateGraph: true}})
		}
	}
	return dxs
}

func init() {
	for cell, name := range []string{"rnn", "lstm", "gru", "gru before"} {
		cell := Cell(cell)
		call := func(reverse bool) func(in ...*Tensor) *Tensor {
			return func(in ...*Tensor) *Tensor {
				var states []*Tensor
				if len(in) > 3 {
					states = in[3:]
				}
				y, after := Recurrent(in[0], in[1], optional(in, 2), states, RecurrentOptions{Cell: cell, Reverse: reverse})
				all := []*Tensor{y}
				for _, s := range after {
					all = append(all, s.MulScalar(2).Unsqueeze(0))
				}
				return Cat(0, all...)
			}
		}
		gates := cell.Gates() * 2
		unit := func(shape ...int) samples.Input { return samples.In(shape...).Of(samples.Unit) }
		x, w, b, h := unit(2, 2, gates), unit(gates, 2), unit(gates), unit(2, 2)
		in := []samples.Input{x, w, b, h, h}
		samples.Register("recurrent "+name, call(false), in[:3+cell.States()]...)
		samples.Register("recurrent reverse "+name, call(true), x, w)
	}
}
