// Package anndata reads .h5ad files of AnnData: sparse matrices as dense arrays that are
// decoded on demand, categorical and nullable columns as columns, dataframes in their order.
//
// Objects say what they are in the attribute encoding-type:
// https://anndata.readthedocs.io/en/stable/fileformat-prose.html. Files of versions 0.6 and 0.7
// do not say that they are AnnData's; their sparse matrices and categories are read, too.
package anndata

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

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
		Match:    match,
		Meanings: func(*hdf5.File) convention.Meanings { return meaningOf },
	}.Register()
}

const encodingType = "encoding-type"

// Attributes of sparse matrices of version 0.6, and of the columns of version 0.7.
const (
	sparseFormat, sparseShape = "h5sparse_format", "h5sparse_shape"
	categoriesOf              = "categories"
)

// own are the attributes of encodings, and the mark of shuffled rows.
var own = []string{encodingType, "encoding-version", "_index", "column-order", sparseFormat, sparseShape, "shape", "h5dnn_shuffle_seed"}

// match looks for the attribute of the root. Files of version 0.7 have the dataframes obs and
// var instead, and those of version 0.6 a table obs with the column index, and the group uns.
func match(f *hdf5.File) bool {
	if convention.RootAttribute(f, encodingType) == "anndata" {
		return true
	}
	obs, err1 := f.Lookup("/obs")
	other, err2 := f.Lookup("/var")
	if err1 != nil || err2 != nil {
		return false
	}
	if convention.Text(obs, encodingType) == "dataframe" && convention.Text(other, encodingType) == "dataframe" {
		return true
	}
	d, err := f.Dataset("/obs")
	uns, missing := f.Lookup("/uns")
	return err == nil && missing == nil && uns.Kind == hdf5.KindGroup && len(d.Type.Members) > 0 && d.Type.Members[0].Name == "index"
}

// meaningOf returns what an object is.
func meaningOf(o *hdf5.Object) (m convention.Meaning, err error) {
	encoding := convention.Text(o, encodingType)
	if old := convention.Text(o, sparseFormat); old != "" {
		encoding = old + "_matrix"
	}
	m.Hidden = func(name string) bool {
		return slices.Contains(own, name) && (name != "shape" || strings.HasSuffix(encoding, "_matrix"))
	}
	switch encoding {
	case "csr_matrix", "csc_matrix":
		err = readMatrix(&m, o, encoding)
	case "categorical":
		err = readCategorical(&m, o)
	case "nullable-integer", "nullable-boolean", "nullable-string-array":
		m.Encoding = encoding
		err = readNullable(&m, o)
	case "dataframe":
		m.Order, err = columnOrder(o)
	case "awkward-array":
		err = fmt.Errorf("elements of type %s are not read: %w", encoding, dtype.ErrType)
		length, _ := integers(o, "length")
		v, wrong := views.New(length, math.MaxInt)
		if wrong != nil {
			v = views.Of()
		}
		m.Entry = &serialize.Entry{Elements: &serialize.Elements{View: v, Type: encoding}}
	case "":
		if strings.Contains(o.Path+"/", "/__categories/") {
			m.Part = true
		} else if a, missing := o.Attribute(categoriesOf); missing == nil {
			err = readOldCategorical(&m, o, a)
		}
	}
	if err != nil && m.Entry == nil {
		m.Entry = &serialize.Entry{Elements: &serialize.Elements{View: views.Of(), Type: cmp.Or(encoding, "categorical")}}
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

// integers returns an attribute of integers.
func integers(o *hdf5.Object, name string) (list []int, err error) {
	attribute, err := o.Attribute(name)
	if err != nil {
		return nil, err
	}
	a, err := attribute.Array()
	if err != nil {
		return nil, err
	}
	elements, err := storage.Read[int64](a)
	for _, n := range elements {
		list = append(list, int(n))
	}
	return list, err
}

// readMatrix reads a sparse matrix: the attribute shape, and the datasets data, indices and
// indptr.
func readMatrix(m *convention.Meaning, o *hdf5.Object, encoding string) error {
	name := "shape"
	if _, err := o.Attribute(sparseShape); err == nil {
		name = sparseShape
	}
	sizes, err := integers(o, name)
	if err != nil {
		return err
	}
	if len(sizes) != 2 || sizes[0] < 0 || sizes[1] < 0 {
		return fmt.Errorf("%s: shape %v; want two sizes: %w", o.Path, sizes, views.ErrShape)
	}
	matrix := sparse.Matrix{Name: o.Path, Rows: sizes[0], Columns: sizes[1], ByColumns: encoding == "csc_matrix", Budget: o.File().Budget()}
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
