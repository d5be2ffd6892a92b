package kernels

import (
	"fmt"
	"math"
	"slices"

	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A Cell is the function of one step of a recurrent layer. With gates a of x + W·h + b, where x is the product of the input:
//
//	RNNCell        h′ = tanh(a)
//	LSTMCell       i, f, g, o = σ(a₀), σ(a₁), tanh(a₂), σ(a₃); c′ = f·c + i·g; h′ = o·tanh(c′)
//	GRUCell        r, z = σ(a₀), σ(a₁); n = tanh(x₂ + r·(W₂·h + b₂)); h′ = n + z·(h − n)
//	GRUBeforeCell  the same with n = tanh(x₂ + W₂·(r·h) + b₂)
type Cell int

// The cells.
const (
	RNNCell Cell = iota
	LSTMCell
	GRUCell
	GRUBeforeCell
)

var cells = []struct{ gates, states int }{{1, 1}, {4, 2}, {3, 1}, {3, 1}}

// Gates returns the number of rows of the weights by units.
func (c Cell) Gates() int { return cells[c].gates }

// States returns the number of tensors of a state: h, and c of an LSTM.
func (c Cell) States() int { return cells[c].states }

// Extra returns whether the gradient takes a value of each unit beside the gates: c of an LSTM, of a GRU the product
// for the candidate or, if it resets before, r·h.
func (c Cell) Extra() bool { return c != RNNCell }

// RecurrentOptions are the options of Recurrent, and say which operands there are.
type RecurrentOptions struct {
	Cell        Cell
	Reverse     bool // begin at the last step
	Bias, State bool // whether b, and the states before the first step, are operands; else they are 0
	DY, DH, DC  bool // whether these gradients are operands of RecurrentGrad
}

// Recurrent is a layer of recurrent cells over all steps. In x (T, N, gates·H), w (gates·H, H) and, by its options, b (gates·H) and the
// states (N, H); Out y (T, N, H), the states after the last step and, for the gradient, gates (T, N, gates·H) and, if [Cell.Extra], extra (T, N, H).
// Operands are dense, of float32 or float64. It has no device code.
var Recurrent = hostOnly(define("recurrent", checkRecurrent,
	func(c *Call, o RecurrentOptions) error {
		r := recurrentOf(c, o)
		r.forward()
		return r.write(c.Out)
	},
	func(c *Call, o RecurrentOptions) (bool, error) { return true, runRecurrent(c, o, nil) }))

// RecurrentGrad is the gradients of Recurrent. In w, gates, y and, if [Cell.Extra], extra, then by the options the states before the first step, and the
// gradients dy of y and dh and dc of the states after the last; Out dx, of a GRUCell dp (T, N, gates·H), the gradient of the products with w, which
// is dx of other cells, and the gradients of the states before.
var RecurrentGrad = hostOnly(define("recurrent grad", checkRecurrentGrad,
	func(c *Call, o RecurrentOptions) error {
		r := recurrentGradOf(c, o)
		r.backward()
		return r.write(c.Out)
	},
	func(c *Call, o RecurrentOptions) (bool, error) {
		n, err := nativeRecurrent(o, &c.Out[0], &c.In[0])
		if err != nil || c.Out[0].Len() == 0 {
			return false, err
		}
		in := bytesOf(c.In, o.gradIn())
		out := bytesOf(c.Out, o.gradOut())
		return true, n.Backward(in[0], in[4], in[5], in[2], in[1], in[3], in[6], in[7], in[8], out[0], out[1], out[2], out[3])
	}))

// present says which of the operands that a call may have it has.
type present []bool

func (o RecurrentOptions) lstm() bool { return o.Cell == LSTMCell }

func (o RecurrentOptions) in() present {
	return present{true, true, o.Bias, o.State, o.State && o.lstm()}
}

func (o RecurrentOptions) out(saves bool) present {
	return present{true, true, o.lstm(), saves, saves && o.Cell.Extra()}
}

func (o RecurrentOptions) gradIn() present {
	return present{true, true, true, o.Cell.Extra(), o.State, o.State && o.lstm(), o.DY, o.DH, o.DC && o.lstm()}
}

func (o RecurrentOptions) gradOut() present {
	return present{true, o.Cell == GRUCell, true, o.lstm()}
}

func (list present) count() (n int) {
	for _, there := range list {
		if there {
			n++
		}
	}
	return n
}

// placed returns a list with the arrays at their places, and nil for those that are not there.
func placed(arrays []storage.Array, list present) []*storage.Array {
	all := make([]*storage.Array, len(list))
	i := 0
	for k, there := range list {
		if there {
			all[k] = &arrays[i]
			i++
		}
	}
	return all
}

func bytesOf(arrays []storage.Array, list present) [][]byte {
	all := make([][]byte, len(list))
	for i, a := range placed(arrays, list) {
		all[i] = start(a)
	}
	return all
}

// checkDense checks the operands of a call: their number, shapes, layouts and type.
func (c *Call) checkDense(out, in present, outShapes, inShapes [][]int) error {
	if err := c.real(out.count(), in.count()); err != nil {
		return err
	}
	if _, ok := native.ComputeTypeOf(c.Out[0].Type); !ok {
		return notDefined(c.Out[0].Type)
	}
	for _, side := range []struct {
		arrays []*storage.Array
		shapes [][]int
	}{{placed(c.Out, out), outShapes}, {placed(c.In, in), inShapes}} {
		for i, a := range side.arrays {
			if a != nil && (!slices.Equal(a.Shape, side.shapes[i]) || !a.Contiguous()) {
				return fmt.Errorf("an operand is %v; want %v, dense: %w", *a, side.shapes[i], views.ErrShape)
			}
		}
	}
	return nil
}

// recurrentShapes are the shapes of the operands of a call.
type recurrentShapes struct{ gates, outputs, state, weights, bias []int }

// shapes returns the shapes of the operands of a call with these gates and weights.
func (o RecurrentOptions) shapes(gates, w *storage.Array) (s recurrentShapes, err error) {
	if o.Cell < 0 || int(o.Cell) >= len(cells) || gates.Rank() != 3 || w.Rank() != 2 || gates.Shape[0] < 1 {
		return s, fmt.Errorf("cell %d of %v and weights %v; want (steps, N, gates·H) and (gates·H, H): %w", o.Cell, gates.Shape, w.Shape, views.ErrShape)
	}
	steps, n, size, g := gates.Shape[0], gates.Shape[1], w.Shape[1], o.Cell.Gates()
	return recurrentShapes{[]int{steps, n, g * size}, []int{steps, n, size}, []int{n, size}, []int{g * size, size}, []int{g * size}}, nil
}

func checkRecurrent(c *Call, o RecurrentOptions) error {
	if len(c.In) < 2 {
		return c.checkOperands(len(c.Out), 2)
	}
	s, err := o.shapes(&c.In[0], &c.In[1])
	if err != nil {
		return err
	}
	saves := len(c.Out) > o.out(false).count()
	return c.checkDense(o.out(saves), o.in(), [][]int{s.outputs, s.state, s.state, s.gates, s.outputs}, [][]int{s.gates, s.weights, s.bias, s.state, s.state})
}

func checkRecurrentGrad(c *Call, o RecurrentOptions) error {
	if len(c.In) < 2 {
		return c.checkOperands(len(c.Out), 3)
	}
	s, err := o.shapes(&c.In[1], &c.In[0])
	if err != nil {
		return err
	}
	return c.checkDense(o.gradOut(), o.gradIn(), [][]int{s.gates, s.gates, s.state, s.state},
		[][]int{s.weights, s.gates, s.outputs, s.outputs, s.state, s.state, s.outputs, s.state, s.state})
}

// nativeRecurrent describes a call to package native.
func nativeRecurrent(o RecurrentOptions, gates, w *storage.Array) (native.Recurrent, error) {
	real, ok := native.ComputeTypeOf(w.Type)
	if !ok {
		return native.Recurrent{}, notDefined(w.Type)
	}
	r := native.Recurrent{Cell: int64(o.Cell), Real: int64(real), Steps: int64(gates.Shape[0]), N: int64(gates.Shape[1]), Hidden: int64(w.Shape[1])}
	if o.Reverse {
		r.Reverse = 1
	}
	return r, nil
}

func runRecurrent(c *Call, o RecurrentOptions, packed []byte) error {
	n, err := nativeRecurrent(o, &c.In[0], &c.In[1])
	if err != nil || c.Out[0].Len() == 0 {
		return err
	}
	in, out := bytesOf(c.In, o.in()), bytesOf(c.Out, o.out(len(c.Out) > o.out(false).count()))
	return n.Forward(packed, in[1], in[0], in[2], in[3], in[4], out[0], out[1], out[2], out[3], out[4])
}

// A PackedRecurrent is Recurrent with weights that are packed once, on the CPU. Goroutines may share it.
type PackedRecurrent struct {
	options RecurrentOptions
	packed  []byte
}

// PackRecurrent packs the weights of a layer, of float32, dense and in host memory.
func PackRecurrent(o RecurrentOptions, w storage.Array) *PackedRecurrent {
	n := native.Recurrent{Cell: int64(o.Cell), Real: int64(native.F32), Hidden: int64(w.Shape[1])}
	return &PackedRecurrent{o, n.Pack(start(&w))}
}

// Run is [Recurrent] without the outputs for its gradient.
func (p *PackedRecurrent) Run(out, in []storage.Array) error {
	c := &Call{Out: out, In: in}
	defer c.CountWrites()
	return runRecurrent(c, p.options, p.packed)
}

// Bytes returns the size of the packed weights.
func (p *PackedRecurrent) Bytes() int { return len(p.packed) }

// Narrow returns that none of one has weights of fewer bits than float32.
func (*PackedRecurrent) Narrow() (count, of int) { return 0, 1 }

// A referenceLayer is the operands of a call in float64; those that are left out are zeros.
type referenceLayer struct {
	RecurrentOptions
	steps, n, size                int
	x, w, b, h0, c0, y, gates, ex []float64
	dy, dh, dc, dx, dp            []float64
	results                       [][]float64
}

func (r *referenceLayer) describe(gates, w *storage.Array) {
	r.steps, r.n, r.size = gates.Shape[0], gates.Shape[1], w.Shape[1]
}

// values returns the elements of a, or n zeros without it.
func values(a *storage.Array, n int) []float64 {
	if a == nil {
		return make([]float64, n)
	}
	elems, err := storage.Read[float64](*a)
	must(err)
	return elems
}

func recurrentOf(c *Call, o RecurrentOptions) *referenceLayer {
	r := &referenceLayer{RecurrentOptions: o}
	r.describe(&c.In[0], &c.In[1])
	in, state := placed(c.In, o.in()), r.n*r.size
	r.x, r.w, r.b = values(in[0], 0), values(in[1], 0), values(in[2], o.Cell.Gates()*r.size)
	r.h0, r.c0 = values(in[3], state), values(in[4], state)
	r.y, r.gates, r.ex = make([]float64, r.steps*state), make([]float64, len(r.x)), make([]float64, r.steps*state)
	return r
}

func recurrentGradOf(c *Call, o RecurrentOptions) *referenceLayer {
	r := &referenceLayer{RecurrentOptions: o}
	r.describe(&c.In[1], &c.In[0])
	in, state := placed(c.In, o.gradIn()), r.n*r.size
	r.w, r.gates, r.y, r.ex = values(in[0], 0), values(in[1], 0), values(in[2], 0), values(in[3], r.steps*state)
	r.h0, r.c0 = values(in[4], state), values(in[5], state)
	r.dy, r.dh, r.dc = values(in[6], r.steps*state), values(in[7], state), values(in[8], state)
	r.dx, r.dp = make([]float64, len(r.gates)), make([]float64, len(r.gates))
	return r
}

// write stores the results.
func (r *referenceLayer) write(out []storage.Array) error {
	i := 0
	for _, list := range r.results {
		if i < len(out) && list != nil {
			setElements(&out[i], list)
			i++
		}
	}
	return nil
}

// step returns the index of the i-th step, and the states before it.
func (r *referenceLayer) step(i int) (t int, h, c []float64) {
	at, before := i, i-1
	if r.Reverse {
		at, before = r.steps-1-i, r.steps-i
	}
	if i == 0 {
		return at, r.h0, r.c0
	}
	state := r.n * r.size
	return at, r.y[before*state:][:state], r.ex[before*state:][:state]
}

// of returns gate g of sample n and unit u in step t of a, an array like x.
func (r *referenceLayer) of(a []float64, t, n, g, u int) *float64 {
	return &a[((t*r.n+n)*r.Cell.Gates()+g)*r.size+u]
}

// product returns the product of row g·size + u of w and sample n of h.
func (r *referenceLayer) product(g, u int, h []float64, n int) (sum float64) {
	for k := range r.size {
		sum += r.w[(g*r.size+u)*r.size+k] * h[n*r.size+k]
	}
	return sum + r.b[g*r.size+u]
}

func (r *referenceLayer) forward() {
	state := r.n * r.size
	for i := range r.steps {
		t, h, c := r.step(i)
		y, ex := r.y[t*state:][:state], r.ex[t*state:][:state]
		gate := func(n, g, u int) *float64 { return r.of(r.gates, t, n, g, u) }
		x := func(n, g, u int) float64 { return *r.of(r.x, t, n, g, u) }
		each := func(f func(n, u, at int)) {
			for n := range r.n {
				for u := range r.size {
					f(n, u, n*r.size+u)
				}
			}
		}
		each(func(n, u, at int) {
			a := func(g int) float64 { return x(n, g, u) + r.product(g, u, h, n) }
			switch r.Cell {
			case RNNCell:
				y[at] = math.Tanh(a(0))
				*gate(n, 0, u) = y[at]
			case LSTMCell:
				i, f, g, o := sigmoid(a(0)), sigmoid(a(1)), math.Tanh(a(2)), sigmoid(a(3))
				*gate(n, 0, u), *gate(n, 1, u), *gate(n, 2, u), *gate(n, 3, u) = i, f, g, o
				ex[at] = f*c[at] + i*g
				y[at] = o * math.Tanh(ex[at])
			default:
				*gate(n, 0, u), *gate(n, 1, u) = sigmoid(a(0)), sigmoid(a(1))
				ex[at] = r.product(2, u, h, n)
				if r.Cell == GRUBeforeCell {
					ex[at] = *gate(n, 0, u) * h[at]
				}
			}
		})
		if r.Cell == GRUCell || r.Cell == GRUBeforeCell {
			each(func(n, u, at int) {
				sum := *gate(n, 0, u) * ex[at]
				if r.Cell == GRUBeforeCell {
					sum = r.product(2, u, ex, n)
				}
				candidate := math.Tanh(x(n, 2, u) + sum)
				*gate(n, 2, u) = candidate
				y[at] = candidate + *gate(n, 1, u)*(h[at]-candidate)
			})
		}
	}
	t, _, _ := r.step(r.steps - 1)
	r.results = [][]float64{r.y, r.y[t*state:][:state], nil, r.gates, nil}
	if r.lstm() {
		r.results[2] = r.ex[t*state:][:state]
	}
	if r.Cell.Extra() {
		r.results[4] = r.ex
	}
}

// through adds the product of rows of w and the gradients of gates from first to last to dh, for sample n of step t.
func (r *referenceLayer) through(d, dh []float64, t, n, first, last int) {
	for g := first; g < last; g++ {
		for u := range r.size {
			for k := range r.size {
				dh[n*r.size+k] += *r.of(d, t, n, g, u) * r.w[(g*r.size+u)*r.size+k]
			}
		}
	}
}

func (r *referenceLayer) backward() {
	state := r.n * r.size
	dh, dc := slices.Clone(r.dh), slices.Clone(r.dc)
	for i := r.steps - 1; i >= 0; i-- {
		t, h, c := r.step(i)
		before := make([]float64, state)
		for n := range r.n {
			for u := range r.size {
				at := n*r.size + u
				v := func(g int) float64 { return *r.of(r.gates, t, n, g, u) }
				set := func(g int, d, p float64) { *r.of(r.dx, t, n, g, u), *r.of(r.dp, t, n, g, u) = d, p }
				dh, ex := dh[at]+r.dy[t*state+at], r.ex[t*state+at]
				switch r.Cell {
				case RNNCell:
					d := dh * (1 - v(0)*v(0))
					set(0, d, d)
				case LSTMCell:
					tanh := math.Tanh(ex)
					sum := dc[at] + dh*v(3)*(1-tanh*tanh)
					for g, d := range []float64{sum * v(2) * v(0) * (1 - v(0)), sum * c[at] * v(1) * (1 - v(1)), sum * v(0) * (1 - v(2)*v(2)), dh * tanh * v(3) * (1 - v(3))} {
						set(g, d, d)
					}
					dc[at] = sum * v(1)
				default:
					d2 := dh * (1 - v(1)) * (1 - v(2)*v(2))
					d1 := dh * (h[at] - v(2)) * v(1) * (1 - v(1))
					d0 := d2 * ex * v(0) * (1 - v(0))
					set(0, d0, d0)
					set(1, d1, d1)
					set(2, d2, d2*v(0))
					before[at] = dh * v(1)
				}
			}
		}
		if r.Cell == GRUBeforeCell {
			reset := make([]float64, state)
			for n := range r.n {
				r.through(r.dx, reset, t, n, 2, 3)
				for u := range r.size {
					at, v := n*r.size+u, *r.of(r.gates, t, n, 0, u)
					*r.of(r.dx, t, n, 0, u) = reset[at] * h[at] * v * (1 - v)
					before[at] += reset[at] * v
				}
				r.through(r.dx, before, t, n, 0, 2)
			}
		} else {
			for n := range r.n {
				r.through(r.dp, before, t, n, 0, r.Cell.Gates())
			}
		}
		dh = before
	}
	r.results = [][]float64{r.dx, nil, dh, nil}
	if r.Cell == GRUCell {
		r.results[1] = r.dp
	}
	if r.lstm() {
		r.results[3] = dc
	}
}
