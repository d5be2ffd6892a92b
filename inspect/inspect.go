// Package inspect describes the objects of a file of arrays in any format: groups,
// datasets with their storage, attributes and links.
package inspect

import (
	"context"
	"fmt"
	"iter"
	"math"

	"github.com/h5dnn/h5dnn/arrayfmt"
	"github.com/h5dnn/h5dnn/internal/blocks"
	"github.com/h5dnn/h5dnn/loss"
	"github.com/h5dnn/h5dnn/serialize"
	_ "github.com/h5dnn/h5dnn/serialize/anndata"
	h5format "github.com/h5dnn/h5dnn/serialize/hdf5"
	_ "github.com/h5dnn/h5dnn/serialize/kerasfile"
	_ "github.com/h5dnn/h5dnn/serialize/matlab"
	_ "github.com/h5dnn/h5dnn/serialize/netcdf"
	_ "github.com/h5dnn/h5dnn/serialize/npy"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/views"
)

// A File is an open file of any format.
type File interface {
	Name() string
	// Format names the file's format: hdf5, npy, npz, anndata.
	Format() string
	// Detected returns the format that the content of the file fits best, such as keras-h5 of an HDF5 file.
	Detected() serialize.Format
	// Entries yields the objects at and below path; "" is the whole file. Objects
	// that could not be read have their Err set.
	Entries(path string) (iter.Seq[Object], error)
	// Find returns the data at path; "" is the array of a file with a single one.
	Find(path string) (Selection, error)
	Close() error
}

// An Object is one object of a file.
type Object struct {
	Path   string
	Kind   string // group, dataset, datatype, soft, external
	Target string // of links
	Other  string // the file that an external link leads into
	Attrs  []Attr
	Data   *Dataset // of datasets
	Type   string   // of datatypes
	Fields []string // the members of a compound type, as "name: type"
	Err    error
	Unread error // why the elements of a dataset, whose type is described, are not read
	// Omitted is what the arrays and the metadata of the file do not have of it, for the root.
	Omitted loss.List
}

// An Attr is an attribute.
type Attr struct {
	Name  string
	Shape []int // nil: no value
	DType string
	// Get returns the value in the types of [hdf5.Dataset.Values], lists of
	// them where there is a shape, and nil without a value.
	Get func() (any, error)
	// Keep returns the value as [hdf5write.Writer.SetAttr] takes it.
	Keep func() (any, error)
}

// A Dataset describes how a file stores an array.
type Dataset struct {
	Shape    []int  // nil: no value (null dataspace)
	MaxShape []int  // -1: unlimited
	DType    string // NumPy's name, or the kind of element
	Detail   string // a longer description of the type; may be empty
	NumPy    string // str(dtype) in h5py; "" for other formats
	Element  []int  // the shape of elements that are arrays
	Layout   string
	Chunks   []int
	Filters  []Filter
	External int      // other files that hold data
	Stored   int      // bytes in the file, -1 if unknown
	Size     int      // bytes when decoded, -1 if that overflows
	Numbers  bool     // the elements are numbers
	Text     string   // how strings are stored: "variable, utf-8" or "8 bytes, ascii"; "" for other types
	Big      bool     // the elements, or members of them, are big-endian
	Names    []string // of the values of an enum
	Values   []int64  // that Names belong to
	Sources  []string // FILE:/path of the datasets that a virtual one consists of
	Changes  []string // what is different in an array of the numbers
	Renamed  string   // the name in the file, if the path is another one because two arrays would have it
	Shares   string   // the path of an earlier array with the same elements, or ""
	Strides  []int    // of elements that are not in row-major order; else nil
	Axes     []string // names of the axes; nil if they have none
	Encoding string   // the on-disk encoding, if not dense: "csr_matrix of 5 stored elements"
}

// A Filter is a step of the compression of an HDF5 dataset: its registered number, its name
// and the parameters stored with it.
type Filter struct {
	ID     int      `json:"id"`
	Name   string   `json:"name"`
	Params []uint32 `json:"params"`
}

