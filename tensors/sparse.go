package tensors

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5write"
	"github.com/h5dnn/h5dnn/tensor/sparse"
)

// LoadCSR reads the sparse matrix in a group of an HDF5 file into memory, as h5ad files have it and
// [Writer.WriteCSR] writes it: a csr_matrix or csc_matrix of data, indices and indptr. [Open] returns the same
// matrix with all its elements, which are computed when they are read.
func LoadCSR(file, group string) (*sparse.CSR, error) {
	f, err := hdf5.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	o, err := f.Lookup("/" + strings.TrimPrefix(group, "/"))
	if err != nil {
		return nil, err
	}
	s, err := readCSR(f, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", file, o.Path, err)
	}
	return s, nil
}

func readCSR(f *hdf5.File, o *hdf5.Object) (*sparse.CSR, error) {
	encoding := ""
	for _, name := range []string{"encoding-type", "h5sparse_format"} { // since AnnData 0.7, and before
		if a, err := o.Attribute(name); err == nil {
			if texts, err := a.Strings(); err == nil && len(texts) == 1 && encoding == "" {
				encoding = strings.TrimSuffix(texts[0], "_matrix")
			}
		}
	}
	if encoding != "csr" && encoding != "csc" {
		return nil, fmt.Errorf("its encoding-type is %q; want csr_matrix or csc_matrix: %w", encoding, storage.ErrState)
	}
	a, err := o.Attribute("shape")
	if err != nil {
		if a, err = o.Attribute("h5sparse_shape"); err != nil {
			return nil, err
		}
	}
	sizes, err := a.Array()
	if err != nil {
		return nil, err
	}
	shape, err := storage.Read[int64](sizes)
	if err != nil {
		return nil, err
	}
	if len(shape) != 2 {
		return nil, fmt.Errorf("shape %v; want two sizes: %w", shape, storage.ErrState)
	}
	part := func(name string) (storage.Array, error) {
		member, err := f.Lookup(path.Join(o.Path, name))
		if err != nil {
			return storage.Array{}, err
		}
		d, err := member.Dataset()
		if err != nil {
			return storage.Array{}, err
		}
		return d.Array()
	}
	indptr, err1 := part("indptr")
	indices, err2 := part("indices")
	data, err3 := part("data")
	if err := cmp.Or(err1, err2, err3); err != nil {
		return nil, err
	}
	return sparse.FromCompressed(indptr, indices, data, [2]int{int(shape[0]), int(shape[1])}, encoding == "csc")
}

// WriteCSR writes s as a group csr_matrix, as h5ad files have it.
func (w *Writer) WriteCSR(group string, s *sparse.CSR) error {
	group = "/" + strings.TrimPrefix(group, "/")
	shape := []int64{int64(s.Shape()[0]), int64(s.Shape()[1])}
	if err := w.Group(group, hdf5write.Attr{Name: "encoding-type", Value: "csr_matrix"}, hdf5write.Attr{Name: "encoding-version", Value: "0.1.0"},
		hdf5write.Attr{Name: "shape", Value: storage.From(shape, 2)}); err != nil {
		return err
	}
	indptr, indices, data := s.Compressed()
	return cmp.Or(w.Writer.Write(group+"/indptr", indptr), w.Writer.Write(group+"/indices", indices), w.Writer.Write(group+"/data", data))
}
