package inspect

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/h5dnn/h5dnn/arrayfmt"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize"
	h5format "github.com/h5dnn/h5dnn/serialize/hdf5"
	"github.com/h5dnn/h5dnn/storage/hdf5"
)

// An HDF5 is an HDF5 file, whose objects may have meanings by a convention.
type HDF5 struct {
	*hdf5.File
	convention *h5format.File
	detected   serialize.Format
}

// Format implements File: hdf5, or the name of a convention.
func (f HDF5) Format() string { return f.convention.Format() }

// Close implements File. It closes what the file is read from, too.
func (f HDF5) Close() error { return f.convention.Close() }

// Detected implements File.
func (f HDF5) Detected() serialize.Format { return f.detected }

// Plain returns the file without its convention: the objects as they are stored.
func (f HDF5) Plain() HDF5 { return HDF5{f.File, f.convention.Plain(), f.detected} }

// Meant reports whether objects at and below a path have meanings that HDF5 does not know.
func (f HDF5) Meant(path string) bool {
	start, err := f.convention.Find(path)
	if err != nil {
		return false
	}
	for item := range f.convention.Items(start) {
		if !item.Meaning.Plain() {
			return true
		}
	}
	return false
}

// Entries implements File.
func (f HDF5) Entries(path string) (iter.Seq[Object], error) {
	if Clean(path) == "/" {
		if root, err := f.File.Root(); err != nil {
			return func(yield func(Object) bool) { yield(describeObject(root, err)) }, nil
		}
	}
	start, err := f.convention.Find(path)
	if err != nil {
		return nil, err
	}
	return func(yield func(Object) bool) {
		linked := map[uint64]string{} // the first path of datasets with several hard links
		for item, err := range f.convention.Items(start) {
			o := describeItem(item, err)
			o.Path = item.Listed
			if address, several := f.sharedAddress(item.Object); several && o.Data != nil && o.Data.Numbers {
				if o.Data.Shares = linked[address]; o.Data.Shares == "" {
					linked[address] = o.Path
				}
			}
			if !yield(o) {
				return
			}
		}
	}, nil
}

// sharedAddress returns the address of an object of the file with several hard links.
func (f HDF5) sharedAddress(o *hdf5.Object) (address uint64, several bool) {
	if o == nil || o.File() != f.File || o.Links() < 2 {
		return 0, false
	}
	return o.Address()
}

// describeItem describes an object as its meaning says.
func describeItem(i h5format.Item, err error) Object {
	if i.Meaning.Entry == nil {
		o := describeObject(i.Object, err)
		o.Attrs = slices.DeleteFunc(o.Attrs, func(a Attr) bool { return i.Meaning.Hides(a.Name) })
		if o.Data != nil {
			o.Data.Axes = i.Meaning.Axes
		}
		return o
	}
	o := describeObject(i.Object, nil)
	o.Attrs = slices.DeleteFunc(o.Attrs, func(a Attr) bool { return i.Meaning.Hides(a.Name) })
	if o.Kind = "dataset"; errors.Is(err, dtype.ErrType) {
		o.Unread = err
	} else {
		o.Err = err
	}
	data := Describe(*i.Meaning.Entry)
	if stored := o.Data; stored != nil {
		data.Layout, data.Chunks, data.Filters = stored.Layout, stored.Chunks, stored.Filters
		data.MaxShape = stored.MaxShape
		if i.Meaning.Reversed {
			data.MaxShape, data.Chunks = backwards(data.MaxShape), backwards(data.Chunks)
		}
		if len(data.MaxShape) != len(data.Shape) {
			data.MaxShape = data.Shape
		}
	}
	if i.Meaning.Stored != nil && data.Size >= 0 { // strings have no size
		if n, err := i.Meaning.Stored(); err == nil {
			data.Stored = n
		}
	}
	if data.Strides = nil; o.Data == nil {
		data.Layout = "group"
	}
	data.Axes, data.Encoding, o.Data = i.Meaning.Axes, i.Meaning.Encoding, data
	return o
}

