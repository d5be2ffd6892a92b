package netcdf

import (
	"fmt"
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/blocks"
	convention "github.com/h5dnn/h5dnn/serialize/hdf5"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/views"
)

// unlimited reports whether an axis of a dataset can grow.
func unlimited(d *hdf5.Dataset, axis int) bool { return axis < len(d.MaxShape) && d.MaxShape[axis] < 0 }

// scales returns the paths of the dimensions of a variable; nil if they are not known.
func scales(o *hdf5.Object, rank int) []string {
	if a, err := o.Attribute(dimensionList); err == nil {
		values, _ := a.Values()
		var paths []string
		for _, value := range values {
			if list, ok := value.([]any); ok && len(list) > 0 {
				if to, ok := list[0].(hdf5.Reference); ok {
					paths = append(paths, to.Path)
				}
			}
		}
		if len(paths) == rank {
			return paths
		}
	} else if convention.Text(o, "CLASS") == dimensionScale && rank == 1 {
		return []string{o.Path}
	}
	return nil
}

// unlimitedLengths returns the lengths of the unlimited dimensions by their paths: those of the longest
// variable.
func (r *reader) unlimitedLengths() map[string]int {
	lengths := map[string]int{}
	for o, err := range r.file.Walk() {
		if err != nil || o.Kind != hdf5.KindDataset || isNoVariable(o) {
			continue
		}
		d, err := o.Dataset()
		if err != nil {
			continue
		}
		for axis, path := range scales(o, len(d.Shape)) {
			if unlimited(d, axis) {
				lengths[path] = max(lengths[path], d.Shape[axis])
			}
		}
	}
	return lengths
}

// array returns the numbers of a variable. Rows that other variables of its unlimited dimension have, and it
// does not, have the fill value, as in libnetcdf.
func (r *reader) array(d *hdf5.Dataset) (storage.Array, error) {
	a, err := d.Array()
	if err != nil || len(a.Shape) != len(d.Shape) {
		return a, err
	}
	shape := slices.Clone(d.Shape)
	for axis, path := range scales(d.Object, len(shape)) {
		if unlimited(d, axis) {
			shape[axis] = max(shape[axis], r.lengths()[path])
		}
	}
	if slices.Equal(shape, d.Shape) {
		return a, nil
	}
	if a.Len() > 0 && !slices.Equal(shape[1:], d.Shape[1:]) {
		return a, fmt.Errorf("%s has shape %v, and its dimensions %v; read the file as hdf5: %w", d.Path, d.Shape, shape, dtype.ErrType)
	}
	v, err := views.New(shape, maxElements/a.Type.Size())
	if err != nil {
		return a, err
	}
	stored, err := d.Backing()
	if err == nil {
		err = d.File().Budget().Make((v.Len()-a.Len())*a.Type.Size(), stored)
	}
	if err != nil {
		return a, fmt.Errorf("%s: %w", d.Path, err)
	}
	fill := make([]byte, a.Type.Size())
	switch standard, ok := standardFills[a.Type]; {
	case d.Fill == nil && ok && !has(d.Object, "_FillValue"):
		copy(fill, standard)
	default:
		if copy(fill, d.Fill); d.Type.BigEndian {
			slices.Reverse(fill)
		}
	}
	return padded(a, shape, fill), nil
}

// standardFills are the fill values of variables that are written without one (netcdf.h).
var standardFills = map[dtype.Type][]byte{
	dtype.Int8: dtype.Bytes([]int8{-127}), dtype.Uint8: dtype.Bytes([]uint8{255}), dtype.Int16: dtype.Bytes([]int16{-32767}), dtype.Uint16: dtype.Bytes([]uint16{65535}),
	dtype.Int32: dtype.Bytes([]int32{-2147483647}), dtype.Uint32: dtype.Bytes([]uint32{4294967295}),
	dtype.Int64: dtype.Bytes([]int64{-9223372036854775806}), dtype.Uint64: dtype.Bytes([]uint64{18446744073709551614}),
	dtype.Float32: dtype.Bytes([]float32{9.9692099683868690e+36}), dtype.Float64: dtype.Bytes([]float64{9.9692099683868690e+36}),
}

// maxElements bounds the bytes of a variable.
const maxElements = 1 << 62

// padded returns an array of a shape that begins with the rows of a, which may have none, and has a fill value
// after them.
func padded(a storage.Array, shape []int, fill []byte) storage.Array {
	stored := a.Shape[0]
	if a.Len() == 0 {
		stored = 0
	}
	one := storage.Array{Data: storage.Wrap(fill), Type: a.Type, View: views.Of()}
	return blocks.Compute(a.Type, shape, func(dst storage.Array, b views.Box) error {
		rows, _, end := b.Between(0, 0, stored)
		if end > 0 {
			if err := a.With(rows.Of(a.View)).CopyTo(dst.With(dst.View.Narrow(0, 0, end))); err != nil {
				return err
			}
		}
		rest := dst.With(dst.View.Narrow(0, end, dst.Shape[0]))
		v, _ := one.Broadcast(rest.Shape...) // of a scalar to any shape
		return one.With(v).CopyTo(rest)
	})
}
