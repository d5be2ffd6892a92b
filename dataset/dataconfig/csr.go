package dataconfig

import (
	"fmt"

	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A CSRInput is an input whose batches are sparse matrices. Its values are the field of its name.
type CSRInput struct {
	Columns string `json:"columns"` // the field of the columns of values
	Lengths string `json:"lengths"` // the field of the numbers of values of rows
	Width   int    `json:"width"`   // columns of the matrix
	Mapped  bool   `json:"-"`       // whether columns are in any order, and -1 where a value is left out; see dataset.SortColumns
}

// A csrPart is the rows of a sparse matrix in a part, one of two fields of elements.
type csrPart struct {
	rows    dataset.Ragged
	width   int
	columns bool // rows are columns of values
}

// csrNames returns the names of the fields beside the values of an input.
func csrNames(name string) CSRInput {
	return CSRInput{Columns: name + " columns", Lengths: LengthsName(name)}
}

// openCSR adds the values of a sparse input to p, their columns, and how many each row has.
func (c Config) openCSR(p *part, name string, at NamedPath) error {
	m, err := c.findCSR(p, name, at)
	if err != nil {
		return err
	}
	if m.columns.Type != dtype.Int32 && m.columns.Type != dtype.Int64 {
		return fmt.Errorf("%s: %s: columns of %v; want int32 or int64: %w", p.file, m.path, m.columns.Type, dtype.ErrType)
	}
	if m.values.Rank() != 1 || m.columns.Rank() != 1 || m.values.Shape[0] != m.columns.Shape[0] {
		return fmt.Errorf("%s: %s: %v values in %v columns; want as many: %w", p.file, m.path, m.values.Shape, m.columns.Shape, views.ErrShape)
	}
	values, err := dataset.Offsets(p.file+": "+m.path, m.values, m.offsets)
	if err != nil {
		return err
	}
	columns, err := dataset.Offsets(p.file+": "+m.path, m.columns, m.offsets)
	if err != nil {
		return err
	}
	values.MaxLength = max(1, values.MaxLength)
	lengths, err := values.PaddedLengths(0)
	if err != nil {
		return err
	}
	names := csrNames(name)
	p.fields = append(p.fields,
		field{NamedArray: dataset.NamedArray{Name: name, From: originOf(p.file, m.path)}, path: m.path, csr: &csrPart{rows: values, width: m.width}},
		field{NamedArray: dataset.NamedArray{Name: names.Columns, From: originOf(p.file, m.path)}, path: m.path, csr: &csrPart{rows: columns, width: m.width, columns: true}},
		field{NamedArray: dataset.NamedArray{Name: names.Lengths, Role: dataset.Length, LengthOf: name, Array: lengths}, path: m.path})
	return padCSR([]*part{p})
}

// A csrMatrix is the arrays of a sparse matrix.
type csrMatrix struct {
	path                     string
	width                    int
	values, columns, offsets storage.Array
}

// findCSR finds the arrays of a sparse input.
func (c Config) findCSR(p *part, name string, at NamedPath) (m csrMatrix, err error) {
	paths := [3]string{at.Path, c.XColumns.of(name), c.XOffsets.of(name)}
	if paths[2] == "" {
		found, group, err := p.find(p.file, at.Path)
		if err != nil {
			return m, err
		}
		if _, index := views.CutIndex(at.Path); index != "" || len(at.Beside) > 0 || found.Array.Rank() != 2 {
			return m, fmt.Errorf("%s: %s: csr takes a whole matrix; select rows with rows: %w", p.file, group, views.ErrShape)
		}
		for _, attribute := range []string{"encoding-type", "h5sparse_format"} {
			if kind, err := p.files.Attribute(p.file, group, attribute); err == nil && len(kind) == 1 && (kind[0] == "csc_matrix" || kind[0] == "csc") {
				return m, fmt.Errorf("%s: %s is compressed by columns (CSC), so that rows of it cannot be read alone; load it dense: %w", p.file, group, dtype.ErrType)
			}
		}
		m.width = found.Array.Shape[1]
		paths = [3]string{group + "/data", group + "/indices", group + "/indptr"}
	}
	for i, to := range []*storage.Array{&m.values, &m.columns, &m.offsets} {
		var path string
		if *to, path, err = p.array(p.file, paths[i]); err != nil {
			return m, err
		}
		if i == 0 {
			m.path = path
		}
	}
	if m.width == 0 {
		m.width = c.Length
	}
	if m.width == 0 {
		m.width, err = dataset.Width(m.columns)
	}
	return m, err
}

// padCSR makes the rows of sparse inputs equally long in all parts, as the longest of any.
func padCSR(parts []*part) error {
	longest, width := map[string]int{}, map[string]int{}
	for _, p := range parts {
		for _, f := range p.fields {
			if f.csr == nil {
				continue
			}
			longest[f.Name] = max(longest[f.Name], f.csr.rows.MaxLength)
			if w, ok := width[f.Name]; ok && w != f.csr.width {
				return fmt.Errorf("%s has %d columns, %s %d; want the same columns in all files: %w", parts[0].name(), w, p.name(), f.csr.width, views.ErrShape)
			}
			width[f.Name] = f.csr.width
		}
	}
	for _, p := range parts {
		for i := range p.fields {
			f := &p.fields[i]
			if f.csr == nil {
				continue
			}
			var err error
			if f.Array, err = f.csr.rows.Padded(longest[f.Name]); err != nil {
				return err
			}
		}
	}
	return nil
}
