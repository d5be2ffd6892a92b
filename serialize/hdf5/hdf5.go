// Package hdf5 makes HDF5 files one of the formats of package serialize: arrays are
// datasets, "/" in a name separates groups, and metadata are string attributes of
// the root group.
//
// Datasets of other elements than numbers are entries with Elements. It leaves out links
// and the attributes of groups, but for those of the root that are strings; package
// storage/hdf5 reads them.
package hdf5

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5write"
)

func init() {
	serialize.Register(serialize.Format{
		Name: "hdf5", Extensions: []string{".h5", ".hdf5", ".he5"},
		Meta: true, Attrs: true, Nulls: true, Shares: true, Elements: func(typ string) bool { return typ == "string" }, Match: match, Open: open, SaveFile: save,
		Fits: fits, FitsMeta: fitsMeta,
	})
}

// fits refuses names and shapes that HDF5 does not have.
func fits(e serialize.Entry) error {
	if rank := len(e.Shape()); rank > hdf5.MaxRank {
		return fmt.Errorf("%d axes; HDF5 has at most %d: %w", rank, hdf5.MaxRank, storage.ErrState)
	}
	if e.Name == "" {
		return fmt.Errorf("its name is empty: %w", storage.ErrState)
	}
	return hdf5write.CheckPath("/" + e.Name)
}

// fitsMeta refuses zero bytes in names.
func fitsMeta(meta map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(meta)) {
		if value := meta[key]; key == "" || strings.ContainsRune(key+value, 0) {
			return fmt.Errorf("attribute %q: HDF5 has no zero bytes and no empty names: %w", key, storage.ErrState)
		}
	}
	return nil
}

// match looks for the signature where a superblock may be: at byte 0, or after a
// user block of 512 bytes times a power of two.
func match(r io.ReaderAt, size int64) serialize.Confidence {
	const signature = "\x89HDF\r\n\x1a\n"
	var head [len(signature)]byte
	for at := int64(0); at+int64(len(head)) <= size; at = max(512, 2*at) {
		if _, err := r.ReadAt(head[:], at); err != nil {
			return serialize.NoMatch
		}
		if string(head[:]) == signature {
			return serialize.ContentMatch
		}
	}
	return serialize.NoMatch
}

// A File is an open HDF5 file. [File.HDF5] gives access to what other formats do
// not have, such as groups, links and layouts.
type File struct {
	in       *hdf5.File
	meta     map[string]string
	format   string
	meanings Meanings               // of a convention; nil for HDF5
	prefix   string                 // see Convention
	members  func() map[string]Item // see listMembers; nil for HDF5
	close    func() error
}

func open(in serialize.Input) (serialize.File, error) { return openFile(in) }

func openFile(in serialize.Input) (*File, error) {
	h5, err := hdf5.NewReader(in.ReaderAt, in.Size, hdf5.Options{Name: in.Name, Follow: in.Follow, CacheBytes: in.CacheBytes, Budget: in.Budget, Context: in.Context})
	if err != nil {
		return nil, err
	}
	f := &File{in: h5, format: "hdf5", close: sync.OnceValue(func() error { return errors.Join(h5.Close(), in.Close()) })}
	if f.meta, err = metaOf(h5); err != nil {
		h5.Close()
		return nil, err
	}
	return f, nil
}

// metaOf returns the attributes of the root group that are single strings.
func metaOf(in *hdf5.File) (map[string]string, error) {
	root, err := in.Root()
	if err != nil {
		return nil, err
	}
	attrs, err := root.Attributes()
	meta := map[string]string{}
	for _, a := range attrs {
		if text, err := a.Strings(); err == nil && len(text) == 1 && len(a.Shape) == 0 {
			meta[a.Name] = text[0]
		}
	}
	return meta, err
}

// HDF5 returns the file as package storage/hdf5 opened it.
func (f *File) HDF5() *hdf5.File { return f.in }

// All yields the datasets, those with several hard links once for each. Of a file that
// follows a convention it yields the arrays of that. Datasets without a value are left out.
func (f *File) All() iter.Seq2[serialize.Entry, error] { return f.entries }

// Lookup returns the named dataset. A name that is not there is an error of kind
// fs.ErrNotExist.
func (f *File) Lookup(name string) (serialize.Entry, error) {
	item, err := f.Find("/" + name)
	if err != nil {
		return serialize.Entry{}, err
	}
	item.Meaning, err = f.Meaning(item.Object)
	switch m := item.Meaning; {
	case err == nil && m.Members != nil:
		err = item.ErrMembers()
	case m.Entry == nil && err == nil && item.Kind != hdf5.KindDataset:
		_, err = item.Dataset() // says what it is instead
	}
	if err != nil {
		return serialize.Entry{}, err
	}
	e, ok, err := item.entry(nil)
	if err == nil && !ok {
		d, _ := item.Dataset() // as in entry
		_, err = d.Array()
	}
	return e, err
}

