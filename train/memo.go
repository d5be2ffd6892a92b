package train

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A head is what changes from step to step.
type head struct {
	dials  [3]float64
	stream uint64
}

// headed is how many numbers of 8 bytes a head takes.
const headed = 4

// A memo is memory on a device where a step finds its head, and which samples it
// is of.
type memo struct {
	dials  storage.Array // float64 (3): see nn.Steerable
	stream storage.Array // uint64 (1): see tensor.Tape.SeedAt
	rows   storage.Array // int64, of a whole batch: which samples, if all are on the device
	pinned storage.Host  // all three, one after the other
}

// newMemo returns a memo for batches of so many samples.
func newMemo(device storage.Streaming, samples int) (m memo, err error) {
	size := 8 * (headed + samples)
	numbers, err := device.Alloc(size)
	if err != nil {
		return m, err
	}
	part := func(t dtype.Type, first, n int) storage.Array {
		v := views.Of(n)
		v.Offset = first
		return storage.Array{Data: numbers, Type: t, View: v}
	}
	m = memo{dials: part(dtype.Float64, 0, headed-1), stream: part(dtype.Uint64, headed-1, 1), rows: part(dtype.Int64, headed, samples)}
	m.pinned, err = device.Pinned(size)
	return m, err
}

// send writes the memo, and has it copied.
func (m *memo) send(copies storage.Queue, h head, rows []int) error {
	bytes := m.pinned.Bytes()
	copy(dtype.Cast[float64](bytes), h.dials[:])
	dtype.Cast[uint64](bytes)[headed-1] = h.stream
	to := dtype.Cast[int64](bytes)[headed:]
	for i, row := range rows {
		to[i] = int64(row)
	}
	return copies.Upload(m.dials.Data, 0, m.pinned, 8*(headed+len(rows)))
}
