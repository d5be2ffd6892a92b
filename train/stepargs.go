package train

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// stepArgs are the values that change from step to step.
type stepArgs struct {
	hyper  [3]float64
	random uint64
}

// argsLen is the size of stepArgs in numbers of 8 bytes.
const argsLen = 4

// An argsBuffer is device memory for the arguments of a step, and the rows it
// trains on.
type argsBuffer struct {
	hyper  storage.Array // float64 (3): see nn.Capturable
	random storage.Array // uint64 (1): see tensor.Tape.SeedAt
	rows   storage.Array // int64, of a whole batch: which samples, if all are on the device
	pinned storage.Host  // all three, one after the other
}

// newArgsBuffer returns a buffer for batches of so many samples.
func newArgsBuffer(device storage.AsyncDevice, samples int) (m argsBuffer, err error) {
	size := 8 * (argsLen + samples)
	numbers, err := device.Alloc(size)
	if err != nil {
		return m, err
	}
	part := func(t dtype.Type, first, n int) storage.Array {
		v := views.Of(n)
		v.Offset = first
		return storage.Array{Data: numbers, Type: t, View: v}
	}
	m = argsBuffer{hyper: part(dtype.Float64, 0, argsLen-1), random: part(dtype.Uint64, argsLen-1, 1), rows: part(dtype.Int64, argsLen, samples)}
	m.pinned, err = device.AllocPinned(size)
	return m, err
}

// upload writes the arguments and enqueues their copy.
func (m *argsBuffer) upload(copies storage.Stream, h stepArgs, rows []int) error {
	bytes := m.pinned.Bytes()
	copy(dtype.Cast[float64](bytes), h.hyper[:])
	dtype.Cast[uint64](bytes)[argsLen-1] = h.random
	to := dtype.Cast[int64](bytes)[argsLen:]
	for i, row := range rows {
		to[i] = int64(row)
	}
	return copies.Upload(m.hyper.Data, 0, m.pinned, 8*(argsLen+len(rows)))
}
