package train

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/collective"
	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// The pieces of the parameters let each process add and update a part of them: the gradients of a bucket of parameters are
// divided into a piece for each shard, and a process adds the pieces of its shards, updates the parameters there and sends these
// to the others. The buckets of the last layers are sent while the backward pass goes on.
type pieces struct {
	*sharded
	optimizer   nn.Divisible
	elementwise bool            // pieces end within parameters
	buckets     []bucket        // of parameters, in the order of the layout
	changes     reduction       // of the buffers of the model
	left        int             // number of buckets whose exchange was not started; the last is started first
	open        []bool          // parameters whose gradients this process does not have yet
	lends       bool            // this process sends a gradient of this update from where it is, in the step that has it
	lent        []storage.Array // those, by parameter
	ranges      map[string][2]int
}

// A bucket is parameters of a layout that follow one another, and whose gradients are exchanged together.
type bucket struct {
	reduction
	first, end int // of the parameters
	at, size   int // of its elements, in a part of the loss
}

// bucketBytes is the size from which a bucket is exchanged.
var bucketBytes = 1 << 20 // tests change it

// newPieces returns the pieces of the parameters, or nil if each process updates all of them: on GPUs, and where hooks
// or the optimizer want whole gradients. That does not depend on the number of processes.
func (x *sharded) newPieces() *pieces {
	p := &pieces{sharded: x, ranges: map[string][2]int{}, open: make([]bool, len(x.trained)), lent: make([]storage.Array, len(x.trained))}
	var divisible bool
	p.optimizer, divisible = x.r.Optimizer.(nn.Divisible)
	if !divisible || x.r.Device != storage.CPU || x.shards.fast || slices.ContainsFunc(x.r.hooks, needsAll) ||
		slices.ContainsFunc(x.trained, func(p *nn.Parameter) bool { return !p.Array().Contiguous() }) {
		return nil
	}
	p.elementwise = p.optimizer.Elementwise()
	l := &x.layout
	p.changes = x.shards.newReduction(l.first)
	for first := 0; first < len(l.params); {
		b := bucket{first: first, end: first + 1, at: l.params[first].at}
		for b.size = l.params[first].end() - b.at; b.end < len(l.params) && (!p.elementwise || b.size*l.t.Size() < bucketBytes); b.end++ {
			b.size = l.params[b.end].end() - b.at
		}
		b.reduction = x.shards.newReduction(b.size)
		if !p.elementwise {
			b.cutBetween(l.params)
		}
		p.buckets = append(p.buckets, b)
		first = b.end
	}
	return p
}

// cutBetween moves the cuts to the nearest ends of parameters.
func (b *bucket) cutBetween(params []place) {
	for i, cut := range b.cuts {
		nearest := 0
		for _, p := range params[b.first:b.end] {
			if end := p.end() - b.at; abs(end-cut) < abs(nearest-cut) {
				nearest = end
			}
		}
		b.cuts[i] = nearest
	}
}

func abs(x int) int { return max(x, -x) }

// needsAll reports whether a hook works on whole gradients.
func needsAll(h Hook) bool {
	switch h.(type) {
	case clipNorm, clipValue:
		return false
	}
	return true
}

// overlap returns the elements of a parameter, from 0, that are among the elements [first, end) of b.
func (b *bucket) overlap(p place, first, end int) [2]int {
	at := p.at - b.at
	first, end = max(first-at, 0), min(end-at, p.len())
	if end <= first {
		return [2]int{}
	}
	return [2]int{first, end}
}

// begin begins an update.
func (p *pieces) begin() {
	p.left = len(p.buckets)
	for i := range p.open {
		p.open[i] = true
	}
	p.lends = false
	clear(p.lent)
}

// lend makes the gradient of the k-th parameter stand for its sums in the last leaf, and reports whether it can: if it is
// a bucket of its own. It must not be written to, as it may be the gradient of another parameter too.
func (p *pieces) lend(k int, gradient storage.Array) bool {
	b := p.bucketOf(k)
	if p.shards.group == nil || b.end-b.first > 1 || gradient.Type != p.layout.t || !gradient.Contiguous() {
		return false
	}
	p.lent[k], p.lends = tensor.FromArray(gradient).Reshape(-1).Array(), true
	return true
}

// ready starts the exchange of each bucket, from the last, that this process has all gradients of.
func (p *pieces) ready(k int) error {
	p.open[k] = false
	for p.left > 0 && !slices.Contains(p.open[p.buckets[p.left-1].first:p.buckets[p.left-1].end], true) {
		if err := p.startNext(1); err != nil {
			return err
		}
	}
	return nil
}

