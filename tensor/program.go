package tensor

import (
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/errkind"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A Program is the operations of a function of tensors on the CPU, recorded once for inputs of given types and shapes
// and run any number of times: operations on constants alone are computed once, batch
// norms are parts of the convolutions and products before them, and so are activations and
// sums, MobileNet's blocks of convolutions are one, weights are packed, and results share buffers that are allocated once. Goroutines may share a
// Program; while several run it, each computes on a thread of its own, so that the last bits of results may depend on how many do.
type Program struct {
	weights  dtype.Type // see CompileOptions
	inputs   []Spec
	steps    []programStep
	outputs  []operand
	sizes    []int // bytes of each buffer
	versions []storage.Versioned
	version  uint64            // of all constants together
	recorded []storage.Storage // the memory of the recording, while the program is built

	mu     sync.Mutex
	idle   []*session
	active atomic.Int32
}

// ErrChanged is the failure of a program whose weights have changed. It is of kind ErrState.
var ErrChanged = errkind.Errorf(ErrState, "weights have changed since the program was compiled")

// An operand is an array of a step: a view of a value of the program or, if value is -1, a constant.
type operand struct {
	value int
	storage.Array
}

// A programStep is one operation.
type programStep struct {
	op      Op
	out, in []operand
	packed  packedStep // computes out from in, in the place of op
	fused   *fusedStep // while the program is built

	quantized kernels.Quantized // how the kernel rounds its input, while the program is built
}

// A packedStep computes an operation by weights that are packed.
type packedStep interface {
	Run(out, in []storage.Array) error
	Bytes() int
	Narrow() (count, of int)
}

// A recorder takes down the operations of a step.
type recorder struct {
	steps    []programStep
	versions []uint64 // of the first result of each step, after it
	bad      string   // why they cannot be repeated; "" if they can
}

// refuse notes why the operations of a step cannot be repeated. A nil tape records nothing.
func (t *Tape) refuse(why string) {
	if t != nil && t.recorder != nil && t.recorder.bad == "" {
		t.recorder.bad = why
	}
}

// note takes an operation down, and counts its multiply-adds on the meta device.
func (t *Tape) note(op Op, out, in []storage.Array) {
	if t != nil && len(out) > 0 && out[0].Data.Device() == Meta {
		t.multiplyAdds += multiplyAdds(op, out, in)
	}
	if t == nil || t.recorder == nil {
		return
	}
	s := programStep{op: op}
	for _, a := range out {
		s.out = append(s.out, operand{-1, a})
	}
	for _, a := range in {
		s.in = append(s.in, operand{-1, a})
	}
	t.recorder.steps = append(t.recorder.steps, s)
	t.recorder.versions = append(t.recorder.versions, version(out[0].Data))
}

func version(s storage.Storage) uint64 {
	if v, ok := s.(storage.Versioned); ok {
		return v.Version()
	}
	return 0
}

// A kernelCall is a kernel as an operation without a gradient.
type kernelCall struct {
	viewOp
	k       *kernels.Kernel
	options any
}

func (op kernelCall) Name() string { return op.k.Name }

func (op kernelCall) Forward(c *Context, out, in []storage.Array) error {
	return c.Run(op.k, op.options, out, in...)
}

func (kernelCall) Backward(_, _, in []*Tensor) []*Tensor { return make([]*Tensor, len(in)) }

// CompileOptions are the settings of a Program.
type CompileOptions struct {
	// Weights is the type of the constant weights of products and convolutions where that is faster, but not of single channels: Int8, or
	// BFloat16 on processors with native.BF16. By default weights keep their own.
	Weights dtype.Type
}

// Compile is [CompileOptions.Compile] with the defaults.
func Compile(f func(t *Tape, xs []*Tensor) []*Tensor, xs ...Spec) (*Program, error) {
	return CompileOptions{}.Compile(f, xs...)
}

// Compile records f, as [Infer] runs it, for inputs of the types and shapes of xs, whose values do not matter. It fails for a
// function that reads values, draws random numbers, writes in place or makes results of shapes that depend on values.
func (o CompileOptions) Compile(f func(t *Tape, xs []*Tensor) []*Tensor, xs ...Spec) (*Program, error) {
	p := &Program{inputs: slices.Clone(xs), weights: o.Weights}
	r := &recorder{}
	tape := &Tape{noGrad: true, recorder: r}
	err := runStep(tape, func(t *Tape) error {
		inputs, arrays := make([]*Tensor, len(xs)), make([]storage.Array, len(xs))
		for i, x := range xs {
			a, err := storage.Make(storage.CPU, x.Type, x.Shape...)
			if err != nil {
				return err
			}
			arrays[i], inputs[i] = a, t.Input(a)
		}
		outputs := f(t, inputs)
		for i, s := range r.steps {
			if version(s.out[0].Data) != r.versions[i] {
				t.refuse("writes to results in place")
			}
		}
		if r.bad != "" {
			return errkind.Errorf(ErrState, "it %s", r.bad)
		}
		results := make([]storage.Array, len(outputs))
		for i, y := range outputs {
			results[i] = y.array
		}
		for _, b := range t.used {
			p.recorded = append(p.recorded, b.Storage)
		}
		defer func() { p.recorded = nil }()
		return p.build(r.steps, arrays, results)
	})
	if err != nil {
		return nil, fmt.Errorf("compile: %w", err)
	}
	return p, nil
}

// build makes the program of recorded steps.
func (p *Program) build(steps []programStep, inputs, outputs []storage.Array) error {
	values := map[storage.Storage]int{}
	for i, a := range inputs {
		values[a.Data] = i
	}
	refer := func(list []operand) (constant bool) {
		constant = true
		for i, o := range list {
			list[i].value = -1
			if v, ok := values[o.Data]; ok {
				list[i].value, constant = v, false
			}
		}
		return constant
	}
	count := len(inputs)
	for _, s := range steps {
		if refer(s.in) {
			continue // its results are constants, which the recording has computed
		}
		for i, o := range s.out {
			if _, ok := values[o.Data]; ok {
				return errkind.Errorf(ErrState, "%s writes to memory that is in use", s.op.Name())
			}
			values[o.Data], s.out[i].value = count, count
			count++
		}
		p.steps = append(p.steps, s)
	}
	for _, a := range outputs {
		p.outputs = append(p.outputs, operand{-1, a})
	}
	refer(p.outputs)
	if err := p.fuse(); err != nil {
		return err
	}
	if err := p.keepConstants(); err != nil {
		return err
	}
	p.share(count)
	return nil
}

// keepConstants copies constants that are in the memory of the recording.
func (p *Program) keepConstants() error {
	kept := map[storage.Storage]storage.Storage{}
	keep := func(list []operand) error {
		for i, o := range list {
			if o.value >= 0 || !slices.Contains(p.recorded, o.Data) {
				continue
			}
			if kept[o.Data] == nil {
				own, err := storage.Uninitialized(o.Data.Len())
				if err != nil {
					return err
				}
				copy(own.(storage.Host).Bytes(), o.Data.(storage.Host).Bytes())
				kept[o.Data] = own
			}
			list[i].Data = kept[o.Data]
		}
		return nil
	}
	for _, s := range p.steps {
		if err := keep(s.in); err != nil {
			return err
		}
	}
	p.version = p.currentVersion()
	return keep(p.outputs)
}

// watch makes Run fail once a constant from outside has been written to.
func (p *Program) watch(s storage.Storage) {
	if v, ok := s.(storage.Versioned); ok && !slices.Contains(p.recorded, s) && !slices.Contains(p.versions, v) {
		p.versions = append(p.versions, v)
	}
}

func (p *Program) currentVersion() (sum uint64) {
	for _, v := range p.versions {
		sum += v.Version()
	}
	return sum
}

// share assigns buffers to values: the buffer of a value is free after the last step that reads it.
func (p *Program) share(values int) {
	last := make([]int, values)
	size := make([]int, values)
	for i, s := range p.steps {
		for _, o := range slices.Concat(s.in, s.out) {
			if o.value >= 0 {
				last[o.value] = i
				size[o.value] = max(size[o.value], (o.Offset+o.extent())*o.Type.Size())
			}
		}
	}
	for _, o := range p.outputs {
		if o.value >= 0 {
			last[o.value] = len(p.steps)
		}
	}
	buffer := slices.Repeat([]int{-1}, values)
	var free []int
	for i, s := range p.steps {
		for _, o := range s.out {
			if o.value >= 0 && buffer[o.value] < 0 {
				buffer[o.value] = p.bestBuffer(&free, size[o.value])
			}
		}
		for _, o := range slices.Concat(s.in, s.out) {
			if o.value >= len(p.inputs) && last[o.value] == i && buffer[o.value] >= 0 && !slices.Contains(free, buffer[o.value]) {
				free = append(free, buffer[o.value])
			}
		}
	}
	renumber := func(list []operand) {
		for i, o := range list {
			if o.value >= len(p.inputs) {
				list[i].value = len(p.inputs) + buffer[o.value]
			}
		}
	}
	for _, s := range p.steps {
		renumber(s.in)
		renumber(s.out)
	}
	renumber(p.outputs)
}

// bestBuffer takes the free buffer that fits size best, or grows one, or makes one.
func (p *Program) bestBuffer(free *[]int, size int) int {
	best := -1
	for i, b := range *free {
		if best < 0 {
			best = i
			continue
		}
		have, found := p.sizes[b], p.sizes[(*free)[best]]
		if have >= size && (found < size || have < found) || have < size && found < have {
			best = i
		}
	}
	if best < 0 {
		p.sizes = append(p.sizes, size)
		return len(p.sizes) - 1
	}
	b := (*free)[best]
	*free = slices.Delete(*free, best, best+1)
	p.sizes[b] = max(p.sizes[b], size)
	return b
}

// extent returns the number of elements from the first to the last of o.
func (o operand) extent() int {
	n := 1
	for axis, size := range o.Shape {
		n += max(size-1, 0) * max(o.Stride[axis], 0)
	}
	return n
}

// Memory returns the bytes of the buffers of one call, and of packed weights.
func (p *Program) Memory() (buffers, weights int) {
	for _, n := range p.sizes {
		buffers += n
	}
	for _, s := range p.steps {
		if s.packed != nil {
			weights += s.packed.Bytes()
		}
	}
	return buffers, weights
}

// Narrow returns how many products and convolutions have weights of the type of CompileOptions, of how many whose weights are packed: those
// that float32 is faster for, and convolutions of single channels, keep it.
func (p *Program) Narrow() (count, of int) {
	for _, s := range p.steps {
		if s.packed != nil {
			n, m := s.packed.Narrow()
			count, of = count+n, of+m
		}
	}
	return count, of
}

// A session is the memory of one call of a program.
type session struct {
	buffers []storage.Storage
	steps   []sessionStep
	inputs  []inputUse
	outputs []storage.Array
	tape    Tape
	context Context
}

type sessionStep struct {
	op      Op // a copy, because operations keep in themselves what they save
	out, in []storage.Array
}

// ownCopy returns a copy of op.
func ownCopy(op Op) Op {
	v := reflect.ValueOf(op)
	if v.Kind() != reflect.Pointer {
		return op
	}
	own := reflect.New(v.Type().Elem())
	own.Elem().Set(v.Elem())
	return own.Interface().(Op)
}

// An inputUse is an operand that reads an input: its offset is that of the input's first element, plus offset.
type inputUse struct {
	array  *storage.Array
	input  int
	offset int
}

func (p *Program) newSession() (*session, error) {
	s := &session{steps: make([]sessionStep, len(p.steps))}
	for _, size := range p.sizes {
		b, err := storage.Uninitialized(size)
		if err != nil {
			return nil, err
		}
		s.buffers = append(s.buffers, b)
	}
	place := func(list []operand) []storage.Array {
		arrays := make([]storage.Array, len(list))
		for i, o := range list {
			arrays[i] = o.Array
			if o.value >= len(p.inputs) {
				arrays[i].Data = s.buffers[o.value-len(p.inputs)]
			} else if o.value >= 0 {
				s.inputs = append(s.inputs, inputUse{&arrays[i], o.value, o.Offset})
			}
		}
		return arrays
	}
	for i, step := range p.steps {
		s.steps[i] = sessionStep{ownCopy(step.op), place(step.out), place(step.in)}
	}
	s.outputs = place(p.outputs)
	return s, nil
}

// Run writes the results for xs to ys. It fails if a constant of the program has changed since Compile.
func (p *Program) Run(ys, xs []storage.Array) error {
	if err := p.check(ys, xs); err != nil {
		return err
	}
	s, err := p.take()
	if err != nil {
		return err
	}
	defer p.put(s)
	for _, use := range s.inputs {
		x := xs[use.input]
		if !x.Contiguous() {
			copied, err := storage.Make(storage.CPU, x.Type, x.Shape...)
			if err != nil {
				return err
			}
			if err := x.CopyTo(copied); err != nil {
				return err
			}
			x, xs = copied, slices.Clone(xs)
			xs[use.input] = copied
		}
		use.array.Data, use.array.Offset = x.Data, use.offset+x.Offset
	}
	alone := p.active.Add(1) > 1
	defer p.active.Add(-1)
	if alone {
		kernels.Alone(func() { err = p.run(s, ys) })
		return err
	}
	runtime.LockOSThread() // the pool of arithmetic threads belongs to the thread that calls it
	defer runtime.UnlockOSThread()
	return p.run(s, ys)
}

func (p *Program) run(s *session, ys []storage.Array) (err error) {
	s.tape = Tape{noGrad: true}
	s.tape.used, s.tape.spare = s.tape.first.used[:0], s.tape.first.spare[:]
	s.context = Context{device: kernels.CPU, tape: &s.tape}
	defer s.tape.end()
	if failed := Try(func() { err = p.execute(s) }); failed != nil {
		return failed
	}
	for i, y := range s.outputs {
		if err == nil {
			err = y.CopyTo(ys[i])
		}
	}
	return err
}

func (p *Program) execute(s *session) error {
	for i := range p.steps {
		step, at := &p.steps[i], &s.steps[i]
		var err error
		if watching() {
			watched(step.op.Name(), mode{}, storage.CPU, at.out, at.in, func() error {
				err = step.run(&s.context, at)
				return nil
			})
		} else {
			err = step.run(&s.context, at)
		}
		if err != nil {
			return &Error{step.op.Name(), err}
		}
	}
	return nil
}

func (step *programStep) run(c *Context, at *sessionStep) error {
	if step.packed != nil {
		return step.packed.Run(at.out, at.in)
	}
	defer c.releaseTemps()
	return at.op.Forward(c, at.out, at.in)
}

func (p *Program) check(ys, xs []storage.Array) error {
	if p.version != p.currentVersion() {
		return fmt.Errorf("run: %w; compile it again", ErrChanged)
	}
	if len(xs) != len(p.inputs) || len(ys) != len(p.outputs) {
		return errkind.Errorf(ErrShape, "run: %d inputs and %d outputs; want %d and %d", len(xs), len(ys), len(p.inputs), len(p.outputs))
	}
	for i, x := range xs {
		if want := p.inputs[i]; x.Type != want.Type || !slices.Equal(x.Shape, want.Shape) || x.Data.Device() != storage.CPU {
			return errkind.Errorf(ErrShape, "run: input %d is %v; want %v%v in host memory", i, x, want.Type, want.Shape)
		}
	}
	return nil
}

func (p *Program) take() (*session, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if last := len(p.idle) - 1; last >= 0 {
		s := p.idle[last]
		p.idle = p.idle[:last]
		return s, nil
	}
	return p.newSession()
}

func (p *Program) put(s *session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, s)
}

// InputSpec describes row-major elements of a type and shape.
func InputSpec(t dtype.Type, shape ...int) Spec { return Spec{Type: t, View: views.Of(shape...)} }