func describeObject(o *hdf5.Object, err error) Object {
	e := Object{Path: o.Path, Kind: string(o.Kind), Target: o.Target, Other: o.TargetFile, Err: err}
	if err != nil && o.Kind == hdf5.KindUnknown {
		return e
	}
	e.Attrs, err = describeAttributes(o)
	e.Err = errors.Join(e.Err, err)
	switch o.Kind {
	case hdf5.KindDataset:
		d, err := o.Dataset()
		if err != nil {
			e.Err = err
			return e
		}
		e.Data, e.Fields = describeDataset(d), membersOf(d.Type)
	case hdf5.KindDatatype:
		t, err := o.Datatype()
		if err != nil {
			e.Err = err
			return e
		}
		e.Type, e.Fields = t.String(), membersOf(t)
	}
	return e
}

// membersOf returns the members of a compound, and of the compounds in arrays or sequences.
func membersOf(t *hdf5.Type) (list []string) {
	for t.Base != nil && t.Class != hdf5.ClassCompound {
		t = t.Base
	}
	for _, m := range t.Members {
		list = append(list, m.Name+": "+m.Type.String())
	}
	return list
}

// describeAttributes describes the attributes of an object.
func describeAttributes(o *hdf5.Object) (list []Attr, err error) {
	attributes, err := o.Attributes()
	for _, a := range attributes {
		list = append(list, describeAttribute(a))
	}
	return list, err
}

func describeAttribute(a hdf5.Attribute) Attr {
	return Attr{Name: a.Name, Shape: a.Shape, DType: h5format.TypeName(a.Type), Get: a.Value, Keep: func() (any, error) { return keepAttribute(a) }}
}

// keepAttribute returns an attribute's value as hdf5write.Writer.SetAttr takes it.
func keepAttribute(a hdf5.Attribute) (any, error) {
	if a.Shape == nil {
		return nil, nil
	}
	if _, _, err := a.Type.DType(); err != nil && !(a.Type.IsString() && len(a.Shape) <= 1) {
		return nil, fmt.Errorf("its type is %v", h5format.TypeName(a.Type))
	}
	return a.Plain()
}

// floatOf returns the type of floats, or of the parts of complex numbers.
func floatOf(t *hdf5.Type) hdf5.Type {
	switch {
	case t.Class == hdf5.ClassComplex:
		return *t.Base
	case t.Class == hdf5.ClassCompound && len(t.Members) > 0:
		return *t.Members[0].Type
	}
	return *t
}

func describeDataset(d *hdf5.Dataset) *Dataset {
	out := &Dataset{
		Shape: d.Shape, MaxShape: d.MaxShape, Layout: d.Layout, Chunks: d.Chunks,
		DType: h5format.TypeName(d.Type), NumPy: d.Type.NumPy(), External: len(d.External),
		Size: -1, Stored: -1,
	}
	if _, dims, err := d.Type.DType(); err == nil {
		out.Numbers, out.Element = true, dims
	}
	base := d.Type
	for base.Class == hdf5.ClassArray {
		base = base.Base
	}
	names := base.Class == hdf5.ClassEnum && out.DType != "bool"
	if names || !out.Numbers && !d.Type.IsString() {
		out.Detail = d.Type.String()
	}
	out.Names, out.Values = base.EnumMembers()
	out.Text, out.Big = textKind(base), bigEndian(d.Type)
	for _, s := range d.VirtualSources() {
		out.Sources = append(out.Sources, s.File+":/"+strings.Trim(s.Dataset, "/"))
	}
	if float := floatOf(base); out.Numbers && float.Size > dtype.Float64.Size() {
		out.Changes = append(out.Changes, fmt.Sprintf("rounded to %s from %d bits", out.DType, 8*float.Size))
	}
	if out.Numbers && out.Element != nil {
		out.Changes = append(out.Changes, "element shape "+arrayfmt.Shape(out.Element)+" becomes axes")
	}
	for _, f := range d.Filters {
		out.Filters = append(out.Filters, Filter{f.ID, f.String(), f.Params})
	}
	if n, err := d.Len(); err == nil {
		out.Size = n * d.Type.Size
	}
	if n, err := d.StoredSize(); err == nil {
		out.Stored = n
	}
	return out
}

// textKind says how strings are stored.
func textKind(t *hdf5.Type) string {
	charset := "ascii"
	if t.Text.UTF8 {
		charset = "utf-8"
	}
	switch {
	case !t.IsString():
		return ""
	case t.Class == hdf5.ClassVarLen:
		return "variable, " + charset
	}
	return fmt.Sprintf("%d bytes, %s", t.Size, charset)
}