// startRest starts the exchange of all other buckets.
func (p *pieces) startRest(parts int) error {
	for p.left > 0 {
		if err := p.startNext(parts); err != nil {
			return err
		}
	}
	return nil
}

// startNext starts the exchange of a bucket of a loss of a number of parts.
func (p *pieces) startNext(parts int) error {
	p.left--
	b := &p.buckets[p.left]
	arrays := make([][]storage.Array, parts)
	for part := range arrays {
		at := p.layout.first + part*p.layout.size + b.at
		for i, l := range p.leaves {
			if lent := p.lent[b.first]; lent.Data != nil && i == len(p.leaves)-1 {
				arrays[part] = append(arrays[part], lent)
				continue
			}
			for k := b.first; k < b.end; k++ {
				if l.counts[part*len(p.trained)+k] == 0 {
					p.view(l.sums, p.layout.params[k], part).Zero()
				}
			}
			arrays[part] = append(arrays[part], rows(l.sums, at, at+b.size))
		}
	}
	b.kept = treeNode{}
	if p.lent[b.first].Data != nil {
		last := p.shards.first + len(p.leaves) - 1
		b.kept = treeNode{last, last + 1}
	}
	return b.start(arrays)
}

// startChanges starts the exchange of the changes of the buffers.
func (p *pieces) startChanges() error {
	all := make([]storage.Array, len(p.leaves))
	for i, l := range p.leaves {
		p.setChanges(l)
		all[i] = rows(l.sums, 0, p.layout.first)
	}
	return p.changes.start([][]storage.Array{all})
}

// update updates this process's pieces with the sums of all shards, gets the other processes' pieces, and updates the buffers.
func (p *pieces) update(info BatchInfo, total numbers) (updated bool, err error) {
	if err := cmp.Or(p.startRest(total.parts), p.startChanges()); err != nil {
		return false, err
	}
	if err := tensor.Step(func(t *tensor.Tape) error {
		s := &Step{BatchInfo: info, Parts: make([]LossPart, total.parts)}
		clear(p.ranges)
		for i := range p.buckets {
			if err := p.gradients(t, s, &p.buckets[i], total); err != nil {
				return err
			}
		}
		if total.parts > 1 {
			s.joinParts()
		}
		if updated, err = p.apply(t, s); err != nil {
			return err
		}
		return p.afterUpdate(t, updated)
	}); err != nil {
		return updated, err
	}
	return updated, p.updateBuffers(total.samples)
}

// gradients adds to s the gradients of this process's piece of a bucket.
func (p *pieces) gradients(t *tensor.Tape, s *Step, b *bucket, total numbers) error {
	sums, err := b.finish()
	if err != nil {
		return err
	}
	first, end := b.piece(b.rank())
	for part, sum := range sums {
		for k := b.first; k < b.end; k++ {
			if total.counts[part*len(p.trained)+k] == 0 {
				continue
			}
			place, param := p.layout.params[k], p.trained[k]
			r := b.overlap(place, first, end)
			p.ranges[place.name] = r
			if r[0] == r[1] {
				continue
			}
			at := place.at - b.at - first
			d := t.Input(rows(sum, at+r[0], at+r[1]))
			if r[1]-r[0] == place.len() {
				d = d.Reshape(place.shape...)
			}
			s.Gradients = append(s.Gradients, Gradient{place.name, param, total.meanOf(d.Cast(param.DType()), part), part})
		}
	}
	return nil
}

// meanOf divides the sum of denominator·gradient of a part of the loss by the sum of the denominators.
func (n numbers) meanOf(d *tensor.Tensor, part int) *tensor.Tensor {
	if n := n.denominators[part]; n != 0 && n != 1 {
		return d.DivScalar(n)
	}
	return d
}

// apply calls the hooks, updates the pieces and exchanges them.
func (p *pieces) apply(t *tensor.Tape, s *Step) (updated bool, err error) {
	s.squares = func() (float64, error) { return p.squares(s) }
	if scaler := p.r.scaler; scaler != nil {
		s.LossScale = scaler.Factor(t.Input(p.args))
		sum, err := s.squares() // infinite or NaN where a gradient of any process is
		if err != nil {
			return false, err
		}
		scaler.CheckFinite(t.Input(storage.From([]float64{sum}, 1)))
	}
	for _, h := range p.r.hooks {
		if err := h.Gradients(s); err != nil {
			return false, fmt.Errorf("hook %T: %w", h, err)
		}
	}
	if len(p.ranges) > 0 { // else the optimizer says that there is nothing to update
		p.optimizer.Divide(p.ranges)
		defer p.optimizer.Divide(nil)
	}
	if err := p.optimizer.Step(p.params, s.grads()); err != nil {
		return false, err
	}
	return true, p.shareParams()
}

