package tensor

import (
	"context"
	"iter"
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/blocks"
	"github.com/h5dnn/h5dnn/internal/errkind"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// An ArrayWriter is written part by part, such as a dataset of a new HDF5 file: a DatasetWriter of package
// hdf5write.
type ArrayWriter interface {
	Shape() []int
	// WriteAt writes a, whose elements may be computed meanwhile, to the indices from start on. After an
	// error what was written is not complete, and must not replace anything.
	WriteAt(start []int, a storage.Array) error
}

// blockBytes is the size of the blocks that are written at once.
const blockBytes = 16 << 20

// WriteTo writes x to a dataset of its shape and type, block by block: a tensor over files (see
// [Tensor.IsLazy]) is computed as it is written, in bounded memory. When ctx is done, writing stops with
// its error, and the dataset is incomplete as after any other error.
func (x *Tensor) WriteTo(ctx context.Context, w ArrayWriter) error {
	const act = "write to"
	if err := x.aliveErr(act); err != nil {
		return err
	}
	if !slices.Equal(x.Shape(), w.Shape()) {
		return &Error{act, errkind.Errorf(ErrShape, "%v to a dataset of shape %v", x.array, w.Shape())}
	}
	for start, part := range x.Blocks(blockBytes / x.DType().Size()) {
		a := part.array
		if err := ctx.Err(); err != nil {
			a.Data = &failed{a.Data, err}
		}
		if err := w.WriteAt(start, a); err != nil {
			return err
		}
	}
	return nil
}

// failed is a storage whose elements cannot be read.
type failed struct {
	storage.Storage
	err error
}

func (s *failed) ReadView([]byte, dtype.Type, views.View) error { return s.err }

// Blocks yields constants that together are x, in row-major order, with the index in x of the first element of
// each. They share x's storage: nothing of a file is read. A block has the given number of
// elements at most, but at least a whole chunk of a dataset in chunks.
func (x *Tensor) Blocks(elements int) iter.Seq2[[]int, *Tensor] {
	size := blocks.BoxShape(x.Shape(), blocks.Units(x.array), elements)
	return func(yield func([]int, *Tensor) bool) {
		for b := range blocks.Grid(x.Shape(), size) {
			y := x.Detach()
			y.array.View = b.Of(x.array.View)
			if !yield(b.Start, y) {
				return
			}
		}
	}
}
