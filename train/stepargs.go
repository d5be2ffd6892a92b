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

// An argsBuffer is device memory for the arguments of a step and the numbers of the
// samples it trains on, uploaded in one copy.
type argsBuffer struct {
	hyper  storage.Array // float64 (n): see nn.Capturable
	random storage.Array // uint64 (1)
	rows   storage.Array // int64, of a full batch: which samples, if all are on the device
	pinned storage.Host  // the three, one after the other
}

// newArgsBuffer returns a buffer for so many hyperparameters and samples.
func newArgsBuffer(device storage.AsyncDevice, hyper, samples int) (b argsBuffer, err error) {
	size := 8 * (hyper + 1 + samples)
	memory, err := device.Alloc(size)
	if err != nil {
		return b, err
	}
	part := func(t dtype.Type, first, n int) storage.Array {
		v := views.Of(n)
		v.Offset = first
		return storage.Array{Data: memory, Type: t, View: v}
	}
	b = argsBuffer{hyper: part(dtype.Float64, 0, hyper), random: part(dtype.Uint64, hyper, 1), rows: part(dtype.Int64, hyper+1, samples)}
	b.pinned, err = device.AllocPinned(size)
	return b, err
}

// upload writes the arguments and enqueues their copy.
func (b *argsBuffer) upload(copies storage.Stream, args stepArgs, rows []int) error {
	bytes := b.pinned.Bytes()
	n := copy(dtype.Cast[float64](bytes), args.hyper)
	dtype.Cast[uint64](bytes)[n] = args.random
	to := dtype.Cast[int64](bytes)[n+1:]
	for i, row := range rows {
		to[i] = int64(row)
	}
	return copies.Upload(b.hyper.Data, 0, b.pinned, 8*(n+1+len(rows)))
}
