package train

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// sharded makes each step in parts, one for each shard, and adds up what they contribute to an update.
type sharded struct {
	*trainer
	args    storage.Array // hyperparameters, for the loss scaler's optimizers; else empty
	layout  layout
	trained []*nn.Parameter       // of the layout
	index   map[*nn.Parameter]int // of them
	byName  map[string]int        // of them
	pieces  *pieces               // nil if each process updates all parameters
	turns   *lockstep             // nil if no layer wants numbers of all shards
	buffers []*nn.Buffer          // of the model
	base    []storage.Array       // what they were before the batches of this update
	leaves  []*leaf               // of the shards of this process
	begun   int                   // batches of this update so far
	adding  adding                // the part of a batch whose gradients are being computed
}

// An adding is a part of a batch whose gradients are added to a leaf.
type adding struct {
	leaf    *leaf
	samples int
	share   float64          // of the samples of a full part, or of the batch if there is no other in the update
	weights []*tensor.Tensor // the denominators of the parts of the loss
	last    bool             // the leaves of this process are complete with it
	updated bool             // and the update was made, in the step of the batch, whose gradients were sent from where they are
}

// A leaf is what a shard contributes to an update: of one batch, or of several that are accumulated.
type leaf struct {
	sums    storage.Array   // as the layout says
	buffers []storage.Array // the buffers of the model, after the batches of the shard so far
	numbers
}

// A layout says where a leaf has its sums: first the change of each buffer of the model, times the samples, then, for
// each part of the loss, denominator·gradient of each parameter.
type layout struct {
	t       dtype.Type
	buffers []place
	params  []place // of the first part
	size    int     // of a part
	first   int     // of the first part
}

// A place is where an array is among others.
type place struct {
	name  string
	at    int
	shape []int
}

func (p place) len() int {
	n := 1
	for _, size := range p.shape {
		n *= size
	}
	return n
}

func (p place) end() int { return p.at + p.len() }

// numbers is what a leaf contributes besides. It is exchanged as float64.
type numbers struct {
	samples, loss, correct, ignored float64 // sums over the samples
	stop, save                      float64 // 1 where the process is to stop, or to save the run
	parts                           int     // of the loss
	denominators                    []float64
	counts                          []float64 // batches that had a gradient of a parameter, by part and parameter
}

const plainNumbers = 7

func (n *numbers) row() []float64 {
	row := []float64{n.samples, n.loss, n.correct, n.ignored, n.stop, n.save, float64(n.parts)}
	return append(append(row, n.denominators...), n.counts...)
}

// numbersIn returns what row has, of a loss of at most a number of parts.
func numbersIn(row []float64, most int) numbers {
	return numbers{row[0], row[1], row[2], row[3], row[4], row[5], int(row[6]), row[plainNumbers:][:most], row[plainNumbers+most:]}
}

func (t *trainer) newSharded() (*sharded, error) {
	x := &sharded{trainer: t, layout: layout{t: dtype.Float32}, index: map[*nn.Parameter]int{}, byName: map[string]int{}}
	if t.r.scaler != nil {
		var err error
		if x.args, err = storage.Make(t.r.Device, dtype.Float64, t.hyperCount()); err != nil {
			return nil, err
		}
	}
	l := &x.layout
	add := func(to *[]place, at *int, name string, a storage.Array) {
		*to = append(*to, place{name, *at, slices.Clone(a.Shape)})
		*at += a.Len()
		if a.Type != dtype.Float32 {
			l.t = dtype.Float64
		}
	}
	for name, b := range nn.Buffers(t.r.Model) {
		x.buffers = append(x.buffers, b)
		add(&l.buffers, &l.first, name, b.Array)
	}
	for name, p := range t.params {
		if p.RequiresGrad() {
			x.index[p], x.byName[name] = len(l.params), len(l.params)
			x.trained = append(x.trained, p)
			add(&l.params, &l.size, name, p.Array())
		}
	}
	most := max(1, len(t.r.targets))
	for range t.shards.local {
		leaf := &leaf{numbers: numbers{denominators: make([]float64, most), counts: make([]float64, most*len(l.params))}}
		var err error
		if leaf.sums, err = storage.Make(t.r.Device, l.t, l.first+most*l.size); err != nil {
			return nil, fmt.Errorf("sums of the gradients of %d shards: %w", t.shards.local, err)
		}
		if leaf.buffers, err = x.copies(); err != nil {
			return nil, err
		}
		x.leaves = append(x.leaves, leaf)
	}
	x.pieces = x.newPieces()
	turns := &lockstep{sharded: x}
	if layers := nn.SetShardSum(t.r.Model, turns.sum); layers > 0 {
		if x.turns = turns; t.r.Device != storage.CPU {
			return nil, fmt.Errorf("train: %d layers of batch normalization with sync: true on %v, which adds statistics of shards on the CPU only; leave sync out, or train on the CPU: %w", layers, t.r.Device, storage.ErrDevice)
		}
	}
	var err error
	x.base, err = x.copies()
	return x, err
}