// squares returns the sum of the squares of all gradients: of each piece of a shard, added in the order of the tree.
func (p *pieces) squares(s *Step) (float64, error) {
	mine := make([][]float64, len(p.leaves))
	for i := range mine {
		sum := 0.0
		for _, g := range s.Gradients {
			k := p.index[g.Param]
			b, have := p.bucketOf(k), p.ranges[g.Name]
			piece := b.overlap(p.layout.params[k], b.cuts[b.shardRange.first+i], b.cuts[b.shardRange.first+i+1])
			if piece[0] == piece[1] {
				continue
			}
			squares, ok := squareSum(g.Grad.Cast(p.layout.t).Contiguous().Reshape(-1).Array(), piece[0]-have[0], piece[1]-have[0])
			if !ok {
				return 0, fmt.Errorf("no memory for the sums of squares of %d numbers", piece[1]-piece[0])
			}
			sum += squares
		}
		mine[i] = []float64{sum}
	}
	all, err := p.shards.gatherRows(mine)
	if err != nil {
		return 0, err
	}
	return treeNode{0, p.shards.all}.sumNumbers(all)[0], nil
}

// squareSum returns the sum of the squares of the elements [first, end) of a, float32 or float64 on the CPU.
func squareSum(a storage.Array, first, end int) (float64, bool) {
	compute, _ := native.ComputeTypeOf(a.Type)
	return native.SquareSum(compute, int64(end-first), bytesOfArray(rows(a, first, end)), 1)
}

// bucketOf returns the bucket of a parameter.
func (p *pieces) bucketOf(k int) *bucket {
	i, _ := slices.BinarySearchFunc(p.buckets, k, func(b bucket, k int) int { return cmp.Compare(b.end, k+1) })
	return &p.buckets[i]
}

// shareParams gives every process the updated parameters.
func (p *pieces) shareParams() error {
	return p.shareArrays(func(yield func(string, storage.Array) bool) {
		for k, place := range p.layout.params {
			if !yield(place.name, p.trained[k].Array()) {
				return
			}
		}
	})
}

// shareState gives every process the state of the optimizer.
func (p *pieces) shareState() error {
	return p.shareArrays(func(yield func(string, storage.Array) bool) {
		for name, a := range p.optimizer.State() {
			if _, param, ok := strings.Cut(name, "/"); ok && !yield(param, a) {
				return
			}
		}
	})
}

// shareArrays gives every process the pieces of arrays that the others have updated. An array is named after its
// parameter, and of its shape unless the parameter is updated by one process.
func (p *pieces) shareArrays(arrays func(yield func(string, storage.Array) bool)) error {
	if p.shards.group == nil {
		return nil
	}
	var waits []collective.Wait
	for name, a := range arrays {
		k, ok := p.byName[name]
		if !ok {
			continue
		}
		b, place := p.bucketOf(k), p.layout.params[k]
		waits = append(waits, p.shards.startGather(a, func(rank int) (first, end int) {
			r := b.overlap(place, b.cuts[rank*b.local], b.cuts[(rank+1)*b.local])
			if r[1]-r[0] == place.len() {
				return 0, a.Len()
			}
			return r[0], r[1]
		}))
	}
	var failed error
	for _, wait := range waits {
		if failed == nil {
			failed = wait()
		}
	}
	return failed
}

// updateBuffers updates the buffers of the model with the changes of all shards.
func (p *pieces) updateBuffers(samples float64) error {
	sums, err := p.changes.finish()
	if err != nil || p.layout.first == 0 {
		return err
	}
	total := sums[0]
	if p.shards.group != nil {
		total = rows(p.leaves[0].sums, 0, p.layout.first)
		copy(bytesOfArray(p.changes.pieceOf(total, p.shards.rank())), bytesOfArray(sums[0]))
		if err := p.shards.startGather(total, p.changes.piece)(); err != nil {
			return err
		}
	}
	return p.mixBuffers(total, samples)
}
