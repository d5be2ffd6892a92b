package tensor

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/h5dnn/h5dnn/internal/errkind"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
)

// Tensors over files
//
// The storage of a tensor may be a storage.Source: a dataset of a file, which is read when its elements
// are needed. Such a tensor is a constant, and computes with tensors in host memory:
//
//   - Views of it read nothing.
//   - A [PointwiseOp] returns another such tensor, whose elements are computed when they are read, tile
//     by tile: see lazy.
//   - A reduction reads it block by block, and returns a tensor in memory: see reduceBlocks.
//   - All other operations, those within a [Step], those that record a gradient of another operand, and those
//     with operands on a GPU, read it as a whole to the device of the other operands: see inMemory.

// A PointwiseOp is an operation with one result, each element of which is computed from the elements
// of the operands, broadcast to the shape of the result, in its place. On tensors over files it
// computes parts of the result when they are read, on several goroutines; its Forward must not change it
// then.
type PointwiseOp interface {
	Op
	Pointwise()
}

// IsLazy reports whether the elements of x are read from a file, or computed from such, when they are
// needed.
func (x *Tensor) IsLazy() bool {
	_, ok := x.array.Data.(storage.Source)
	return ok
}

func anyLazy(in []*Tensor) bool {
	for _, x := range in {
		if x != nil && x.IsLazy() {
			return true
		}
	}
	return false
}

var (
	readLimit atomic.Int64
	bytesRead atomic.Int64
)

// SetReadLimit sets how many bytes an operation may read at once of a tensor over a file, and returns
// the previous limit: operations that need all elements, such as a product of matrices, refuse
// larger operands. 0 is the default: 2 GiB, or a quarter of the memory if that is less.
func SetReadLimit(bytes int) (previous int) { return int(readLimit.Swap(int64(max(bytes, 0)))) }

// BytesRead returns how many bytes of elements tensors have read from files since the program began. [Profile] says
// of which.
func BytesRead() int64 { return bytesRead.Load() }

func limitOfReads() int {
	if n := int(readLimit.Load()); n > 0 {
		return n
	}
	return storage.NewBudget(0).Limit()
}

// countRead counts the time since began as time for reading a, if it is in a file.
func countRead(a storage.Array, began time.Time) {
	_, computed := a.Data.(*lazy) // which counts what it reads itself
	if _, ok := a.Data.(storage.Source); ok && !computed {
		bytesRead.Add(int64(a.NBytes()))
		profiling.Load().add(profiled{name: "read " + a.Data.Device().String()}, time.Since(began), a.NBytes())
	}
}

// inMemory returns in with the elements of lazy tensors read to the device where the others are.
func inMemory(act string, in []*Tensor) []*Tensor {
	if !anyLazy(in) {
		return in
	}
	d := storage.Device(device(act, in...))
	read := make([]*Tensor, len(in))
	for i, x := range in {
		if read[i] = x; x.IsLazy() && d != Meta {
			read[i] = x.read(act, d)
		}
	}
	return read
}

// read returns x, which is lazy, in the memory of a device.
func (x *Tensor) read(act string, d storage.Device) *Tensor {
	if limit := limitOfReads(); x.NBytes() > limit {
		fail(act, ErrState, "reads all of %v, %d bytes, and the limit is %d; use parts of it, or raise the limit by SetReadLimit", x.array, x.NBytes(), limit)
	}
	a, err := storage.Empty(x.DType(), x.Shape()...)
	check(act, err)
	check(act, x.CopyTo(a))
	a, err = a.To(d)
	check(act, err)
	y := *x
	y.array = a
	return &y
}

// applyLazy is apply of op to operands some of which are lazy, if that needs no more memory than
// a few blocks.
func applyLazy(tape *Tape, op Op, in []*Tensor) ([]*Tensor, bool) {
	if device(op.Name(), in...) != kernels.CPU {
		return nil, false
	}
	mode := modeOf(op.Name(), op, tape, in)
	if mode.records() || mode.tape != nil {
		return nil, false
	}
	var fold folding
	point, lazily := op.(PointwiseOp)
	if op, ok := op.(blockOp); ok && in[0].Len() > 0 {
		fold, ok = op.folding(in[0].DType())
		lazily = lazily || ok
	}
	if !lazily {
		return nil, false
	}
	specs := make([]Spec, len(in))
	for i, x := range in {
		specs[i] = x.Spec()
	}
	specs = named(op, specs, op.Infer(specs))
	if len(specs) == 0 {
		fail(op.Name(), ErrState, "Infer describes 0 results; want at least 1")
	}
	out := mode.results(len(specs))
	var computed []storage.Array
	if point != nil {
		computed = []storage.Array{newLazy(point, specs[0], in)}
	} else {
		watched(op.Name(), mode, kernels.CPU, nil, nil, func() (err error) {
			computed, err = reduceBlocks(fold, specs, in[0].array)
			return err
		})
	}
	for i := range computed {
		out[i].array, out[i].format = computed[i], specs[i].Format
	}
	return out, true
}

// errChanged is the error of a lazy tensor one of whose operands was written to.
func errChanged(op Op, a storage.Array) error {
	return &Error{op.Name(), errkind.Errorf(ErrState, "%v was written to before the result was read; CloneDetached the result before, or the operand", a)}
}

// source names where a lazy tensor comes from.
func source(in []storage.Array) storage.Device {
	for _, a := range in {
		if s, ok := a.Data.(storage.Source); ok {
			return s.Device()
		}
	}
	panic(fmt.Sprint("tensor: none of ", in, " is lazy"))
}