// copies returns copies of the buffers of the model.
func (x *sharded) copies() ([]storage.Array, error) {
	all := make([]storage.Array, len(x.buffers))
	for i, b := range x.buffers {
		var err error
		if all[i], err = storage.Make(b.Data.Device(), b.Type, b.Shape...); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// view returns what a place has of sums, of a part of the loss.
func (x *sharded) view(sums storage.Array, s place, part int) *tensor.Tensor {
	at := s.at
	if part >= 0 {
		at += x.layout.first + part*x.layout.size
	}
	return tensor.FromArray(rows(sums, at, at+s.len())).Reshape(s.shape...)
}

func (x *sharded) beginEpoch() error {
	x.begun = 0
	return nil
}

func (x *sharded) collect() error { return nil }

// step computes this process's parts of a batch, which may be empty, and makes an update after the last accumulated
// batch.
func (x *sharded) step(b *batch) error {
	if err := x.stepOf(b); err != nil {
		return fmt.Errorf("epoch %d, step %d: %w", x.r.Position.Epoch+1, x.r.Position.Step+1, err)
	}
	return nil
}

func (x *sharded) stepOf(b *batch) error {
	x.agreed = agreement{}
	args := x.nextArgs()
	if x.args.Data != nil {
		if err := storage.From(args.hyper, len(args.hyper)).CopyTo(x.args); err != nil {
			return err
		}
		x.captureArgs(x.args)
	}
	info, first := x.batchInfo(b), 0
	if x.begun == 0 {
		if err := x.copyBuffers(x.base, true); err != nil {
			return err
		}
	}
	closing := x.begun+1 >= x.r.Config.Accumulate || info.Last()
	if closing && x.pieces != nil {
		x.pieces.begin()
	}
	counts := x.loader.Parts(x.localStart(info.Consumed))
	if x.turns != nil {
		if err := x.turns.contribute(info, b, counts); err != nil {
			return err
		}
		counts = nil
	}
	for i, n := range counts {
		x.adding = adding{leaf: x.leaves[i], samples: n, last: closing && i == len(x.leaves)-1}
		if err := x.contribute(info, i, b, first, n); err != nil {
			return err
		}
		first += n
	}
	x.begun++
	if !closing {
		return nil
	}
	x.begun = 0
	if x.adding.updated {
		return nil
	}
	return x.finish(info)
}

// copyBuffers copies the buffers of the model to a, or from there.
func (x *sharded) copyBuffers(a []storage.Array, from bool) error {
	for i, b := range x.buffers {
		to, what := b.Array, a[i]
		if from {
			to, what = what, to
		}
		if err := what.CopyTo(to); err != nil {
			return err
		}
	}
	return nil
}

// contribute adds n samples of b, from first on, to the i-th leaf of this process.
func (x *sharded) contribute(info BatchInfo, i int, b *batch, first, n int) error {
	l := x.leaves[i]
	before := x.base // the buffers
	if x.begun == 0 {
		l.numbers = numbers{denominators: l.denominators, counts: l.counts}
		clear(l.denominators)
		clear(l.counts)
	} else if l.samples > 0 {
		before = l.buffers
	}
	if n == 0 {
		return nil
	}
	if err := x.copyBuffers(before, false); err != nil {
		return err
	}
	fields := make([]storage.Array, len(b.fields))
	for k, field := range b.fields {
		fields[k] = rows(field, first, first+n)
	}
	shard := x.shards.first + i
	var failed error
	if err := tensor.Step(func(t *tensor.Tape) error {
		t.Seed(x.r.Config.Seed, x.r.Position.Step*uint64(x.shards.all)+uint64(shard))
		x.r.autocast(t)
		c := x.r.compare(exampleOf(t, x.r.Inputs, x.binding, fields, storage.Array{}))
		shown := x.r.measure(c, x.r.metrics[shard])
		counts, left := x.r.correct(c)
		l.samples += float64(n)
		l.loss += shown.Item() * float64(n)
		if counts != nil {
			l.correct += counts.Item()
		}
		if left != nil {
			l.ignored += left.Item()
		}
		s := &Step{BatchInfo: info, Parts: partsOf(c.losses)}
		x.weigh(s)
		if err := x.lossGradients(s); err != nil {
			return err
		}
		if failed = x.copyBuffers(l.buffers, true); failed == nil && x.adding.last && x.pieces != nil && x.pieces.lends {
			x.adding.updated = true
			failed = x.finish(info)
		}
		return nil
	}); failed != nil {
		return failed
	} else if err != nil && info.Last() && n == 1 {
		return fmt.Errorf("%w; the last batch has one sample for shard %d, and drop_last: true leaves that batch out", err, shard)
	} else {
		return err
	}
}

// weigh sets how the gradients of a part of a batch are weighted: by the denominators of the loss. One that is the number
// of samples is known of the whole batch: without other batches nothing is left to divide by.
func (x *sharded) weigh(s *Step) {
	a := &x.adding
	a.weights, a.leaf.parts = make([]*tensor.Tensor, len(s.Parts)), len(s.Parts)
	alone := x.r.Config.Accumulate < 2
	if a.share = float64(a.samples) / float64(s.Samples); !alone {
		a.share = float64(a.samples) / float64(s.Size/x.shards.all)
	}
	for k, p := range s.Parts {
		switch {
		case p.Denominator != nil:
			a.weights[k] = p.Denominator
			a.leaf.denominators[k] += p.Denominator.Item()
		case !p.Sum:
			if !alone {
				a.leaf.denominators[k] += a.share
			}
			s.Parts[k].value = timesNumber(p.value, a.share)
		}
	}
}

// Gradients does nothing: gradients are added when they are ready.
func (x *sharded) Gradients(*Step) error { return nil }

// GradientReady adds a gradient to the leaf, times the denominator of the loss.
func (x *sharded) GradientReady(s *Step, g Gradient) error {
	a, k := &x.adding, x.index[g.Param]
	pieces := a.last && x.pieces != nil && x.mostParts() == 1
	weighted := func(d *tensor.Tensor) *tensor.Tensor {
		if a.weights[g.Part] == nil {
			return d
		}
		return d.Mul(a.weights[g.Part].Cast(d.DType()))
	}
	sum, count := x.view(a.leaf.sums, x.layout.params[k], g.Part), &a.leaf.counts[g.Part*len(x.trained)+k]
	switch {
	case *count == 0 && pieces && a.weights[g.Part] == nil && x.pieces.lend(k, g.Grad.Array()):
	case *count > 0:
		sum.AddInPlace(weighted(g.Grad).Cast(sum.DType()))
	case a.weights[g.Part] == nil || sum.DType() != g.Grad.DType():
		sum.Assign(weighted(g.Grad))
	default:
		tensor.Into(sum, g.Grad, weighted)
	}
	*count++
	if pieces {
		return x.pieces.ready(k)
	}
	return nil
}

// mostParts returns the largest number of parts that a loss has.
func (x *sharded) mostParts() int { return max(1, len(x.r.targets)) }

// finish adds up what all shards contribute and updates the model with it.
func (x *sharded) finish(info BatchInfo) error {
	x.leaves[0].stop, x.leaves[0].save = x.wantsStop(), x.wantsSave()
	most := x.mostParts()
	if x.pieces != nil && most == 1 {
		if err := x.pieces.startRest(1); err != nil {
			return err
		}
	}
	mine := make([][]float64, len(x.leaves))
	for i, l := range x.leaves {
		mine[i] = l.row()
	}
	all, err := x.shards.gatherRows(mine)
	if err != nil {
		return err
	}
	total := numbersIn(treeNode{0, x.shards.all}.sumNumbers(all), most)
	total.parts = 0 // of shards without samples
	for _, row := range all {
		total.parts = max(total.parts, numbersIn(row, most).parts)
	}
	x.agreed = agreement{total.stop > 0, total.save > 0, total.stop >= pausing}
	if !isFinite(total.loss) {
		return x.nonFinite(total.loss/total.samples, info.Consumed)
	}
	updated, err := x.updateAll(info, total)
	if err = cmp.Or(err, x.lossScaleErr()); err != nil {
		return err
	}
	if x.args.Data != nil && updated {
		x.capturable.CountStep()
	}
	r := &x.r.Position.Running
	r.Samples += int(total.samples)
	r.Loss += total.loss
	r.Correct += int(total.correct)
	r.Ignored += int(total.ignored)
	return nil
}

// updateAll updates the parameters and buffers with the sums of all shards, in pieces if there are any.
func (x *sharded) updateAll(info BatchInfo, total numbers) (updated bool, err error) {
	if x.pieces != nil {
		return x.pieces.update(info, total)
	}
	sums, err := x.reduceLeaves(total.parts)
	if err != nil {
		return false, err
	}
	if err := tensor.Step(func(t *tensor.Tape) (err error) {
		updated, err = x.updateWith(t, info, sums, total)
		return err
	}); err != nil {
		return updated, err
	}
	return updated, x.mixBuffers(sums, total.samples)
}

// setChanges sets the changes of the buffers in a leaf.
func (x *sharded) setChanges(l *leaf) {
	for k, s := range x.layout.buffers {
		change := x.view(l.sums, s, -1)
		if l.samples == 0 {
			change.Zero()
		} else {
			after, before := tensor.FromArray(l.buffers[k]), tensor.FromArray(x.base[k])
			change.Assign(after.Sub(before).Cast(x.layout.t).MulScalar(l.samples))
		}
	}
}

// reduceLeaves returns the sums of all shards, of a loss of a number of parts.
func (x *sharded) reduceLeaves(parts int) (storage.Array, error) {
	all, size := make([]storage.Array, len(x.leaves)), x.layout.first+parts*x.layout.size
	for i, l := range x.leaves {
		x.setChanges(l)
		for k, count := range l.counts {
			if part := k / len(x.trained); count == 0 && part < parts {
				x.view(l.sums, x.layout.params[k%len(x.trained)], part).Zero()
			}
		}
		all[i] = rows(l.sums, 0, size)
	}
	return x.shards.reduceOn(x.r.Device, all)
}

// updateWith makes an update with the sums of all shards.
func (x *sharded) updateWith(t *tensor.Tape, info BatchInfo, sums storage.Array, total numbers) (updated bool, err error) {
	s := &Step{BatchInfo: info, Parts: make([]LossPart, total.parts)}
	for part := range total.parts {
		for k, place := range x.layout.params {
			if total.counts[part*len(x.trained)+k] == 0 {
				continue
			}
			d := t.Input(x.view(sums, place, part).Array()).Cast(x.trained[k].DType())
			s.Gradients = append(s.Gradients, Gradient{place.name, x.trained[k], total.meanOf(d, part), part})
		}
	}
	if total.parts > 1 {
		s.joinParts()
	}
	if x.r.scaler != nil && len(s.Gradients) > 0 {
		s.LossScale = x.r.scaler.Factor(s.Gradients[0].Grad)
	}
	if err := x.tellReady(s); err != nil {
		return false, err
	}
	if updated, err = x.applyHooks(s); err == nil {
		err = x.afterUpdate(t, updated)
	}
	return updated, err
}

// mixBuffers sets each buffer of the model, such as a running mean, to
//
//	r + Σ n·(rₛ - r) / Σ n
//
// where r is its value before the update, rₛ its value after the batches of a shard and n the number of their samples.
func (x *sharded) mixBuffers(sums storage.Array, samples float64) error {
	return tensor.Try(func() {
		for k, s := range x.layout.buffers {
			change := x.view(sums, s, -1).DivScalar(samples)
			base := tensor.FromArray(x.base[k])
			tensor.FromArray(x.buffers[k].Array).Assign(base.Add(change.Cast(base.DType())))
		}
	})
}
