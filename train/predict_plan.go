package train

import (
	"errors"
	"sync"

	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// programs are the plans of a predictor, by the number of samples.
type programs struct {
	mu   sync.Mutex
	of   map[int]*tensor.Program
	seen map[int]bool
	none bool // the model cannot be planned

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
	ps.of, ps.seen, ps.none, ps.params, ps.data = nil, nil, false, nil, nil
}

// run computes out from the samples of block by a plan. It returns false where there is none: for a model that cannot be planned,
// and for the first samples of a number other than the predictor's, which may be the only ones.
func (ps *programs) run(p *Predictor, out storage.Array, block []storage.Array) (done bool, err error) {
	if ps == nil {
		return false, nil
	}
	for range 2 {
		program, err := ps.get(p, block)
		if program == nil || err != nil {
			return false, err
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
	if program := ps.of[n]; program != nil || ps.none {
		return program, nil
	}
	if ps.of == nil {
		ps.of, ps.seen = map[int]*tensor.Program{}, map[int]bool{}
	}
	if n != p.BatchSize && !ps.seen[n] || len(ps.of) >= mostPrograms {
		ps.seen[n] = true
		return nil, nil
	}
	inputs := make([]tensor.Spec, len(block))
	for i, x := range block {
		inputs[i] = tensor.InputSpec(x.Type, x.Shape...)
	}
	program, err := tensor.Compile(func(t *tensor.Tape, xs []*tensor.Tensor) []*tensor.Tensor {
		return []*tensor.Tensor{p.forwardTensors(xs)}
	}, inputs...)
	if err != nil {
		ps.none = true
		return nil, nil
	}
	ps.of[n] = program
	if ps.params == nil {
		for _, param := range nn.Parameters(p.model) {
			ps.params, ps.data = append(ps.params, param), append(ps.data, param.Array().Data)
		}
	}
	return program, nil
}