// A Selection is part of a file's data: numbers in an array, or other elements.
type Selection struct {
	serialize.Entry
	Listed bool // Name is a name in the file, which may begin or end with a slash as paths do not

	// Names are those of the integers NameValues, of an enum; of 0, 1, … if that is nil.
	Names      []string
	NameValues []int64

	File   string              // of the data
	Stored func() (int, error) // bytes that the elements come from, if Budget is not nil
	Budget *storage.Budget
	Size   int                             // bytes that an element takes at least, if it is not a number
	Rows   func() (*hdf5.Sequences, error) // if elements are of variable length
}

// With returns s with another view.
func (s Selection) With(v views.View) Selection {
	if s.Numbers() {
		s.Array.View = v
		return s
	}
	elements := *s.Elements
	elements.View, s.Elements = v, &elements
	return s
}

// CheckSize takes the elements that the file does not store out of its budget: in a hostile
// file, a dataset of any size that was never written costs nothing. It is called before
// all elements of a selection are read.
func (s Selection) CheckSize() error {
	if s.Budget == nil {
		return nil
	}
	size, v := s.Size, s.View()
	if s.Numbers() {
		size = s.Array.Type.Size()
	}
	stored, err := s.Stored()
	if err == nil {
		err = s.Budget.Make(min(v.Len(), math.MaxInt/max(1, size))*size, stored)
	}
	if err != nil {
		return fmt.Errorf("%s: %s of %s: %w; select a part, as in [:100]", s.File, s.Name, arrayfmt.Shape(v.Shape), err)
	}
	return nil
}

// Strings returns the elements of a selection of strings.
func (s Selection) Strings() ([]string, error) {
	var texts []string
	shared := map[string]string{} // of equal strings, such as labels
	for v, err := range blocks.Views(context.Background(), s.View(), blockTexts) {
		if err != nil {
			return nil, err
		}
		values, err := s.Elements.Values(v)
		if err != nil {
			return nil, err
		}
		for _, value := range values {
			text, ok := shared[value.(string)]
			if !ok {
				text = value.(string)
				if len(shared) < maxShared {
					shared[text] = text
				}
			}
			texts = append(texts, text)
		}
	}
	return texts, nil
}

// Strings are read blockTexts elements at a time, and at most maxShared are kept to be shared.
const blockTexts, maxShared = 1 << 16, 1 << 16

// Open opens a file. Its format is found by content. Of HDF5 files all objects are shown,
// whoever wrote them, with the meanings of MATLAB, NetCDF and AnnData; Options.Format hdf5
// leaves these out.
func Open(name string, options ...serialize.Options) (File, error) {
	var o serialize.Options
	if len(options) > 0 {
		o = options[len(options)-1]
	}
	if o.Choose == nil {
		o.Choose = Objects
	}
	file, format, err := serialize.OpenDetected(name, o)
	if err != nil {
		return nil, err
	}
	return Of(file, name, format), nil
}

// Objects chooses to open what is an HDF5 file as such, with the convention that it follows.
func Objects(found serialize.Format, fits func(format string) bool) string {
	if h5format.IsConvention(found.Name) || !fits("hdf5") {
		return found.Name
	}
	return "hdf5"
}

// ObjectsOrCheckpoint is Objects, but chooses to open a checkpoint in HDF5 as the arrays that it holds.
func ObjectsOrCheckpoint(found serialize.Format, fits func(format string) bool) string {
	if found.Name == "h5ck" {
		return found.Name
	}
	return Objects(found, fits)
}

// Of returns an open file, whose content fits a format best, as one whose objects are described. Closing
// either closes both.
func Of(file serialize.File, name string, format serialize.Format) File {
	if h5, ok := file.(*h5format.File); ok {
		return HDF5{h5.HDF5(), h5, format}
	}
	return newArrays(file, name, format)
}
