package tensor

import (
	"slices"
	"sync"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/blocks"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A blockOp is an operation of one operand whose result, of the operand's rank, follows from its
// results on parts of the operand along some axes.
type blockOp interface {
	Op
	// folding returns how, for an operand of type t, or false if the operation needs all elements at once.
	folding(t dtype.Type) (folding, bool)
}

// A folding computes a result from one part after the other. Its state is some arrays of the shape of the
// result. The order and the sizes of the parts follow from the operand, so that results do not depend on
// the number of threads.
type folding struct {
	axes  []int        // that have size 1 in the result
	state []dtype.Type // of each array
	// part computes the state of one part x.
	part func(e *evaluator, state []storage.Array, x storage.Array) error
	// merge adds the state of m elements for each of the result to that of n others.
	merge func(e *evaluator, state, part []storage.Array, n, m int) error
	// finish computes the results from the state of n elements for each.
	finish func(e *evaluator, out, state []storage.Array, n int) error
}

// reduceBlocks returns the results of a blockOp on x, which is lazy and not empty, in memory.
func reduceBlocks(f folding, specs []Spec, x storage.Array) (out []storage.Array, err error) {
	order := blocks.StorageOrder(x.View)
	r := &reducer{folding: f, x: blocks.Permuted(x, order), merged: map[string]int{}}
	r.turn.L = &r.mu
	shape := slices.Clone(r.x.Shape)
	for k, axis := range order {
		r.reduced = append(r.reduced, slices.Contains(f.axes, axis))
		if r.reduced[k] {
			shape[k] = 1
		}
	}
	for _, t := range f.state {
		a, err := storage.Make(storage.CPU, t, shape...)
		if err != nil {
			return nil, err
		}
		r.state = append(r.state, a)
	}
	tiles := tilesOf(r.x)
	err = kernels.Parallel(len(tiles), func(i int) error {
		return evaluate(func(e *evaluator) error { return r.fold(e, i, tiles[i]) })
	})
	if err != nil {
		return nil, err
	}
	permuted := make([]storage.Array, len(specs))
	out = make([]storage.Array, len(specs))
	for i, spec := range specs {
		if out[i], err = storage.Make(storage.CPU, spec.Type, spec.Shape...); err != nil {
			return nil, err
		}
		permuted[i] = blocks.Permuted(out[i], order)
	}
	return out, evaluate(func(e *evaluator) error { return f.finish(e, permuted, r.state, x.Len()/views.Of(shape...).Len()) })
}

// A reducer folds the parts of x.
type reducer struct {
	folding
	x       storage.Array
	reduced []bool // axes of x
	state   []storage.Array

	mu     sync.Mutex
	turn   sync.Cond
	next   int            // part to merge
	failed bool           // a part has failed
	merged map[string]int // how many elements were merged, by place in the state
}

// fold computes the state of part number i of x, and merges it after those of all parts before.
func (r *reducer) fold(e *evaluator, i int, b views.Box) (err error) {
	shape, start, m := slices.Clone(b.Count), slices.Clone(b.Start), 1
	for axis, reduced := range r.reduced {
		if reduced {
			m *= shape[axis]
			shape[axis], start[axis] = 1, 0
		}
	}
	parts := make([]storage.Array, len(r.folding.state))
	x, err := e.tile(r.x.With(b.Of(r.x.View)))
	for k, t := range r.folding.state {
		if err == nil {
			parts[k], err = e.alloc(t, shape)
		}
	}
	if err == nil {
		err = r.part(e, parts, x)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.next < i && !r.failed {
		r.turn.Wait()
	}
	defer r.turn.Broadcast()
	r.next = i + 1
	if err != nil || r.failed {
		r.failed = true
		return err
	}
	place := views.Box{Start: start, Count: shape, Step: b.Step}
	at := viewKey(place.Of(r.state[0].View))
	state := make([]storage.Array, len(parts))
	for k := range parts {
		state[k] = r.state[k].With(place.Of(r.state[k].View))
	}
	n := r.merged[at]
	r.merged[at] = n + m
	if n > 0 {
		return r.merge(e, state, parts, n, m)
	}
	for k := range parts {
		if err := parts[k].CopyTo(state[k]); err != nil {
			return err
		}
	}
	return nil
}

// folding implements [blockOp]. Sums of floats are added up in float64.
func (op reduction) folding(t dtype.Type) (folding, bool) {
	f := folding{axes: op.axes, state: []dtype.Type{op.resultType(t)}}
	f.part = func(e *evaluator, state []storage.Array, x storage.Array) error {
		return e.context.Run(op.f, nil, state, x)
	}
	f.finish = func(e *evaluator, out, state []storage.Array, n int) error {
		return e.context.Run(kernels.Cast, nil, out, state[0])
	}
	with := kernels.Add
	switch op.f {
	case kernels.Sum, kernels.Mean:
		if t.IsFloat() {
			f.state[0], f.part = dtype.Float64, sumPart
		}
	case kernels.Max:
		with = kernels.Maximum
	default:
		return f, false
	}
	f.merge = func(e *evaluator, state, part []storage.Array, _, _ int) error {
		return e.context.Run(with, nil, state, state[0], part[0])
	}
	if op.f == kernels.Mean {
		f.finish = func(e *evaluator, out, state []storage.Array, n int) error {
			sums := storage.Elements[float64](state[0])
			for i := range sums {
				sums[i] /= float64(n)
			}
			return e.context.Run(kernels.Cast, nil, out, state[0])
		}
	}
	return f, true
}

// sumPart is the part of a sum of floats.
func sumPart(e *evaluator, state []storage.Array, x storage.Array) error {
	x, err := e.single(x)
	if err != nil {
		return err
	}
	_, err = e.sums(state[0].Shape, x, state[0])
	return err
}

// single returns floats of 16 bits as float32, others as they are.
func (e *evaluator) single(x storage.Array) (storage.Array, error) {
	if x.Type.Size() >= 4 {
		return x, nil
	}
	y, err := e.alloc(dtype.Float32, x.Shape)
	if err == nil {
		err = e.context.Run(kernels.Cast, nil, []storage.Array{y}, x)
	}
	return y, err
}

// sums writes the sums of x to float64s of a shape, and returns them.
func (e *evaluator) sums(shape []int, x, dst storage.Array) ([]float64, error) {
	to := dst
	if x.Type != dst.Type {
		var err error
		if to, err = e.alloc(x.Type, shape); err != nil {
			return nil, err
		}
	}
	err := e.context.Run(kernels.Sum, nil, []storage.Array{to}, x)
	if err == nil && x.Type != dst.Type {
		err = e.context.Run(kernels.Cast, nil, []storage.Array{dst}, to)
	}
	return storage.Elements[float64](dst)[:dst.Len()], err
}
