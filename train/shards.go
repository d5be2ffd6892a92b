package train

import (
	"bytes"
	"cmp"
	"context"
	"encoding/gob"
	"fmt"
	"hash/crc32"
	"iter"
	"slices"

	"github.com/h5dnn/h5dnn/collective"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// Shards make the results of a run independent of the number of processes that compute it. A batch is divided into
// equal parts, one for each shard, and a process computes the parts of its shards one after the other, each with random
// numbers, batch statistics and metrics of its own. What the shards add to an update is added in the order of a tree
// over all shards, whichever process has them.

// A shardRange says which of the shards of a run a process computes.
type shardRange struct {
	all, first, local int
	group             collective.Group // nil if there is one process
	fast              bool             // arrays are added in an order of the group's choice
}

// shardsOf returns the shards that this process computes of a run with c.
func shardsOf(c Config, g collective.Group) (s shardRange, err error) {
	s = shardRange{all: max(1, c.Shards), local: max(1, c.Shards), fast: c.Reduction == fastReduction}
	if g == nil || g.Size() == 1 {
		return s, nil
	}
	if s.all%g.Size() != 0 {
		return s, fmt.Errorf("train: %d processes for the %d shards of the run; start as many as divide the shards: %w", g.Size(), s.all, storage.ErrState)
	}
	s.group, s.local = g, s.all/g.Size()
	s.first = g.Rank() * s.local
	return s, nil
}

// checkShards returns an error if the shards do not divide a batch.
func (c Config) checkShards() error {
	n := max(1, c.Shards)
	rest := c.BatchSize % n
	switch {
	case rest == 0:
		return nil
	case c.BatchSize < n:
		return wrong(fmt.Sprintf("%d samples for %d shards; want an equal part for each, such as %d", c.BatchSize, n, n), "batch")
	}
	return wrong(fmt.Sprintf("%d samples for %d shards; want an equal part for each, such as %d or %d", c.BatchSize, n, c.BatchSize-rest, c.BatchSize-rest+n), "batch")
}

// divided reports whether the batches of the run have several parts.
func (s shardRange) divided() bool { return s.all > 1 }

// size returns the number of processes.
func (s shardRange) size() int { return s.all / s.local }

// rank returns the number of this process.
func (s shardRange) rank() int { return s.first / s.local }

// A treeNode is the shards [first, end). Its sum is the sum of its two halves.
type treeNode struct{ first, end int }

func (n treeNode) halves() (a, b treeNode) {
	mid := n.first + (n.end-n.first)/2
	return treeNode{n.first, mid}, treeNode{mid, n.end}
}

// within lists the largest nodes of the tree under n that have shards of [first, end) only, in order.
func (n treeNode) within(first, end int) []treeNode {
	switch {
	case n.end <= first || end <= n.first:
		return nil
	case first <= n.first && n.end <= end:
		return []treeNode{n}
	}
	a, b := n.halves()
	return append(a.within(first, end), b.within(first, end)...)
}

// nodesOf returns the largest nodes of the tree over all shards that a rank has all shards of.
func (s shardRange) nodesOf(rank int) []treeNode {
	return treeNode{0, s.all}.within(rank*s.local, (rank+1)*s.local)
}

// sumTree returns the sum of the node n of parts, whose sums are known. It is computed in the memory of the first of them, or of
// the second if the first is kept.
func sumTree(parts map[treeNode]*tensor.Tensor, n, kept treeNode) *tensor.Tensor {
	if sum, ok := parts[n]; ok {
		return sum
	}
	a, b := n.halves()
	left, right := sumTree(parts, a, kept), sumTree(parts, b, kept)
	if a == kept {
		return right.AddInPlace(left) // the same bits: a sum of two does not depend on their order
	}
	return left.AddInPlace(right)
}

// sumNumbers returns the sum of rows, one of each shard, in the order of the tree.
func (n treeNode) sumNumbers(rows [][]float64) []float64 {
	if n.end == n.first+1 {
		return rows[n.first]
	}
	a, b := n.halves()
	sum, right := a.sumNumbers(rows), b.sumNumbers(rows)
	out := make([]float64, len(sum))
	for i := range out {
		out[i] = sum[i] + right[i]
	}
	return out
}

// bytesOfArray returns the memory of an array on the CPU without gaps.
func bytesOfArray(a storage.Array) []byte {
	size := a.Type.Size()
	return a.Data.(storage.Host).Bytes()[a.Offset*size:][:a.Len()*size]
}

// beginShards sets the number of shards of a run that begins, and makes their metrics.
func (r *Run) beginShards(g collective.Group) (err error) {
	if g == nil || g.Size() == 1 || r.Config.Shards > 0 || r.Position.Step > 0 {
		return nil
	}
	r.Config.Shards = g.Size()
	r.metrics, err = r.newMetricSets()
	return err
}

// checkAlike returns an error unless all processes begin with the same samples, weights and position.
func (t *trainer) checkAlike() error {
	if t.shards.group == nil {
		return nil
	}
	sum := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	for _, a := range nn.StateDict(t.r.Model) {
		there, err := a.To(storage.CPU)
		if err != nil {
			return err
		}
		sum.Write(bytesOfArray(tensor.FromArray(there).Contiguous().Array()))
	}
	all, err := collective.Gather(t.shards.group, fmt.Appendf(nil, "%s after %d steps, %x", t.r.fingerprint, t.r.Position.Step, sum.Sum32()))
	if err != nil {
		return err
	}
	for rank, text := range all {
		if !bytes.Equal(text, all[0]) {
			return fmt.Errorf("train: rank %d has other samples, weights or steps than rank 0; start all processes with the same files: %w", rank, storage.ErrState)
		}
	}
	return nil
}

// end tells the other processes that this one ends by an error, but for a stop that all have agreed on.
func (s shardRange) end(err error, agreed bool) {
	if s.group != nil && err != nil && !agreed {
		s.group.Abort(err)
	}
}

// reduceOn is reduce of arrays on any device.
func (s shardRange) reduceOn(d storage.Device, arrays []storage.Array) (total storage.Array, err error) {
	if s.group == nil || d == storage.CPU {
		return s.reduce(arrays)
	}
	if g, ok := s.group.(collective.DeviceGroup); ok && g.Device() == d {
		return s.reduceThere(g, arrays)
	}
	there := make([]storage.Array, len(arrays))
	for i, a := range arrays {
		if there[i], err = a.To(storage.CPU); err != nil {
			return a, err
		}
	}
	if total, err = s.reduce(there); err != nil {
		return total, err
	}
	return total.To(d)
}

// gatherRows returns the rows of all shards. The rows of this process's shards are mine. All have the same length.
func (s shardRange) gatherRows(mine [][]float64) ([][]float64, error) {
	if s.group == nil {
		return mine, nil
	}
	width := len(mine[0])
	all := make([]float64, s.all*width)
	own := all[s.first*width : (s.first+s.local)*width]
	copy(own, slices.Concat(mine...))
	if err := s.startGather(storage.From(all, len(all)), func(rank int) (first, end int) {
		return rank * s.local * width, (rank + 1) * s.local * width
	})(); err != nil {
		return nil, err
	}
	return slices.Collect(slices.Chunk(all, max(1, width))), nil
}

// sums returns what processes add up of m.
func (m Metrics) sums() []float64 {
	return []float64{float64(m.Samples), m.Loss, float64(m.Correct), float64(m.Ignored)}
}

// sumMetrics returns the sum over all shards. The sums of this process's shards are mine.
func (s shardRange) sumMetrics(mine [][]float64) (m Metrics, err error) {
	all, err := s.gatherRows(mine)
	if err != nil {
		return m, err
	}
	sum := treeNode{0, s.all}.sumNumbers(all)
	return Metrics{Samples: int(sum[0]), Loss: sum[1], Correct: int(sum[2]), Ignored: int(sum[3])}, nil
}

// A savedState is an array of a metric's state.
type savedState struct {
	Shard, Part int
	Name        string
	Shape       []int
	Values      []float64
}

// shareState gives every process the metrics of the shards of all, and the optimizer's state, so that the first can save them.
func (t *trainer) shareState() error {
	return cmp.Or(t.shareOptimizer(), t.shards.share(t.r.metrics))
}

// shareOptimizer gives every process the optimizer's state.
func (t *trainer) shareOptimizer() error {
	if x, ok := t.executor.(*sharded); ok && x.pieces != nil {
		return x.pieces.shareState()
	}
	return nil
}

// share gives every process the states of the shards of all. Sets are the metrics of each shard.
func (s shardRange) share(sets []metricSet) error {
	if s.group == nil {
		return nil
	}
	var mine []savedState
	for shard := s.first; shard < s.first+s.local; shard++ {
		for k, part := range sets[shard].parts() {
			for name, a := range part.State() {
				values, err := storage.Read[float64](a)
				if err != nil {
					return fmt.Errorf("metric %s: %w", part.name, err)
				}
				mine = append(mine, savedState{shard, k, name, a.Shape, values})
			}
		}
	}
	var text bytes.Buffer
	if err := gob.NewEncoder(&text).Encode(mine); err != nil {
		return fmt.Errorf("metrics: %w", err)
	}
	all, err := collective.Gather(s.group, text.Bytes())
	if err != nil {
		return err
	}
	for rank, text := range all {
		var states []savedState
		if err := gob.NewDecoder(bytes.NewReader(text)).Decode(&states); err != nil {
			return fmt.Errorf("metrics of rank %d: %w", rank, err)
		}
		if rank == s.rank() {
			continue
		}
		loaded := map[[2]int]map[string]storage.Array{}
		for _, a := range states {
			key := [2]int{a.Shard, a.Part}
			if loaded[key] == nil {
				loaded[key] = map[string]storage.Array{}
			}
			loaded[key][a.Name] = storage.From(a.Values, a.Shape...)
		}
		for shard := rank * s.local; shard < (rank+1)*s.local; shard++ {
			for k, part := range sets[shard].parts() {
				if err := part.Load(byName(loaded[[2]int{shard, k}])); err != nil {
					return fmt.Errorf("metric %s of shard %d: %w", part.name, shard, err)
				}
			}
		}
	}
	return nil
}

// finishMetrics completes m with the metrics of all shards, which every process has then.
func (r *Run) finishMetrics(shards shardRange, m *Metrics, sets []metricSet) error {
	if len(sets) == 1 {
		return sets[0].finish(m)
	}
	if err := shards.share(sets); err != nil {
		return err
	}
	total, err := r.newMetrics()
	if err != nil {
		return err
	}
	for _, set := range sets {
		if err := total.merge(set); err != nil {
			return err
		}
	}
	return total.finish(m)
}

// stepContext returns the context of an epoch's reading. Where a batch has several parts, a step that has begun is
// made to its end: the processes agree in each of them whether they go on.
func (t *trainer) stepContext(ctx context.Context) (context.Context, context.CancelFunc) {
	t.interrupt = ctx
	if t.shards.divided() {
		ctx = context.WithoutCancel(ctx)
	}
	return context.WithCancel(ctx)
}

// pausing is added to the stops of a step where a process is to pause.
const pausing = 1 << 20

// wantsStop returns 1 if this process is told to stop, or pausing if it is to pause.
func (t *trainer) wantsStop() float64 {
	if endOf(context.Cause(t.interrupt)) != nil {
		return pausing
	}
	return oneIf(t.interrupt.Err() != nil)
}

// wantsSave returns 1 if the run is to be saved after the next step.
func (t *trainer) wantsSave() float64 {
	return oneIf(t.saver != nil && t.saver.due(t.r.Position.Step+1))
}

func oneIf(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// stopped returns why training stops after a step.
func (t *trainer) stopped() error {
	if t.interrupt.Err() != nil {
		return context.Cause(t.interrupt)
	}
	if t.agreed.pause {
		return Pause("another process of the run pauses")
	}
	return fmt.Errorf("another process of the run was told to stop: %w", context.Canceled)
}

// batches yields the rest of the epoch. A process whose shards have no samples in the last batch takes part in its step.
func (t *trainer) batches(ctx context.Context) iter.Seq2[*batch, error] {
	p := &t.r.Position
	batches := t.source.epoch(ctx, p.Epoch, t.localStart(p.Consumed))
	if !t.shards.divided() {
		return batches
	}
	return func(yield func(*batch, error) bool) {
		next := func() int { return min(p.Consumed+t.fullBatch(), p.Samples) }
		for b, err := range batches {
			if err == nil {
				b.next = next()
			}
			if !yield(b, err) {
				return
			}
		}
		if p.Consumed < p.Samples && ctx.Err() == nil {
			yield(&batch{next: next()}, nil)
		}
	}
}
