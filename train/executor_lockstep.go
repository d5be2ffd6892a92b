package train

import (
	"errors"
	"iter"
	"runtime"
	"slices"

	"github.com/h5dnn/h5dnn/collective"
	"github.com/h5dnn/h5dnn/dtype"
)

// A lockstep computes the shards of this process in turns: each until it wants numbers added over all shards, as batch
// normalization with sync: true does. They run one at a time, on the thread that the arithmetic threads belong to.
type lockstep struct {
	*sharded
	turn *turn // that runs
}

// A turn is a shard of this process whose batch is being computed.
type turn struct {
	number int // of the leaf
	adding adding
	next   func() (wanted []float64, ok bool) // computes until the shard wants numbers added
	stop   func()
	yield  func([]float64) bool
	total  []float64
	err    error
}

var errOtherShard = errors.New("another shard failed")

// sum adds numbers over all shards. It returns once all shards have got there. Outside of the steps of training a batch has one
// part, whose numbers are the sum.
func (x *lockstep) sum(numbers []float64) ([]float64, error) {
	t := x.turn
	if t == nil {
		return numbers, nil
	}
	if !t.yield(numbers) {
		return nil, errOtherShard
	}
	return t.total, nil
}

// contribute adds a part of b to the leaf of each shard of this process. Counts are the samples of the parts.
func (x *lockstep) contribute(info BatchInfo, b *batch, counts []int) (err error) {
	runtime.LockOSThread() // a coroutine belongs to a thread with as many locks as there were when it was made:
	defer runtime.UnlockOSThread()
	turns, first := make([]*turn, len(counts)), 0
	defer func() {
		for _, t := range turns {
			t.stop()
		}
		x.turn = nil
	}()
	for i, n := range counts {
		t, from := &turn{number: i, adding: adding{leaf: x.leaves[i], samples: n}}, first
		t.next, t.stop = iter.Pull(func(yield func([]float64) bool) {
			runtime.UnlockOSThread() // the step takes this one's place
			defer runtime.LockOSThread()
			t.yield = yield
			t.err = x.sharded.contribute(info, i, b, from, n)
		})
		turns[i] = t
		first += n
	}
	for begun := false; ; begun = true {
		wanted, err := x.takeTurns(turns, begun)
		if err != nil {
			return err
		}
		total, err := x.sumWanted(wanted)
		if err != nil || total == nil {
			return err
		}
		for i, t := range turns {
			if t.total = nil; wanted[i] != nil {
				t.total = total
			}
		}
	}
}

// takeTurns lets each shard compute until it wants numbers added, nil where it has come to its end.
func (x *lockstep) takeTurns(turns []*turn, begun bool) ([][]float64, error) {
	wanted := make([][]float64, len(turns))
	for i, t := range turns {
		l := x.leaves[i]
		if begun && t.total == nil { // at its end
			continue
		}
		if begun {
			if err := x.copyBuffers(l.buffers, false); err != nil {
				return nil, err
			}
		}
		x.turn, x.adding = t, t.adding
		numbers, ok := t.next()
		t.adding = x.adding
		if t.err != nil {
			return nil, t.err
		}
		if !ok {
			continue
		}
		if err := x.copyBuffers(l.buffers, true); err != nil {
			return nil, err
		}
		wanted[i] = slices.Clone(numbers)
	}
	return wanted, nil
}

// sumWanted returns the sum over all shards, in the order of the tree, of those that want numbers added; nil if none does.
func (x *lockstep) sumWanted(mine [][]float64) ([]float64, error) {
	all := mine
	if x.shards.group != nil {
		var message []float64
		for _, row := range mine {
			message = append(append(message, float64(len(row))), row...)
		}
		messages, err := collective.Gather(x.shards.group, dtype.Bytes(message))
		if err != nil {
			return nil, err
		}
		all = nil
		for _, m := range messages {
			for numbers := dtype.Cast[float64](m); len(numbers) > 0; {
				n := int(numbers[0])
				all, numbers = append(all, numbers[1:1+n]), numbers[1+n:]
			}
		}
	}
	return treeNode{0, x.shards.all}.sumPresent(all), nil
}

// sumPresent is sumNumbers where some rows are empty.
func (n treeNode) sumPresent(rows [][]float64) []float64 {
	if n.end == n.first+1 {
		if len(rows[n.first]) == 0 {
			return nil
		}
		return rows[n.first]
	}
	left, right := n.halves()
	a, b := left.sumPresent(rows), right.sumPresent(rows)
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return treeNode{0, 2}.sumNumbers([][]float64{a, b})
}