// AxisNames returns the names of the axes of an array, "" for an axis without one: the names of the
// convention of the file, HDF5's labels, or else the names of its dimension scales. Nil if there are
// none.
func (f *File) AxisNames(name string) []string {
	item, err := f.Find("/" + name)
	if err != nil {
		return nil
	}
	if m, err := f.Meaning(item.Object); err == nil && m.Axes != nil {
		return m.Axes
	}
	labels, scales := attribute(item.Object, "DIMENSION_LABELS"), attribute(item.Object, "DIMENSION_LIST")
	names := make([]string, max(len(labels), len(scales)))
	for axis := range names {
		if axis < len(labels) {
			names[axis], _ = labels[axis].(string)
		}
		if names[axis] == "" && axis < len(scales) {
			names[axis] = firstScale(scales[axis])
		}
	}
	if !slices.ContainsFunc(names, func(name string) bool { return name != "" }) {
		return nil
	}
	return names
}

// attribute returns the elements of an attribute; nil if it is not there.
func attribute(o *hdf5.Object, name string) []any {
	a, err := o.Attribute(name)
	if err != nil {
		return nil
	}
	values, _ := a.Values() // of another type they name nothing
	return values
}

// firstScale returns the name of the first dimension scale in a list of references.
func firstScale(list any) string {
	refs, _ := list.([]any)
	for _, ref := range refs {
		if to, ok := ref.(hdf5.Reference); ok && to.Path != "" {
			return path.Base(to.Path)
		}
	}
	return ""
}

// ErrMembers is the error about an item that has members and is no array.
func (i Item) ErrMembers() error {
	example := ""
	if len(i.Meaning.Members) > 0 {
		example = ", as in " + i.Listed + i.Meaning.Members[0].Name
	}
	return fmt.Errorf("%s has %d members of their own; name one%s: %w", i.Listed, len(i.Meaning.Members), example, storage.ErrState)
}

func entryOf(d *hdf5.Dataset, m Meaning) (serialize.Entry, error) {
	e := serialize.Entry{Name: d.Path[1:]}
	var err error
	if !d.DType.Valid() {
		e.Elements = ElementsOf(d)
		e.Attrs, err = attrsOf(d.Object, m)
		return e, err
	}
	if address, ok := d.Address(); ok {
		e.Shared = strconv.FormatUint(address, 16)
	}
	if e.Array, err = d.Array(); err != nil {
		return e, err
	}
	e.Attrs, err = attrsOf(d.Object, m)
	return e, err
}

// ElementsOf returns the elements of a dataset that are not numbers.
func ElementsOf(d *hdf5.Dataset) *serialize.Elements {
	return &serialize.Elements{View: d.View(), Type: TypeName(d.Type), Fields: Fields(d.Type), Values: d.Values}
}

// TypeName returns NumPy's name of a number type, or the kind of another type.
func TypeName(t *hdf5.Type) string {
	if number, _, err := t.DType(); err == nil {
		return number.String()
	}
	switch {
	case t.IsString():
		return "string"
	case t.Class == hdf5.ClassArray:
		return TypeName(t.Base)
	case t.Class == hdf5.ClassInteger || t.Class == hdf5.ClassFloat || t.Class == hdf5.ClassBitfield || t.IsTime():
		return t.NumPy()
	}
	return t.Class.String()
}

// Fields returns the fields of compounds, or nil.
func Fields(t *hdf5.Type) []serialize.Field {
	if t.Class != hdf5.ClassCompound {
		return nil
	}
	fields := make([]serialize.Field, 0, len(t.Members))
	for _, m := range t.Members {
		fields = append(fields, fieldOf(m.Name, m.Type))
	}
	return fields
}

func fieldOf(name string, t *hdf5.Type) serialize.Field {
	f := serialize.Field{Name: name, Type: TypeName(t)}
	for ; t.Class == hdf5.ClassArray; t = t.Base {
		f.Shape = append(f.Shape, t.Dims...)
	}
	switch {
	case t.IsTime(): // whose values are texts
	case t.Class == hdf5.ClassEnum && TypeName(t) != dtype.Bool.String(): // its values are names
	case t.Class == hdf5.ClassVarLen && !t.IsString():
		f.Varies = true
	default:
		var err error
		if f.Number, _, err = t.DType(); err != nil {
			f.Number, f.Fields = dtype.Invalid, Fields(t)
		}
	}
	return f
}

// Meta returns the attributes of the root group that are single strings.
func (f *File) Meta() map[string]string { return maps.Clone(f.meta) }

// Close closes the file.
func (f *File) Close() error { return f.close() }

func save(name string, c serialize.Contents) error {
	format, err := serialize.ByName("hdf5")
	if err != nil {
		return err
	}
	entries, err := format.Collect(c)
	if err != nil {
		return err
	}
	w, err := hdf5write.Create(name, hdf5write.CreateOptions{Space: serialize.ElementBytes(slices.Values(entries))})
	if err != nil {
		return err
	}
	defer w.Abort() // unless it was closed
	for _, key := range slices.Sorted(maps.Keys(c.Meta)) {
		if err := w.SetAttr("/", key, c.Meta[key]); err != nil {
			return err
		}
	}
	ctx := c.Context
	if ctx == nil {
		ctx = context.Background()
	}
	arrays := NewEntryWriter(ctx, w)
	for _, e := range entries {
		if err := arrays.Write(e); err != nil {
			return err
		}
	}
	return w.Close()
}
