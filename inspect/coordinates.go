package inspect

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/coordinates"
	h5format "github.com/h5dnn/h5dnn/serialize/hdf5"
	"github.com/h5dnn/h5dnn/spell"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/views"
)

// Coordinates returns the axis of the array at a path that has the name of a range, and the indices
// along it whose coordinates are in the range: it implements part of [views.Names]. Axes have the
// names of their dimension scales and labels, or of NetCDF's dimensions.
//
// https://support.hdfgroup.org/documentation/hdf5/latest/_h5_d_s__u_g.html
func (f HDF5) Coordinates(at string, r views.CoordinateRange) (axis int, indices []int, single bool, err error) {
	d, err := f.dimensions(at)
	if err != nil {
		return 0, nil, false, err
	}
	var known []string
	for k, dim := range d {
		if known = append(known, dim.names...); !slices.Contains(dim.names, r.Name) {
			continue
		}
		coordinates, err := f.coordinatesOf(dim, r.Name)
		if err == nil {
			indices, single, err = coordinates.Find(r)
		}
		return k, indices, single, err
	}
	if known == nil {
		return 0, nil, false, fmt.Errorf("the axes have no names; select by position: %w", views.ErrShape)
	}
	return 0, nil, false, fmt.Errorf("no dimension is called %q%s; the dimensions are %s: %w", r.Name, spell.Hint(r.Name, known), strings.Join(known, ", "), views.ErrShape)
}

// A dimension is an axis with names, and where its coordinates may be.
type dimension struct {
	names []string
	paths []string
	size  int
}

// dimensions returns the dimensions of the dataset at a path.
func (f HDF5) dimensions(at string) ([]dimension, error) {
	o, err := f.convention.Find(at)
	if err != nil {
		return nil, err
	}
	s, err := f.find(o)
	if err != nil {
		return nil, err
	}
	meaning, _ := f.convention.Meaning(o.Object) // found without an error
	labels := attributeValues(o.Object, "DIMENSION_LABELS")
	scales := attributeValues(o.Object, "DIMENSION_LIST")
	shape := s.Shape()
	all := make([]dimension, len(shape))
	for k := range all {
		d := &all[k]
		if d.size = shape[k]; len(meaning.Axes) == len(shape) {
			d.names = []string{meaning.Axes[k]}
		}
		if len(labels) == len(shape) {
			d.add(fmt.Sprint(labels[k]))
		}
		if k < len(scales) {
			for _, scale := range referredTo(scales[k]) {
				d.paths = append(d.paths, scale)
				d.add(path.Base(scale))
				if o, err := f.Lookup(scale); err == nil {
					d.add(h5format.Text(o, "NAME"))
				}
			}
		} else if h5format.Text(o.Object, "CLASS") == "DIMENSION_SCALE" && len(shape) == 1 {
			d.add(path.Base(o.Path))
		}
		for _, name := range d.names { // NetCDF's coordinates are beside the variable or above it
			for group := path.Dir(o.Path); ; group = path.Dir(group) {
				if d.paths = append(d.paths, path.Join(group, name)); group == "/" || group == "." {
					break
				}
			}
		}
	}
	return all, nil
}

func (d *dimension) add(name string) {
	if name != "" && !strings.HasPrefix(name, "This is a netCDF dimension") && !slices.Contains(d.names, name) {
		d.names = append(d.names, name)
	}
}

// attributeValues returns the elements of an attribute; nil if it is not there.
func attributeValues(o *hdf5.Object, name string) []any {
	a, err := o.Attribute(name)
	if err != nil {
		return nil
	}
	values, _ := a.Values() // of another type they name nothing
	return values
}

// referredTo returns the paths that a list of references leads to.
func referredTo(list any) (paths []string) {
	refs, _ := list.([]any)
	for _, ref := range refs {
		if to, ok := ref.(hdf5.Reference); ok && to.Path != "" {
			paths = append(paths, to.Path)
		}
	}
	return paths
}

// coordinatesOf reads the coordinates of a dimension: of its scales, the one that is called name.
func (f HDF5) coordinatesOf(d dimension, name string) (coordinates.Axis, error) {
	slices.SortStableFunc(d.paths, func(a, b string) int {
		return boolInt(path.Base(b) == name) - boolInt(path.Base(a) == name)
	})
	for _, at := range d.paths {
		s, err := f.Find(at)
		if err != nil || !slices.Equal(s.Shape(), []int{d.size}) {
			continue
		}
		if o, err := f.Lookup(at); err == nil && !strings.HasPrefix(h5format.Text(o, "NAME"), "This is a netCDF dimension but") {
			a, err := readCoordinates(s)
			if err != nil {
				return a, fmt.Errorf("%s: %w", at, err)
			}
			a.Units, a.Calendar = h5format.Text(o, "units"), h5format.Text(o, "calendar")
			return a, nil
		}
	}
	return coordinates.Axis{}, fmt.Errorf("dimension %s has no coordinates; select by position: %w", name, views.ErrShape)
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// readCoordinates reads numbers or strings.
func readCoordinates(s Selection) (a coordinates.Axis, err error) {
	if err := s.CheckSize(); err != nil {
		return a, err
	}
	switch t := s.Array.Type; {
	case s.Texts():
		a.Texts, err = s.Strings()
		a.Texts = append([]string{}, a.Texts...)
	case s.Numbers() && t.IsInt():
		a.Ints, err = storage.Read[int64](s.Array)
	case s.Numbers() && t.IsFloat():
		a.Floats, err = storage.Read[float64](s.Array)
		a.Single = t.Size() <= dtype.Float32.Size()
	default:
		err = fmt.Errorf("coordinates of type %s; want numbers or strings: %w", s.Type(), dtype.ErrType)
	}
	return a, err
}
