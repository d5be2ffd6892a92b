package tensors

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5write"
	"github.com/h5dnn/h5dnn/tensor"
)

// A Layout describes how a dataset is stored; the zero value is contiguous. Filters are the filters of package
// storage/hdf5/filter.
type Layout = hdf5write.Layout

// Unlimited is the size of an axis without a limit, in the MaxShape of a Layout.
const Unlimited = hdf5.Unlimited

// A Writer writes a new HDF5 file, which replaces one of its name when Close has completed it.
type Writer struct{ *hdf5write.Writer }

// Create starts a new HDF5 file. Defer its Abort, which does nothing after Close, and removes the file if there was no
// Close.
func Create(file string) (*Writer, error) {
	w, err := hdf5write.Create(file, hdf5write.CreateOptions{})
	if err != nil {
		return nil, err
	}
	return &Writer{w}, nil
}

// Write writes x as a dataset of that name, block by block, until ctx is done, and its names of axes, scales and zero
// points as attributes. Groups of the name are made as
// needed.
func (w *Writer) Write(ctx context.Context, name string, x *tensor.Tensor, layout Layout) error {
	d, err := w.CreateDataset(name, x.DType(), x.Shape(), layout)
	if err != nil {
		return err
	}
	if err := x.WriteTo(ctx, d); err != nil {
		return err
	}
	attrs := x.Attributes()
	for _, key := range slices.Sorted(maps.Keys(attrs)) {
		if err := w.SetAttr("/"+strings.TrimPrefix(name, "/"), key, attrs[key]); err != nil {
			return err
		}
	}
	return d.Close()
}

// CreateDataset starts a dataset, which [tensor.Tensor.WriteTo] or Append fill. What is never written is 0.
func (w *Writer) CreateDataset(name string, t dtype.Type, shape []int, layout Layout) (*Dataset, error) {
	d, err := w.Writer.CreateDataset("/"+strings.TrimPrefix(name, "/"), t, shape, layout)
	if err != nil {
		return nil, err
	}
	return &Dataset{d}, nil
}

// A Dataset is written in parts, until it or its file is closed.
type Dataset struct{ *hdf5write.DatasetWriter }

var _ tensor.ArrayWriter = (*Dataset)(nil)

// Append writes the rows of x after those appended before, and extends the dataset if its layout has a MaxShape that
// allows that. A single row may lack the first axis. Datasets of files that Close has completed do not grow: more rows are
// another file.
func (d *Dataset) Append(x *tensor.Tensor) error {
	e, err := entryOf("", x, serialize.Format{Attrs: true})
	if err != nil {
		return err
	}
	if x.Format().Quantized != nil {
		return fmt.Errorf("append of a quantized tensor; append x.IntRepr() to a dataset of integers: %w", storage.ErrState)
	}
	return d.DatasetWriter.Append(e.Array)
}
