package main

import (
	"fmt"
	"iter"
	"math"
	"strings"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/views"
)

// A container is an open file of any format.
type container interface {
	// Format names the file's format: hdf5, npy, npz.
	Format() string
	// Entries yields the objects at and below path; "" is the whole file. Objects
	// that could not be read have their Err set.
	Entries(path string) (iter.Seq[entry], error)
	// Find returns the data at path; "" is the array of a file with a single one.
	Find(path string) (selection, error)
	Close() error
}

// An entry is one object of a file, as inspect shows it.
type entry struct {
	Path   string
	Kind   string // group, dataset, datatype, soft, external
	Target string // of links
	Other  string // the file that an external link leads into
	Attrs  []attr
	Data   *dataset // of datasets
	Type   string   // of datatypes
	Err    error
}

// An attr is an attribute.
type attr struct {
	Name  string
	Shape []int // nil: no value
	DType string
	// Get returns the value in the types of [hdf5.Dataset.Values], lists of
	// them where there is a shape, and nil without a value.
	Get func() (any, error)
	// Keep returns the value as [hdf5write.Writer.SetAttr] takes it.
	Keep func() (any, error)
}

// A dataset describes how a file stores an array.
type dataset struct {
	Shape    []int  // nil: no value (null dataspace) (null dataspace)
	MaxShape []int  // -1: unlimited
	DType    string // NumPy's name, or the kind of element
	Detail   string // a longer description of the type; may be empty
	NumPy    string // str(dtype) in h5py; "" for other formats
	Element  []int  // the shape of elements that are arrays
	Layout   string
	Chunks   []int
	Filters  []filterInfo
	External int      // other files that hold data
	Stored   int      // bytes in the file, -1 if unknown
	Size     int      // bytes when decoded, -1 if that overflows
	Numbers  bool     // the elements are numbers
	Loses    []string // properties that are lost if only the numbers are kept
}

type filterInfo struct {
	ID     int      `json:"id"`
	Name   string   `json:"name"`
	Params []uint32 `json:"params"`
}

// A selection is part of a file's data: numbers in an array, or other elements.
type selection struct {
	Name    string
	Array   storage.Array // of numbers, if Numbers
	Numbers bool

	File   string     // of the data
	Size   int        // bytes of that file, or 0
	View   views.View // of elements that are not numbers
	DType  string
	Texts  bool                            // they are strings
	Values func(views.View) ([]any, error) // in the types of [hdf5.Dataset.Values]
	Rows   func() (*hdf5.Sequences, error) // if elements are of variable length
}

// view returns the geometry of s.
func (s selection) view() views.View {
	if s.Numbers {
		return s.Array.View
	}
	return s.View
}

// with returns the same data seen through v.
func (s selection) with(v views.View) selection {
	s.View, s.Array.View = v, v
	return s
}

// checkSize refuses arrays over 4 GiB that are 1000 times larger than their file: in
// a hostile file, a dataset of any size that was never written costs nothing.
func (s selection) checkSize() error {
	const large, ratio = 4 << 30, 1000
	if n := s.Array.Len() * s.Array.Type.Size(); s.Numbers && s.Size > 0 && n > large && n/ratio > s.Size {
		return fmt.Errorf("%s: %s of %s: %s in a file of %s; select a part, as in [:100]",
			s.File, s.Name, tuple(s.Array.Shape), byteCount(n), byteCount(s.Size))
	}
	return nil
}

// texts returns the elements that v selects as text.
func (s selection) texts(v views.View) ([]string, error) {
	values, err := s.Values(v)
	cells := make([]string, len(values))
	for k, value := range values {
		cells[k] = printable(hdf5.Format(value))
	}
	return cells, err
}

// strings returns the elements of a selection of strings.
func (s selection) strings() ([]string, error) {
	values, err := s.Values(s.View)
	texts := make([]string, len(values))
	for k, value := range values {
		texts[k] = value.(string)
	}
	return texts, err
}

// tuple writes a shape as Python does.
func tuple(shape []int) string {
	cells := make([]string, len(shape))
	for axis, n := range shape {
		cells[axis] = fmt.Sprint(n)
		if n < 0 {
			cells[axis] = "∞"
		}
	}
	if len(cells) == 1 {
		return "(" + cells[0] + ",)"
	}
	return "(" + strings.Join(cells, ", ") + ")"
}

// byteCount formats a number of bytes with a binary unit.
func byteCount(n int) string {
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	x, unit := float64(n)/1024, 0
	for ; x >= 1024 && unit < 5; unit++ {
		x /= 1024
	}
	digits := max(0, 2-int(math.Log10(x)))
	return fmt.Sprintf("%.*f %ciB", min(1, digits), x, "KMGTPE"[unit])
}