// bigEndian reports whether numbers of more than a byte are stored with the highest byte
// first.
func bigEndian(t *hdf5.Type) bool {
	for _, m := range t.Members {
		if bigEndian(m.Type) {
			return true
		}
	}
	if t.Base != nil && bigEndian(t.Base) {
		return true
	}
	return t.BigEndian && t.Size > 1
}

// Find implements File.
func (f HDF5) Find(path string) (Selection, error) {
	if Clean(path) == "/" {
		only, ok := f.onlyDataset()
		if !ok {
			return Selection{}, fmt.Errorf("%s has several objects; name one, as in %s:%s", f.Name(), f.Name(), f.anyDataset("/"))
		}
		path = only
	}
	o, err := f.convention.Find(path)
	if err != nil {
		return Selection{}, err
	}
	return f.find(o)
}

// find returns the data of an object.
func (f HDF5) find(o h5format.Item) (Selection, error) {
	switch m, err := f.convention.Meaning(o.Object); {
	case m.Members != nil && err == nil:
		o.Meaning = m
		return Selection{}, o.ErrMembers()
	case m.Entry != nil || err != nil:
		return f.selectEntry(o, m, err)
	}
	if o.Kind == hdf5.KindGroup {
		return Selection{}, fmt.Errorf("%s: %s is a group; name a dataset, as in %s:%s", f.Name(), o.Path, f.Name(), f.anyDataset(o.Path))
	}
	d, err := o.Dataset()
	if err != nil {
		return Selection{}, err
	}
	return f.selectAll(o.Listed, d)
}

// Stored returns the dataset that is listed under a path, as it is stored: without the meaning
// that a convention gives its elements.
func (f HDF5) Stored(path string) (*hdf5.Dataset, error) {
	i, err := f.convention.Find(path)
	if err != nil {
		return nil, err
	}
	return i.Dataset()
}

// onlyDataset returns the path of the dataset of a file that has one and no more.
func (f HDF5) onlyDataset() (string, bool) {
	var found []string
	for o := range f.Walk() {
		if o.Kind == hdf5.KindDataset {
			found = append(found, o.Path)
		}
		if len(found) > 1 {
			break
		}
	}
	return strings.Join(found, ""), len(found) == 1
}

// anyDataset returns the path of the first dataset below path.
func (f HDF5) anyDataset(path string) string {
	for o := range f.Walk() {
		if o.Kind == hdf5.KindDataset && strings.HasPrefix(o.Path, strings.TrimSuffix(path, "/")+"/") {
			return o.Path
		}
	}
	return "/path"
}

func backwards(shape []int) []int {
	shape = slices.Clone(shape)
	slices.Reverse(shape)
	return shape
}

// selectEntry returns the array that a convention says an object is.
func (f HDF5) selectEntry(o h5format.Item, m h5format.Meaning, err error) (Selection, error) {
	if err != nil {
		return Selection{}, err
	}
	s := Selection{Entry: *m.Entry, File: f.Name()}
	s.Name = base(o.Listed)
	if m.Stored != nil {
		s.Budget, s.Stored, s.Size = f.Budget(), m.Stored, valueSize
	}
	return s, nil
}

// base returns the last part of a path.
func base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// valueSize is about how many bytes an element that is not a number takes in memory if it
// was never written, whatever its size in the file.
const valueSize = 64

func (f HDF5) selectAll(listed string, d *hdf5.Dataset) (Selection, error) {
	s := Selection{File: f.Name(), Budget: f.Budget(), Stored: d.Backing, Size: min(d.Type.Size, valueSize)}
	s.Name = base(listed)
	if d.Shape == nil {
		return s, fmt.Errorf("%s: %s has no value (null dataspace)", f.Name(), d.Path)
	}
	if _, _, err := d.Type.DType(); err != nil {
		s.Elements = h5format.ElementsOf(d)
		if d.Type.Class == hdf5.ClassVarLen && !s.Texts() {
			s.Rows = d.Sequences
		}
		return s, nil
	}
	a, err := d.Array()
	s.Array = a
	if address, several := f.sharedAddress(d.Object); several {
		s.Shared = strconv.FormatUint(address, 16)
	}
	s.Names, s.NameValues = d.Type.EnumMembers()
	return s, err
}
