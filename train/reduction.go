package train

import (
	"cmp"

	"github.com/h5dnn/h5dnn/collective"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// A reduction adds arrays over all shards, in the order of the tree. Each process adds a piece of them. It can be started again
// once it is finished.
type reduction struct {
	shardRange
	cuts     []int                         // between the elements of the shards; a process adds the elements of its own
	mine     [][]storage.Array             // sums over the nodes of this process, of each array
	received []storage.Array               // from each rank: of each array, its piece of each node of the rank
	sums     []map[treeNode]*tensor.Tensor // of the piece of each array
	kept     treeNode                      // whose arrays are not overwritten; empty if all are
	wait     collective.Wait
}

// cutLine is the number of elements that pieces are multiples of.
const cutLine = 16

// newReduction returns a reduction of arrays of n elements, divided evenly.
func (s shardRange) newReduction(n int) reduction {
	r := reduction{shardRange: s, cuts: make([]int, s.all+1)}
	for i := range s.all {
		r.cuts[i] = n * i / s.all / cutLine * cutLine
	}
	r.cuts[s.all] = n
	return r
}

// piece returns the elements that a rank adds.
func (r *reduction) piece(rank int) (first, end int) {
	return r.cuts[rank*r.local], r.cuts[(rank+1)*r.local]
}

func (r *reduction) pieceOf(a storage.Array, rank int) storage.Array {
	first, end := r.piece(rank)
	return rows(a, first, end)
}

// addMine adds arrays[k][i], of the i-th shard of this process, for each k, up to the nodes of this process.
func (r *reduction) addMine(arrays [][]storage.Array) {
	nodes := r.nodesOf(r.rank())
	r.mine, r.sums = r.mine[:0], r.sums[:0]
	for _, shards := range arrays {
		tensors, sums := map[treeNode]*tensor.Tensor{}, make([]storage.Array, len(nodes))
		for i, a := range shards {
			tensors[treeNode{r.first + i, r.first + i + 1}] = tensor.FromArray(a)
		}
		pieces := map[treeNode]*tensor.Tensor{}
		for i, n := range nodes {
			sums[i] = sumTree(tensors, n, r.kept).Array()
			pieces[n] = tensor.FromArray(r.pieceOf(sums[i], r.rank()))
		}
		r.mine, r.sums = append(r.mine, sums), append(r.sums, pieces)
	}
}

// start begins to add arrays[k][i], of the i-th shard of this process, for each k. They are of one type, on the CPU, and are
// overwritten. They may not be touched until finish.
func (r *reduction) start(arrays [][]storage.Array) error {
	r.addMine(arrays)
	if r.group == nil {
		return nil
	}
	size := r.size()
	first, end := r.piece(r.rank())
	own := end - first
	if len(r.received) == 0 {
		r.received = make([]storage.Array, size)
	}
	send, receive := make([][]byte, size), make([][]byte, size)
	for rank := range size {
		if rank == r.rank() {
			continue
		}
		theirs := r.nodesOf(rank)
		if n := len(arrays) * len(theirs) * own; r.received[rank].Data == nil || r.received[rank].Len() != n {
			var err error
			if r.received[rank], err = storage.Make(storage.CPU, arrays[0][0].Type, n); err != nil {
				return err
			}
		}
		receive[rank] = bytesOfArray(r.received[rank])
		for k := range arrays {
			for i, n := range theirs {
				at := (k*len(theirs) + i) * own
				r.sums[k][n] = tensor.FromArray(rows(r.received[rank], at, at+own))
			}
			for _, sum := range r.mine[k] {
				if piece := bytesOfArray(r.pieceOf(sum, rank)); send[rank] == nil {
					send[rank] = piece[:len(piece):len(piece)]
				} else {
					send[rank] = append(send[rank], piece...)
				}
			}
		}
	}
	r.wait = r.group.Start(send, receive)
	return nil
}

// finish returns the sums of this process's piece of each array.
func (r *reduction) finish() ([]storage.Array, error) {
	if r.wait != nil {
		wait := r.wait
		r.wait = nil
		if err := wait(); err != nil {
			return nil, err
		}
	}
	sums := make([]storage.Array, len(r.sums))
	for k := range sums {
		sums[k] = sumTree(r.sums[k], treeNode{0, r.all}, r.kept).Array()
	}
	return sums, nil
}

// reduceThere is reduce of arrays on the devices of a group, which exchange pieces of them and then the sums of pieces. The host waits once, at the end.
func (s shardRange) reduceThere(g collective.DeviceGroup, arrays []storage.Array) (total storage.Array, err error) {
	r := s.newReduction(arrays[0].Len())
	r.addMine([][]storage.Array{arrays})
	total, sums := r.mine[0][0], r.sums[0]
	first, end := r.piece(s.rank())
	var waits []collective.Wait
	exchange := func(send, receive func(rank int) (storage.Array, error)) {
		arrays := [2][]storage.Array{make([]storage.Array, s.size()), make([]storage.Array, s.size())}
		for rank := range s.size() {
			for i, of := range []func(int) (storage.Array, error){send, receive} {
				if rank != s.rank() && err == nil {
					arrays[i][rank], err = of(rank)
				}
			}
		}
		if err == nil {
			waits = append(waits, g.StartArrays(arrays[0], arrays[1]))
		}
	}
	for i := range s.local { // no rank has more nodes
		exchange(func(rank int) (storage.Array, error) {
			if i >= len(r.mine[0]) {
				return storage.Array{}, nil
			}
			return r.pieceOf(r.mine[0][i], rank), nil
		}, func(rank int) (storage.Array, error) {
			theirs := s.nodesOf(rank)
			if i >= len(theirs) {
				return storage.Array{}, nil
			}
			piece, err := storage.Make(g.Device(), total.Type, end-first)
			sums[theirs[i]] = tensor.FromArray(piece)
			return piece, err
		})
	}
	if err != nil {
		return total, err
	}
	sum := sumTree(sums, treeNode{0, s.all}, treeNode{}).Array() // in the memory of rank 0's first node
	if s.rank() > 0 {
		if err := sum.CopyTo(r.pieceOf(total, s.rank())); err != nil {
			return total, err
		}
	}
	exchange(func(int) (storage.Array, error) { return sum, nil }, func(rank int) (storage.Array, error) { return r.pieceOf(total, rank), nil })
	for _, wait := range waits {
		err = cmp.Or(err, wait())
	}
	return total, err
}

// startGather begins to send this process's piece of a, which lies in a, to all others, and to receive theirs.
func (s shardRange) startGather(a storage.Array, piece func(rank int) (first, end int)) collective.Wait {
	if s.group == nil {
		return func() error { return nil }
	}
	send, receive := make([][]byte, s.size()), make([][]byte, s.size())
	bytes := bytesOfArray(a)
	of := func(rank int) []byte {
		first, end := piece(rank)
		return bytes[first*a.Type.Size() : end*a.Type.Size()]
	}
	for rank := range s.size() {
		if rank != s.rank() {
			send[rank], receive[rank] = of(s.rank()), of(rank)
		}
	}
	wait := s.group.Start(send, receive)
	return func() error {
		defer a.BumpVersion()
		return wait()
	}
}

// reduce returns the sum of arrays, of the shards of this process, over all shards. They are on the CPU if there are other
// processes, and are overwritten.
func (s shardRange) reduce(arrays []storage.Array) (total storage.Array, err error) {
	total = arrays[0]
	if s.fast && s.group != nil {
		sum := tensor.FromArray(total)
		for _, a := range arrays[1:] {
			sum.AddInPlace(tensor.FromArray(a))
		}
		return total, s.group.StartSum(total.Type, bytesOfArray(total))()
	}
	r := s.newReduction(total.Len())
	if err := r.start([][]storage.Array{arrays}); err != nil {
		return total, err
	}
	sums, err := r.finish()
	if err != nil || s.group == nil {
		return sums[0], err
	}
	copy(bytesOfArray(r.pieceOf(total, r.rank())), bytesOfArray(sums[0]))
	return total, s.startGather(total, r.piece)()
}
