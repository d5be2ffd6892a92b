package tensor

import (
	"errors"
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
	r := &reducer{folding: f, x: blocks.Permuted(x, order), merged: map[string]int{}, later: map[int]*laterParts{}}
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
	size := tileSize
	if _, computed := x.Data.(*lazy); !computed {
		size *= 2 // nothing else is in the cache
	}
	jobs, tiles := tilesOf(r.x, size)
	err = kernels.Parallel(jobs, func(job int) error {
		var err error
		for tile := range tiles(job) {
			if err = evaluate(func(e *evaluator) error { return r.fold(e, job, tile) }); err != nil {
				break
			}
		}
		return evaluate(func(e *evaluator) error { return r.end(e, job, err) })
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

	mu      sync.Mutex
	turn    sync.Cond
	next    int                 // job whose parts are merged as they come
	later   map[int]*laterParts // of jobs after it
	waiting int                 // bytes of these
	failed  bool                // a job has failed
	merged  map[string]int      // how many elements were merged, by place in the state
}

// mostWaiting is the number of bytes of parts from which on a job waits for its turn. Tests change it.
var mostWaiting = 16 << 20

// laterParts are the parts of a job which is not the next to be merged.
type laterParts struct {
	parts []statePart
	ended bool
}

// A statePart is the state of a part of x.
type statePart struct {
	state []storage.Array
	place views.Box // in the state of x
	n     int       // elements for each of the result
}

// fold computes the state of a part of x, and merges it after the states of all parts before, at once or when these are
// merged.
func (r *reducer) fold(e *evaluator, job int, b views.Box) error {
	shape, start := slices.Clone(b.Count), slices.Clone(b.Start)
	part := statePart{state: make([]storage.Array, len(r.folding.state)), n: 1}
	for axis, reduced := range r.reduced {
		if reduced {
			part.n *= shape[axis]
			shape[axis], start[axis] = 1, 0
		}
	}
	part.place = views.Box{Start: start, Count: shape, Step: b.Step}
	x, err := e.tile(r.x.With(b.Of(r.x.View)))
	for k, t := range r.folding.state {
		if err == nil {
			part.state[k], err = e.alloc(t, shape)
		}
	}
	if err == nil {
		err = r.part(e, part.state, x)
	}
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.next < job && r.waiting > mostWaiting && !r.failed {
		r.turn.Wait()
	}
	if r.next == job || r.failed {
		return r.add(e, part)
	}
	later := r.of(job)
	for k, a := range part.state {
		if part.state[k], err = storage.Make(storage.CPU, a.Type, shape...); err != nil {
			return err
		}
		r.waiting += a.NBytes()
		if err = a.CopyTo(part.state[k]); err != nil {
			return err
		}
	}
	later.parts = append(later.parts, part)
	return nil
}

// of returns the parts of a job that wait.
func (r *reducer) of(job int) *laterParts {
	if r.later[job] == nil {
		r.later[job] = &laterParts{}
	}
	return r.later[job]
}

// end ends a job, and merges the parts of jobs after it whose turn has come.
func (r *reducer) end(e *evaluator, job int, err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.turn.Broadcast()
	r.failed = r.failed || err != nil
	r.of(job).ended = true
	for !r.failed && r.later[r.next] != nil && r.later[r.next].ended {
		delete(r.later, r.next)
		r.next++
		if later := r.later[r.next]; later != nil {
			for _, part := range later.parts {
				for _, a := range part.state {
					r.waiting -= a.NBytes()
				}
				if err := r.add(e, part); err != nil {
					r.failed = true
					return err
				}
			}
			later.parts = nil
		}
	}
	return err
}

// add merges a part, or sets the state to it if it is the first of its place.
func (r *reducer) add(e *evaluator, part statePart) error {
	at := viewKey(part.place.Of(r.state[0].View))
	state := make([]storage.Array, len(part.state))
	for k := range state {
		state[k] = r.state[k].With(part.place.Of(r.state[k].View))
	}
	n := r.merged[at]
	r.merged[at] = n + part.n
	if n > 0 {
		return r.merge(e, state, part.state, n, part.n)
	}
	for k := range state {
		if err := part.state[k].CopyTo(state[k]); err != nil {
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
	case kernels.Min:
		with = kernels.Minimum
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
	_, err = e.sums(x, state[0])
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

// sums writes the sums of x to dst, float64s, and returns them.
func (e *evaluator) sums(x, dst storage.Array) ([]float64, error) {
	sums := storage.Elements[float64](dst)[:dst.Len()]
	return sums, e.reduce(kernels.Sum, sums, dst.Shape, x)
}

// reduce sets sums, of a shape, to the results of kernel f, which adds up what it makes of elements of x, and of more
// operands of the shape. Kernels do not vectorize a few columns: rows of them are joined into longer ones.
func (e *evaluator) reduce(f *kernels.Kernel, sums []float64, shape []int, x storage.Array, more ...storage.Array) error {
	clear(sums)
	joined := joinedRows(shape, x)
	if joined < 2 {
		return e.add(f, sums, shape, x, more...)
	}
	width := len(sums)
	long := x.Len() / width / joined // rows
	wide := make([]storage.Array, len(more))
	for i, operand := range more {
		a, err := e.alloc(operand.Type, []int{joined, width})
		if err == nil {
			err = broadcastTo(operand.With(views.Of(width)), a.Shape).CopyTo(a)
		}
		if err != nil {
			return err
		}
		wide[i], more[i] = a.With(views.Of(1, joined*width)), operand.With(views.Of(1, width))
	}
	err := e.add(f, sums, []int{1, joined * width}, x.With(views.Of(long, joined*width)), wide...)
	if rest := x.Len()/width - long*joined; err == nil && rest > 0 {
		last := views.Of(rest, width)
		last.Offset = long * joined * width
		err = e.add(f, sums, []int{1, width}, x.With(last), more...)
	}
	return err
}

// joinedRows returns how many rows of x are joined: 1 unless the results are few, in the last axes.
func joinedRows(shape []int, x storage.Array) int {
	const fast = 256 // columns
	width, last := 1, len(shape)
	for last > 0 && shape[last-1] > 1 {
		last--
		width *= shape[last]
	}
	if width == 1 || width >= fast || width != views.Of(shape...).Len() || x.Len() < 16*fast || x.Offset != 0 || !x.Contiguous() {
		return 1
	}
	return fast / width
}

// add adds results of f, of a shape, to sums; those that have the same remainder are added up.
func (e *evaluator) add(f *kernels.Kernel, sums []float64, shape []int, x storage.Array, more ...storage.Array) error {
	y, err := e.alloc(x.Type, shape)
	if err == nil {
		err = e.context.Run(f, nil, []storage.Array{y}, append([]storage.Array{x}, more...)...)
	}
	if err != nil {
		return err
	}
	for i, sum := range float64s(y) {
		sums[i%len(sums)] += sum
	}
	return nil
}

// float64s returns the elements of memory of an evaluator.
func float64s(a storage.Array) []float64 {
	elems, _ := a.Bytes()
	return blocks.Float64s(a.Type, elems)
}

// moments has two results: Σ (x − mean)² along axes, and the mean. Var of a tensor over a file reads it once.
type moments struct{ reduction }

func newMoments(axes []int) moments { return moments{reduction{f: kernels.Squares, axes: axes}} }

func (moments) Name() string { return "var" }

func (op moments) Infer(in []Spec) []Spec {
	one := op.reduction.Infer(in)
	return append(one, one...)
}

// Forward computes them in memory, where a file was read as a whole.
func (moments) Forward(c *Context, out, in []storage.Array) error {
	if err := c.Run(kernels.Mean, nil, out[1:], in...); err != nil {
		return err
	}
	return c.Run(kernels.Squares, nil, out[:1], in[0], out[1])
}

// folding implements [blockOp]: the parts are merged as in Chan, Golub and LeVeque, "Updating Formulae and a Pairwise Algorithm for
// Computing Sample Variances" (1979).
func (op moments) folding(t dtype.Type) (folding, bool) {
	return folding{
		axes: op.axes, state: []dtype.Type{dtype.Float64, dtype.Float64}, part: momentsPart, merge: mergeMoments,
		finish: func(e *evaluator, out, state []storage.Array, n int) error {
			return errors.Join(state[0].CopyTo(out[0]), state[1].CopyTo(out[1]))
		},
	}, t.IsFloat() && !t.StorageOnly()
}

func momentsPart(e *evaluator, state []storage.Array, x storage.Array) error {
	x, err := e.single(x)
	if err != nil {
		return err
	}
	shape := state[0].Shape
	means, err := e.sums(x, state[1])
	if err != nil {
		return err
	}
	n := float64(x.Len() / len(means))
	for i := range means {
		means[i] /= n
	}
	about, err := e.alloc(x.Type, shape)
	if err == nil {
		err = state[1].CopyTo(about)
	}
	if err != nil {
		return err
	}
	squares := storage.Elements[float64](state[0])[:len(means)]
	if err := e.reduce(kernels.Squares, squares, shape, x, about); err != nil {
		return err
	}
	for i, rounded := range float64s(about) {
		d := means[i] - rounded
		squares[i] -= n * d * d
	}
	return nil
}

func mergeMoments(_ *evaluator, state, part []storage.Array, n, m int) error {
	squares, means := storage.Elements[float64](state[0]), storage.Elements[float64](state[1])
	moreSquares, moreMeans := storage.Elements[float64](part[0]), storage.Elements[float64](part[1])
	share := float64(m) / float64(n+m)
	views.Walk(func(at, step []int, count int) {
		for i := range count {
			a, b := at[0]+i*step[0], at[1]+i*step[1]
			d := moreMeans[b] - means[a]
			means[a] += d * share
			squares[a] += moreSquares[b] + d*d*float64(n)*share
		}
	}, state[0].View, part[0].View)
	return nil
}
