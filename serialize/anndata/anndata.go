// Package anndata reads .h5ad files of AnnData: sparse matrices as dense arrays that are
// decoded on demand, categorical and nullable columns as columns, dataframes in their order.
//
// Objects say what they are in the attribute encoding-type:
// https://anndata.readthedocs.io/en/stable/fileformat-prose.html
package anndata

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/sparse"
	"github.com/h5dnn/h5dnn/serialize"
	convention "github.com/h5dnn/h5dnn/serialize/hdf5"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/views"
)

func init() {
	convention.Convention{
		Name: "anndata", Extensions: []string{".h5ad"},
		Match:    func(f *hdf5.File) bool { return convention.RootAttribute(f, encodingType) == "anndata" },
		Meanings: func(*hdf5.File) convention.Meanings { return meaningOf },
	}.Register()
}

const encodingType = "encoding-type"

// own are the attributes of encodings.
var own = []string{encodingType, "encoding-version", "_index", "column-order"}

// meaningOf returns what an object is.
func meaningOf(o *hdf5.Object) (m convention.Meaning, err error) {
	m.Hidden = func(name string) bool { return slices.Contains(own, name) }
	switch encoding := convention.Text(o, encodingType); encoding {
	case "csr_matrix", "csc_matrix":
		m.Hidden = func(name string) bool { return name == "shape" || slices.Contains(own, name) }
		err = readMatrix(&m, o, encoding)
	case "categorical":
		err = readCategorical(&m, o)
	case "nullable-integer", "nullable-boolean", "nullable-string-array":
		m.Encoding = encoding
		err = readNullable(&m, o)
	case "dataframe":
		m.Order, err = columnOrder(o)
	case "awkward-array":
		m.Entry = &serialize.Entry{Elements: &serialize.Elements{Type: encoding}}
		err = fmt.Errorf("%s: elements of type %s cannot be read: %w", o.Path, encoding, dtype.ErrType)
	}
	if err != nil && m.Entry == nil {
		m.Entry = &serialize.Entry{Elements: &serialize.Elements{Type: convention.Text(o, encodingType)}}
	}
	return m, err
}

// columnOrder returns the names of the columns of a dataframe, its index first.
func columnOrder(o *hdf5.Object) ([]string, error) {
	order := []string{convention.Text(o, "_index")}
	a, err := o.Attribute("column-order")
	if err != nil || !a.Type.IsString() { // an empty list is stored as numbers
		return order, nil
	}
	names, err := a.Strings()
	return append(order, names...), err
}

// member returns a dataset of a group.
func member(o *hdf5.Object, name string) (*hdf5.Dataset, error) {
	return o.File().Dataset(o.Path + "/" + name)
}

// numbers returns a dataset of a group as an array.
func numbers(o *hdf5.Object, name string) (*hdf5.Dataset, storage.Array, error) {
	d, err := member(o, name)
	if err != nil {
		return nil, storage.Array{}, err
	}
	a, err := d.Array()
	return d, a, err
}

// storedIn returns the function that counts the stored bytes of datasets.
func storedIn(all ...*hdf5.Dataset) func() (int, error) {
	return func() (total int, err error) {
		for _, d := range all {
			n, failed := d.Backing()
			total, err = total+n, cmp.Or(err, failed)
		}
		return total, err
	}
}

// readMatrix reads a sparse matrix: the attribute shape, and the datasets data, indices and
// indptr.
func readMatrix(m *convention.Meaning, o *hdf5.Object, encoding string) error {
	shape, err := o.Attribute("shape")
	if err != nil {
		return err
	}
	a, err := shape.Array()
	if err != nil {
		return err
	}
	sizes, err := storage.Read[int64](a)
	if err != nil {
		return err
	}
	if len(sizes) != 2 || sizes[0] < 0 || sizes[1] < 0 {
		return fmt.Errorf("%s: shape %v; want two sizes: %w", o.Path, sizes, views.ErrShape)
	}
	matrix := sparse.Matrix{Name: o.Path, Rows: int(sizes[0]), Columns: int(sizes[1]), ByColumns: encoding == "csc_matrix", Budget: o.File().Budget()}
	data, values, err1 := numbers(o, "data")
	indices, at, err2 := numbers(o, "indices")
	indptr, offsets, err3 := numbers(o, "indptr")
	if err := cmp.Or(err1, err2, err3); err != nil {
		return err
	}
	matrix.Values, matrix.Indices, matrix.Offsets = values, at, offsets
	dense, err := matrix.Array()
	if err != nil {
		return err
	}
	m.Entry = &serialize.Entry{Array: dense}
	m.Encoding = fmt.Sprintf("%s of %d stored elements", encoding, values.Len())
	m.Stored = storedIn(data, indices, indptr)
	return nil
}
