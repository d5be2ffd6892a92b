// Package netcdf reads NetCDF-4 files: axes have the names of dimensions, and variables are
// decoded as the CF conventions say and xarray does: packed integers are unpacked, missing
// values are NaN, and arrays of characters are strings. Unlike with xarray, floats are missing,
// too, that have libnetcdf's fill value because they were never written. Times stay numbers;
// their attribute units says since when they count.
//
// https://docs.unidata.ucar.edu/netcdf-c/current/file_format_specifications.html#netcdf_4_spec
// https://cfconventions.org/cf-conventions/cf-conventions.html#packed-data
package netcdf

import (
	"slices"
	"strings"
	"sync"

	"github.com/h5dnn/h5dnn/serialize"
	convention "github.com/h5dnn/h5dnn/serialize/hdf5"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/views"
)

func init() {
	convention.Convention{
		Name: "netcdf", Extensions: []string{".nc", ".nc4"}, Named: true, Match: match,
		Meanings: func(f *hdf5.File) convention.Meanings {
			r := &reader{file: f}
			r.dimensions = sync.OnceValue(r.numbered)
			r.lengths = sync.OnceValue(r.unlimitedLengths)
			return r.meaningOf
		},
		Prefix: nonCoordinate,
	}.Register()
}

// match looks for the attribute that libnetcdf has written to the root since version 4.4.1,
// and then for what older versions write: numbers of dimensions, and dimensions without a variable.
func match(f *hdf5.File) bool {
	return convention.RootAttribute(f, "_NCProperties") != "" ||
		convention.HasMember(f, func(o *hdf5.Object) bool {
			return o.Kind == hdf5.KindDataset && (has(o, dimensionID) || isNoVariable(o))
		})
}

// Attributes of NetCDF itself.
const (
	dimensionID    = "_Netcdf4Dimid"
	coordinateIDs  = "_Netcdf4Coordinates" // the numbers of the dimensions of a variable
	dimensionList  = "DIMENSION_LIST"      // references to the dimensions
	dimensionScale = "DIMENSION_SCALE"     // the class of a dimension
)

var own = []string{
	"CLASS", "NAME", "REFERENCE_LIST", "DIMENSION_LABELS", dimensionList, dimensionID, coordinateIDs,
	"_NCProperties", "_nc3_strict", "_NCCopied",
}

// noVariable begins the attribute NAME of a dimension without a variable.
const noVariable = "This is a netCDF dimension but not a netCDF variable"

// nonCoordinate begins the name of a variable that is called as a dimension and is not its
// coordinate.
const nonCoordinate = "_nc4_non_coord_"

type reader struct {
	file       *hdf5.File
	dimensions func() map[int64]string // names by number
	lengths    func() map[string]int   // of unlimited dimensions, by path
}

func (r *reader) meaningOf(o *hdf5.Object) (m convention.Meaning, err error) {
	m.Hidden = func(name string) bool { return slices.Contains(own, name) }
	if o.Kind != hdf5.KindDataset {
		return m, nil
	}
	if isNoVariable(o) {
		return convention.Meaning{Part: true}, nil
	}
	d, err := o.Dataset()
	if err != nil || d.Shape == nil {
		return convention.Meaning{}, nil // as HDF5 shows it
	}
	m.Axes = r.axes(o, len(d.Shape))
	switch {
	case d.Type.Class == hdf5.ClassString && d.Type.Size == 1 && len(d.Shape) > 0:
		readCharacters(&m, d)
	case d.DType.Valid():
		err = r.decode(&m, d)
	}
	return m, err
}

// isNoVariable reports whether a dataset is a dimension alone.
func isNoVariable(o *hdf5.Object) bool {
	return strings.HasPrefix(convention.Text(o, "NAME"), noVariable)
}

func has(o *hdf5.Object, attribute string) bool {
	_, err := o.Attribute(attribute)
	return err == nil
}

// axes returns the names of the dimensions of a variable: those that it refers to, its own
// if it is a coordinate, or those with its numbers.
func (r *reader) axes(o *hdf5.Object, rank int) []string {
	var names []string
	if a, err := o.Attribute(dimensionList); err == nil {
		values, _ := a.Values()
		for _, value := range values {
			if list, ok := value.([]any); ok && len(list) > 0 {
				if to, ok := list[0].(hdf5.Reference); ok {
					names = append(names, base(to.Path))
				}
			}
		}
	} else if convention.Text(o, "CLASS") == dimensionScale && rank == 1 {
		names = []string{base(o.Path)}
	} else {
		for _, id := range integers(o, coordinateIDs) {
			names = append(names, r.dimensions()[id])
		}
	}
	if len(names) != rank || rank == 0 || slices.Contains(names, "") {
		return nil
	}
	return names
}

// numbered returns the names of all dimensions by their numbers.
func (r *reader) numbered() map[int64]string {
	names := map[int64]string{}
	for o, err := range r.file.Walk() {
		if err == nil && o.Kind == hdf5.KindDataset {
			for _, id := range integers(o, dimensionID) {
				names[id] = base(o.Path)
			}
		}
	}
	return names
}

func base(path string) string {
	return strings.TrimPrefix(path[strings.LastIndexByte(path, '/')+1:], nonCoordinate)
}

// integers returns an attribute of integers; nil if it is not there.
func integers(o *hdf5.Object, name string) (list []int64) {
	a, err := o.Attribute(name)
	if err != nil {
		return nil
	}
	values, _ := a.Values()
	for _, value := range values {
		n, ok := value.(int64)
		if !ok {
			return nil
		}
		list = append(list, n)
	}
	return list
}

// readCharacters makes strings of an array of characters, whose last axis is that of the
// characters of a string.
func readCharacters(m *convention.Meaning, d *hdf5.Dataset) {
	last := len(d.Shape) - 1
	width := d.Shape[last]
	m.Entry = &serialize.Entry{Elements: &serialize.Elements{View: views.Of(d.Shape[:last]...), Type: "string"}}
	m.Entry.Elements.Values = func(v views.View) ([]any, error) {
		for i := range v.Stride { // of characters
			v.Shape, v.Stride = slices.Clone(v.Shape), slices.Clone(v.Stride)
			v.Stride[i] *= width
		}
		v.Offset *= width
		v.Shape, v.Stride = append(slices.Clone(v.Shape), width), append(slices.Clone(v.Stride), 1)
		stored, err := d.Backing()
		if err == nil {
			err = d.File().Budget().Allocate(v.Len(), stored)
		}
		if err != nil {
			return nil, err
		}
		text, err := d.Raw(v)
		if err != nil {
			return nil, err
		}
		list := make([]any, len(text)/max(1, width))
		for i := range list {
			list[i] = strings.TrimRight(string(text[i*width:(i+1)*width]), "\x00")
		}
		return list, nil
	}
	m.Encoding = "characters"
	m.Stored = d.Backing
	if len(m.Axes) > 0 {
		m.Axes = m.Axes[:last]
	}
}
