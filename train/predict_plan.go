package train

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// programs are the plans of a predictor, by the number of samples.
type programs struct {
	mu     sync.Mutex
	of     map[int]*tensor.Program
	seen   map[int]bool
	none   error         // why the model cannot be planned
	narrow *NarrowReport // of a model with weights of fewer bits; else nil

	first sync.Once // the samples that the report compares

	params []*nn.Parameter
	data   []storage.Storage // of params, when the model was planned
}

// mostPrograms is how many numbers of samples a model is planned for. Each plan has packed weights of its own.
const mostPrograms = 4

// forget drops all plans.
func (ps *programs) forget() {
	if ps == nil {
		return
	}
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.of, ps.seen, ps.none, ps.params, ps.data = nil, nil, nil, nil, nil
}

// Unplanned returns why p computes the model operation by operation, which takes longer: such as that it draws random numbers. It is
// nil for a model that is planned, on another device than the CPU, and before a batch was predicted.
func (p *Predictor) Unplanned() error {
	if p.programs == nil {
		return nil
	}
	p.programs.mu.Lock()
	defer p.programs.mu.Unlock()
	return p.programs.none
}

// A NarrowReport compares the first samples that a model with weights of fewer bits has predicted with weights of float32.
type NarrowReport struct {
	Type       dtype.Type // of the weights
	Layers, Of int        // products and convolutions with such weights, and all: the others are faster in float32, or of single channels
	Size, Full int        // bytes of weights and biases; with float32
	Samples    int
	Difference float64       // the largest of outputs, as a fraction of the largest output
	Same       int           // samples whose largest output is the same one
	Time       time.Duration // for a sample; 0 before any
	FullTime   time.Duration // with float32
}

// Narrow makes p compute with weights of type t, and with inputs of layers that are rounded to as many bits: Int8, with a scale for each output
// channel, or BFloat16. It is an error for a model that has no such layers, or cannot be planned, and for BFloat16 on a processor that does not
// multiply such numbers. The report is complete after the first predictions.
func (p *Predictor) Narrow(t dtype.Type) (*NarrowReport, error) {
	switch {
	case t != dtype.Int8 && t != dtype.BFloat16:
		return nil, fmt.Errorf("predict: weights of %v; want int8 or bfloat16: %w", t, storage.ErrState)
	case p.programs == nil:
		return nil, fmt.Errorf("predict: weights of %v on %v; the CPU has them: %w", t, p.device, storage.ErrDevice)
	case t == dtype.BFloat16 && !native.BF16():
		return nil, fmt.Errorf("predict: weights of bfloat16: the processor does not multiply them (AVX512-BF16); take int8 or float32: %w", storage.ErrDevice)
	}
	p.programs.forget()
	p.programs.narrow = &NarrowReport{Type: t}
	return p.programs.narrow, nil
}

// compare fills the report from the outputs of n samples.
func (r *NarrowReport) compare(out, full storage.Array) error {
	y, err := storage.Read[float64](out)
	if err != nil {
		return err
	}
	want, err := storage.Read[float64](full)
	if err != nil {
		return err
	}
	largest, n := 0.0, out.Shape[0]
	for i, w := range want {
		largest, r.Difference = max(largest, math.Abs(w)), max(r.Difference, math.Abs(y[i]-w))
	}
	if largest > 0 {
		r.Difference /= largest
	}
	each := len(want) / max(n, 1)
	for i := range n {
		if each > 0 && largestOf(y[i*each:(i+1)*each]) == largestOf(want[i*each:(i+1)*each]) {
			r.Same++
		}
	}
	r.Samples = n
	return nil
}

// largestOf returns the position of the largest element.
func largestOf(x []float64) (at int) {
	for i, v := range x {
		if v > x[at] {
			at = i
		}
	}
	return at
}

