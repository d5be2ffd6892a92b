package train

import (
	"cmp"
	"context"
	"fmt"

	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// A normalizer is a layer with running statistics.
type normalizer interface {
	SetMomentum(momentum float64) (old float64)
}

// RenewStatistics computes the running statistics of the model anew: the means of the statistics of all full batches of the
// training data, in their order, of each shard.
func (t *Training) RenewStatistics() error {
	var buffers []*nn.Buffer
	for _, m := range nn.Modules(t.t.r.Model) {
		n, ok := m.(normalizer)
		if !ok {
			continue
		}
		defer n.SetMomentum(n.SetMomentum(1)) // a batch replaces the statistics
		for _, b := range nn.Buffers(m) {
			buffers = append(buffers, b)
		}
	}
	if len(buffers) == 0 {
		return nil
	}
	var sums [][]float64
	for i := range t.t.shards.local {
		row, err := t.t.statistics(t.t.shards.first+i, buffers)
		if err != nil {
			return fmt.Errorf("statistics of batch norms: %w", err)
		}
		sums = append(sums, row)
	}
	all, err := t.t.shards.gatherRows(sums)
	if err != nil {
		return err
	}
	total := treeNode{0, t.t.shards.all}.sumNumbers(all)
	batches, total := total[0], total[1:]
	for _, b := range buffers {
		means := make([]float64, b.Len())
		for i := range means {
			means[i] = total[i] / batches
		}
		total = total[len(means):]
		if err := storage.From(means, b.Shape...).CopyTo(b.Array); err != nil {
			return err
		}
	}
	return nil
}

// statistics returns the number of batches of a shard and the sums of the buffers after each of them.
func (t *trainer) statistics(shard int, buffers []*nn.Buffer) (sums []float64, err error) {
	o := t.r.Config.loading()
	o.Rank, o.WorldSize = shard, t.shards.all
	o.BatchSize, o.Memory, o.Shuffle, o.Window = max(1, min(t.fullBatch(), t.loader.Dataset().Len())/t.shards.all), o.Memory/int64(t.shards.all), dataset.None, 0
	o.DropLast = true
	source, _, err := newBatchSource(t.r.Device, t.loader.Dataset(), o, t.r.checkLabels(t.binding))
	if err != nil {
		return nil, err
	}
	defer func() { err = cmp.Or(err, source.close()) }()
	sums = make([]float64, 1)
	for b, err := range source.epoch(context.Background(), 0, 0) {
		if err != nil {
			return nil, err
		}
		if err := tensor.Infer(func(tape *tensor.Tape) error {
			tape.Seed(t.r.Config.Seed, t.r.Position.Step*uint64(t.shards.all)+uint64(shard))
			t.r.autocast(tape)
			nn.Call("", t.r.Model, exampleOf(tape, t.r.Inputs, t.binding, b.fields, b.rows).inputs...)
			return nil
		}); err != nil {
			return nil, err
		}
		sums[0]++
		at := 1
		for _, buffer := range buffers {
			values, err := storage.Read[float64](buffer.Array)
			if err != nil {
				return nil, err
			}
			if len(sums) < at+len(values) {
				sums = append(sums, make([]float64, len(values))...)
			}
			for i, x := range values {
				sums[at+i] += x
			}
			at += len(values)
		}
	}
	return sums, nil
}
