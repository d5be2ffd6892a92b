package train

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// stepArgs are the values that change with every step. A captured graph fixes its
// kernel arguments, so it reads these from device memory.
type stepArgs struct {
	hyper  []float64 // of the optimizer: see nn.Capturable
	random uint64    // random stream: see tensor.Tape.SeedAt
}

// A stepArrays is device memory for the arguments of one step and the numbers of the
// samples it trains on.
type stepArrays struct {
	hyper  storage.Array // float64 (n): see nn.Capturable
	random storage.Array // uint64 (1)
	rows   storage.Array // int64, of a full batch: which samples, if all are on the device
}

// An argsBuffer is device memory for the arguments of several steps, which are uploaded
// in one copy.
type argsBuffer struct {
	steps  []stepArrays
	words  int          // for each step, of 8 bytes
	pinned storage.Host // for the arguments of all steps, one after the other
	end    int          // bytes of pinned that were written
}

// newArgsBuffer returns a buffer for the arguments of a number of steps, each with the given
// numbers of hyperparameters and samples.
func newArgsBuffer(device storage.AsyncDevice, steps, hyper, samples int) (b argsBuffer, err error) {
	b.words = hyper + 1 + samples
	b.words += b.words % 2 // so that all steps are aligned alike
	memory, err := device.Alloc(8 * b.words * steps)
	if err != nil {
		return b, err
	}
	part := func(t dtype.Type, first, n int) storage.Array {
		v := views.Of(n)
		v.Offset = first
		return storage.Array{Data: memory, Type: t, View: v}
	}
	for i := range steps {
		at := i * b.words
		b.steps = append(b.steps, stepArrays{hyper: part(dtype.Float64, at, hyper), random: part(dtype.Uint64, at+hyper, 1), rows: part(dtype.Int64, at+hyper+1, samples)})
	}
	b.pinned, err = device.AllocPinned(8 * b.words * steps)
	return b, err
}

// set writes the arguments of a step, which must be uploaded.
func (b *argsBuffer) set(step int, args stepArgs, rows []int) {
	bytes := b.pinned.Bytes()[8*step*b.words:]
	n := copy(dtype.Cast[float64](bytes), args.hyper)
	dtype.Cast[uint64](bytes)[n] = args.random
	to := dtype.Cast[int64](bytes)[n+1:]
	for i, row := range rows {
		to[i] = int64(row)
	}
	b.end = 8 * (step*b.words + n + 1 + len(rows))
}

// upload enqueues the copy of the arguments of the first steps, up to the last set.
func (b *argsBuffer) upload(copies storage.Stream) error {
	return copies.Upload(b.steps[0].hyper.Data, 0, b.pinned, b.end)
}
