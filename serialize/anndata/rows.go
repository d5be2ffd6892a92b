package anndata

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/h5dnn/h5dnn/dtype"
	convention "github.com/h5dnn/h5dnn/serialize/hdf5"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/views"
)

// A RowArray is a dataset that holds something of each row of a table or matrix, such as of each observation.
type RowArray struct {
	Path    string
	Offsets string // the dataset whose neighbours divide this one into rows, or is itself; empty if rows are along the first axis
	Numbers bool   // elements are the numbers of rows, such as the indices of a matrix that is compressed by columns
	Fixed   bool   // rows are not along the first axis: at most Numbers depend on them
	Columns bool   // columns are rows, too: a square matrix
}

// ErrNoRows is wrapped by errors about objects without rows: single values, and groups without an encoding.
var ErrNoRows = errors.New("there are no rows")

// Is reports whether a file is one of AnnData.
func Is(f *hdf5.File) bool { return match(f) }

// Observations returns the number of observations of a file of AnnData, and all arrays along them: obs, X, layers, raw, obsm and
// obsp. What is along obs in a way that cannot be divided into rows is an error.
func Observations(f *hdf5.File) (n int, all []RowArray, err error) {
	paths := []string{"/obs", "/X", "/raw/X", "/raw.X"}
	for _, path := range []string{"/layers", "/obsm", "/obsp"} {
		o, err := lookup(f, path)
		switch {
		case err != nil:
			return 0, nil, err
		case o == nil:
		case o.Kind == hdf5.KindDataset: // a table, in files of version 0.6
			paths = append(paths, path)
		default:
			names, err := o.Names()
			if err != nil {
				return 0, nil, err
			}
			for _, name := range names {
				paths = append(paths, path+"/"+name)
			}
		}
	}
	n = -1
	for _, path := range paths {
		o, err := lookup(f, path)
		if err != nil {
			return 0, nil, err
		}
		if o == nil {
			continue
		}
		rows, arrays, err := Rows(o, strings.HasPrefix(path, "/obsp/"))
		if err == nil && n >= 0 && rows != n {
			err = fmt.Errorf("%s has %d rows, and others along obs %d: %w", path, rows, n, views.ErrShape)
		}
		if err != nil {
			return 0, nil, err
		}
		n, all = rows, append(all, arrays...)
	}
	return n, all, nil
}

// lookup returns the object at a path of a file, or nil where nothing is.
func lookup(f *hdf5.File, path string) (*hdf5.Object, error) {
	o, err := f.Lookup(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err == nil && o.File() != f:
		return nil, fmt.Errorf("%s is in another file, %s", path, o.File().Name())
	}
	return o, err
}

// Rows returns the number of rows of an array, a sparse matrix or a column or table of AnnData, and the datasets they are in. The
// columns of a square one are the same rows.
func Rows(o *hdf5.Object, square bool) (n int, all []RowArray, err error) {
	if o.Kind == hdf5.KindDataset {
		d, err := o.Dataset()
		if err == nil && len(d.Shape) == 0 {
			err = fmt.Errorf("%s is a single value: %w", o.Path, ErrNoRows)
		}
		if err != nil {
			return 0, nil, err
		}
		return d.Shape[0], []RowArray{{Path: o.Path, Columns: square}}, nil
	}
	encoding, members := convention.Text(o, encodingType), []string(nil)
	if old := convention.Text(o, sparseFormat); old != "" {
		encoding = old + "_matrix"
	}
	switch encoding {
	case "csr_matrix", "csc_matrix":
		return matrixRows(o, encoding == "csc_matrix", square)
	case "categorical":
		members = []string{"codes"}
	case "nullable-integer", "nullable-boolean", "nullable-string-array":
		members = []string{"values", "mask"}
	case "dataframe":
		if members, err = columnOrder(o); err != nil {
			return 0, nil, err
		}
	case "":
		return 0, nil, fmt.Errorf("%s has no %s: %w", o.Path, encodingType, ErrNoRows)
	default:
		return 0, nil, fmt.Errorf("%s: rows of elements of type %s are not told apart: %w", o.Path, encoding, dtype.ErrType)
	}
	n = -1
	for _, name := range members {
		member, err := o.File().Lookup(o.Path + "/" + name)
		if err != nil {
			return 0, nil, err
		}
		rows, arrays, err := Rows(member, false)
		if err == nil && n >= 0 && rows != n {
			err = fmt.Errorf("%s has %d rows, and another column %d: %w", member.Path, rows, n, views.ErrShape)
		}
		if err != nil {
			return 0, nil, err
		}
		n, all = rows, append(all, arrays...)
	}
	return n, all, nil
}

// matrixRows is Rows of a sparse matrix.
func matrixRows(o *hdf5.Object, byColumns, square bool) (n int, all []RowArray, err error) {
	name := "shape"
	if _, err := o.Attribute(sparseShape); err == nil {
		name = sparseShape
	}
	sizes, err := integers(o, name)
	if err == nil && len(sizes) != 2 {
		err = fmt.Errorf("%s: shape %v; want two sizes: %w", o.Path, sizes, views.ErrShape)
	}
	if err != nil {
		return 0, nil, err
	}
	if byColumns && !square {
		return sizes[0], []RowArray{{Path: o.Path + "/data", Fixed: true}, {Path: o.Path + "/indices", Fixed: true, Numbers: true}, {Path: o.Path + "/indptr", Fixed: true}}, nil
	}
	offsets := o.Path + "/indptr"
	return sizes[0], []RowArray{{Path: o.Path + "/data", Offsets: offsets}, {Path: o.Path + "/indices", Offsets: offsets, Numbers: square}, {Path: offsets, Offsets: offsets}}, nil
}