// runNarrow is run of the first samples with weights of fewer bits, and with those of float32.
func (ps *programs) runNarrow(p *Predictor, program *tensor.Program, out storage.Array, block []storage.Array) error {
	r := ps.narrow
	full, err := p.compile(tensor.CompileOptions{}, block)
	if err != nil {
		return err
	}
	want, err := storage.Make(storage.CPU, out.Type, out.Shape...)
	if err != nil {
		return err
	}
	timed := func(program *tensor.Program, out storage.Array) (time.Duration, error) {
		var began time.Time
		for range 2 { // the first allocates
			began = time.Now()
			if err := program.Run([]storage.Array{out}, block); err != nil {
				return 0, err
			}
		}
		return time.Since(began) / time.Duration(max(1, out.Shape[0])), nil
	}
	if r.FullTime, err = timed(full, want); err != nil {
		return err
	}
	if r.Time, err = timed(program, out); err != nil {
		return err
	}
	r.Layers, r.Of = program.Narrow()
	_, r.Size = program.Memory()
	r.Full = nn.SizeOf(p.model).Params * 4
	return r.compare(out, want)
}

// run computes out from the samples of block by a plan. It returns false without one: for a model that cannot be planned,
// and for the first samples of a number other than the predictor's, which may be the only ones.
func (ps *programs) run(p *Predictor, out storage.Array, block []storage.Array) (done bool, err error) {
	if ps == nil {
		return false, nil
	}
	for range 2 {
		program, err := ps.get(p, block)
		if program == nil || err != nil {
			return err != nil, err
		}
		if ps.narrow != nil {
			compared := false
			ps.first.Do(func() {
				compared = true
				err = ps.runNarrow(p, program, out, block)
			})
			if compared {
				return true, err
			}
		}
		if !ps.replaced() {
			if err = program.Run([]storage.Array{out}, block); !errors.Is(err, tensor.ErrChanged) {
				return true, err
			}
		}
		ps.forget()
	}
	return false, nil
}

// options are those of the plans.
func (ps *programs) options() tensor.CompileOptions {
	if ps.narrow == nil {
		return tensor.CompileOptions{}
	}
	return tensor.CompileOptions{Weights: ps.narrow.Type}
}

// replaced reports whether a parameter refers to another array than when the model was planned.
func (ps *programs) replaced() bool {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for i, param := range ps.params {
		if param.Array().Data != ps.data[i] {
			return true
		}
	}
	return false
}

// get returns the plan for the number of samples of block, or nil.
func (ps *programs) get(p *Predictor, block []storage.Array) (*tensor.Program, error) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	n := block[0].Shape[0]
	if program := ps.of[n]; program != nil || ps.none != nil {
		return program, nil
	}
	if ps.of == nil {
		ps.of, ps.seen = map[int]*tensor.Program{}, map[int]bool{}
	}
	if ps.narrow == nil && (n != p.BatchSize && !ps.seen[n] || len(ps.of) >= mostPrograms) {
		ps.seen[n] = true
		return nil, nil
	}
	program, err := p.compile(ps.options(), block)
	switch {
	case err != nil && ps.narrow != nil:
		return nil, fmt.Errorf("predict: with weights of %v: %w", ps.narrow.Type, err)
	case err != nil:
		ps.none = err
		return nil, nil
	}
	if _, layers := program.Narrow(); ps.narrow != nil && layers == 0 {
		return nil, fmt.Errorf("predict: no layer of the model has weights of %v: dense ones and convolutions of float32 have: %w", ps.narrow.Type, storage.ErrState)
	}
	ps.of[n] = program
	if ps.params == nil {
		for _, param := range nn.Parameters(p.model) {
			ps.params, ps.data = append(ps.params, param), append(ps.data, param.Array().Data)
		}
	}
	return program, nil
}

// compile plans the model for samples as those of block.
func (p *Predictor) compile(o tensor.CompileOptions, block []storage.Array) (*tensor.Program, error) {
	inputs := make([]tensor.Spec, len(block))
	for i, x := range block {
		inputs[i] = tensor.InputSpec(x.Type, x.Shape...)
	}
	return o.Compile(func(t *tensor.Tape, xs []*tensor.Tensor) []*tensor.Tensor {
		return []*tensor.Tensor{p.forwardTensors(xs)}
	}, inputs...)
}
