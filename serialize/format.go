package serialize

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// ErrFormat is the kind of error, for errors.Is, of a format that is not known.
var ErrFormat = errors.New("unknown format")

// A Format is one way of storing named arrays.
type Format struct {
	Name       string
	Extensions []string // such as ".npy"; the first is the usual one
	// Plain formats cannot be told by their content. A file that no Match recognizes is
	// opened as one if it has its extension.
	Plain bool
	// Refines is the format whose files are opened as this one if they have its extension, though
	// nothing in them says so: hdf5 for .nc.
	Refines string
	// Folder is the file by which a folder of this format is opened; "" for formats whose
	// files are one. See FileOf.
	Folder string
	// The fields below say what a file can hold. Save and SaveFile refuse anything else.
	Types  []dtype.Type // of elements; all if nil
	Single bool         // exactly one array
	Table  bool         // columns: arrays of one axis and the same length; or one array
	Meta   bool         // metadata
	Attrs  bool         // attributes of arrays; see Attr
	Nulls  bool         // attributes without a value, which are nil
	Titles bool         // titles of fields: see Field.Title
	Shares bool         // entries of the same elements, stored once: see Entry.Shared
	Views  bool         // strides: shared elements are stored once also if views of them differ
	// Aliases is set if shared elements have the name of their first entry alone, for
	// programs that do not know that the other names are in the metadata.
	Aliases bool
	// Attr reports whether a format without attributes keeps one of an array all the same,
	// such as that with NumPy's type. Nil for none.
	Attr func(e Entry, name string) bool
	// Elements reports whether elements of a type that is not a number can be stored.
	// Nil for a format of numbers.
	Elements func(typ string) bool
	// Fits returns why an array of a type that can be stored cannot be, such as its name
	// or its number of axes. Nil if all can.
	Fits func(e Entry) error
	// FitsValues returns a function that is called with each value of elements that are not numbers,
	// and returns why it cannot be stored. Save returns the same errors. Nil if all can.
	FitsValues func(e *Elements) func(value any) error
	// FitsMeta returns why metadata cannot be stored, such as a name or their size. Nil
	// if all can.
	FitsMeta func(meta map[string]string) error
	// Match reports how well the content of a file fits this format, of which size bytes may
	// be the beginning. Only one with all that identifies the format fits. Nil for a format
	// that is only written.
	Match func(r io.ReaderAt, size int64) Confidence
	// Open opens a file of this format. Errors do not name the file. Nil for a
	// format that is only written.
	Open func(in Input) (File, error)
	// Salvage opens a file that Open refuses because it was cut short or damaged.
	// Arrays that are lost come with errors. Nil for a format that cannot.
	Salvage func(in Input) (File, error)
	// Save writes to w from the first byte to the last. Contents that the format cannot hold
	// are an error, which Checked, Collect, Only and Columns return. Nil for a format that
	// cannot be written in order.
	Save func(w io.Writer, c Contents) error
	// SaveFile is Save for formats that need a file they can seek in. It replaces
	// the named file atomically. Used instead of Save if it is not nil.
	SaveFile func(name string, c Contents) error
}

// Confidence is how well a file fits a format. Several formats share a container:
// .npz, .pt and .keras files are all zip archives, and HDF5 files hold data sets,
// Keras models and runs.
type Confidence int

const (
	NoMatch        Confidence = iota
	ContainerMatch            // the container fits, such as zip; its content does not say more
	ContentMatch              // the content fits
	ExactMatch                // the file names the format
)

// String returns the name of the constant, such as ContentMatch.
func (c Confidence) String() string {
	names := [...]string{"NoMatch", "ContainerMatch", "ContentMatch", "ExactMatch"}
	if c < 0 || int(c) >= len(names) {
		return fmt.Sprintf("Confidence(%d)", int(c))
	}
	return names[c]
}

// An Input is an opened file, or part of one, that a format is to read.
type Input struct {
	io.ReaderAt
	Size int64
	Name string // of the file; of a URL without secrets
	Options
	file   *os.File
	remote storage.Remote
	folder string // of the file, as [storage.Folder] returns it
}

// File returns the file on disk, or nil if in is a part of one or in memory. A format may
// map it. Closing a [File] closes it; a failing Open leaves it open.
func (in Input) File() *os.File { return in.file }

// Folder returns the folder in which the other files are that in refers to, as [storage.Folder] does, or
// "" if in is a part of a file or in memory.
func (in Input) Folder() string { return in.folder }

// ReadFull reads len(b) bytes at an offset. An input that ends before them is an error of
// kind io.ErrUnexpectedEOF.
func (in Input) ReadFull(b []byte, at int64) error {
	n, err := in.ReadAt(b, at)
	if n == len(b) {
		return nil
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// ReadText returns n bytes at an offset, which are in the file, without a copy of them.
func (in Input) ReadText(at, n int64) (string, error) {
	var b strings.Builder
	b.Grow(int(n))
	m, err := io.Copy(&b, io.NewSectionReader(in, at, n))
	if err == nil && m < n {
		err = io.ErrUnexpectedEOF
	}
	return b.String(), err
}

// ArrayName returns the name of the only array of a file whose format has no names: that of
// the file, without folder and extension.
func (in Input) ArrayName() string {
	name := in.Name
	if in.remote != nil {
		name, _, _ = strings.Cut(name, "?")
	}
	return strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))
}

// Close closes the file on disk, or the remote one. It does nothing if in is a part of a file or in memory,
// which the caller of OpenReader closes.
func (in Input) Close() error {
	switch {
	case in.remote != nil:
		return in.remote.Close()
	case in.file != nil:
		return in.file.Close()
	}
	return nil
}

var formats []Format

// Register makes a format available. Its package calls it from init. It panics if
// the name is taken.
func Register(f Format) {
	if _, err := ByName(f.Name); err == nil {
		panic("serialize: format " + f.Name + " registered twice")
	}
	formats = append(formats, f)
}

// Formats lists the names of all formats.
func Formats() []string {
	return named(func(Format) bool { return true })
}

// Writable lists the names of the formats that are written.
func Writable() []string { return named(Format.Writable) }

// Writable reports whether files of the format can be written.
func (f Format) Writable() bool { return f.Save != nil || f.SaveFile != nil }

// named lists the names of some formats.
func named(wanted func(Format) bool) (names []string) {
	for _, f := range formats {
		if wanted(f) {
			names = append(names, f.Name)
		}
	}
	slices.Sort(names)
	return names
}

// FileOf returns the file by which a folder of some format is opened: config.json in one
// that Keras saved. It returns other names as they are.
func FileOf(name string) string {
	if info, err := os.Stat(name); err != nil || !info.IsDir() {
		return name
	}
	for _, f := range formats {
		if f.Folder == "" {
			continue
		}
		inside := filepath.Join(name, f.Folder)
		if info, err := os.Stat(inside); err == nil && info.Mode().IsRegular() && Fits(inside, f.Name) {
			return inside
		}
	}
	return name
}

// Check returns an error if e does not fit the format.
func (f Format) Check(e Entry) error {
	kept, lost := f.KeepAttrs(e)
	switch {
	case lost > 0:
		names := slices.DeleteFunc(slices.Sorted(maps.Keys(e.Attrs)), func(name string) bool { _, ok := kept[name]; return ok })
		return fmt.Errorf("%s, and the entry has %s; delete them from Attrs to write it without them: %w", f.NoAttrs(), strings.Join(names, ", "), storage.ErrState)
	case e.Elements != nil && (f.Elements == nil || !f.Elements(e.Elements.Type)):
		return fmt.Errorf("%s files cannot store elements of type %s: %w", f.Name, e.Elements.Type, dtype.ErrType)
	case e.Elements == nil && !f.Holds(e.Array.Type) && e.Array.Type.IsFloat():
		return fmt.Errorf("%s files cannot store %v; convert it to float32 first: %w", f.Name, e.Array.Type, dtype.ErrType)
	case e.Elements == nil && !f.Holds(e.Array.Type):
		return fmt.Errorf("%s files cannot store %v: %w", f.Name, e.Array.Type, dtype.ErrType)
	case f.Fits != nil:
		return f.Fits(e)
	}
	return nil
}

// CheckValues reads elements that are not numbers, and returns as misfit why the first value that
// the format cannot store cannot be.
func (f Format) CheckValues(ctx context.Context, e *Elements) (misfit, err error) {
	if e == nil || f.FitsValues == nil {
		return nil, nil
	}
	return e.Check(ctx, f.FitsValues(e))
}

// KeepAttrs returns the attributes of an entry that the format can store, and the number of
// the others.
func (f Format) KeepAttrs(e Entry) (kept map[string]any, lost int) {
	loses := func(name string, value any) bool {
		if f.Attrs {
			return value == nil && !f.Nulls
		}
		return f.Attr == nil || !f.Attr(e, name)
	}
	for name, value := range e.Attrs {
		if loses(name, value) {
			kept = maps.Clone(e.Attrs)
			maps.DeleteFunc(kept, loses)
			return kept, len(e.Attrs) - len(kept)
		}
	}
	return e.Attrs, 0
}

// NoAttrs says which attributes the format has no place for.
func (f Format) NoAttrs() string {
	if f.Attrs {
		return f.Name + " has no attributes without a value"
	}
	return f.Name + " has no attributes"
}

// KeepMeta returns the metadata that the format can store, and why it cannot store the
// others, by key.
func (f Format) KeepMeta(meta map[string]string) (kept map[string]string, lost map[string]error) {
	kept, lost = maps.Clone(meta), map[string]error{}
	lose := func(key string, err error) {
		delete(kept, key)
		lost[key] = err
	}
	for key, value := range meta {
		if !f.Meta {
			lose(key, fmt.Errorf("%s has no metadata", f.Name))
		} else if f.FitsMeta != nil {
			if err := f.FitsMeta(map[string]string{key: value}); err != nil {
				lose(key, err)
			}
		}
	}
	if len(kept) > 0 && f.FitsMeta != nil {
		if err := f.FitsMeta(kept); err != nil {
			for key := range maps.Clone(kept) {
				lose(key, err)
			}
		}
	}
	return kept, lost
}

// checkMeta returns an error if metadata do not fit the format.
func (f Format) checkMeta(meta map[string]string) error {
	switch {
	case len(meta) == 0:
		return nil
	case !f.Meta:
		return fmt.Errorf("%s files have no metadata: %w", f.Name, storage.ErrState)
	case f.FitsMeta != nil:
		return f.FitsMeta(meta)
	}
	return nil
}

// Only returns the entry of contents that hold exactly one, and metadata that fit the format.
func (f Format) Only(c Contents) (only Entry, err error) {
	if err := f.checkMeta(c.Meta); err != nil {
		return only, err
	}
	n := 0
	for e, err := range c.Entries {
		if err != nil {
			return only, e.Wrap(err)
		}
		if n++; n == 1 {
			only = e
		}
	}
	if n != 1 {
		return only, fmt.Errorf("%s files hold exactly one array; use another format, such as npz: %w", f.Name, storage.ErrState)
	}
	return only, f.Check(only)
}

// Columns returns the entries of contents that are one array, or the columns of a table:
// arrays of one axis and the same length.
func (f Format) Columns(c Contents) ([]Entry, error) {
	var entries []Entry
	for e, err := range f.Checked(c) {
		if err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	if len(entries) == 0 {
		return nil, fmt.Errorf("no array to write: %w", storage.ErrState)
	}
	first := entries[0].Shape()
	for _, e := range entries {
		shape := e.Shape()
		if len(entries) > 1 && len(shape) != 1 {
			return nil, fmt.Errorf("%s files hold columns, of one axis each, but %q has shape %v; name one array: %w", f.Name, e.Name, shape, views.ErrShape)
		}
		if len(entries) > 1 && shape[0] != first[0] {
			return nil, fmt.Errorf("%s files hold columns of one length, but %q has shape %v and %q %v; name one array: %w", f.Name, entries[0].Name, first, e.Name, shape, views.ErrShape)
		}
	}
	return entries, nil
}

// Holds reports whether arrays of element type t can be stored.
func (f Format) Holds(t dtype.Type) bool { return f.Types == nil || slices.Contains(f.Types, t) }

// ByName returns the format called name, or with an extension called so, such as h5.
func ByName(name string) (Format, error) {
	for _, f := range formats {
		if f.Name == name || slices.Contains(f.Extensions, "."+strings.ToLower(name)) {
			return f, nil
		}
	}
	return Format{}, fmt.Errorf("format %q; known are %s%s: %w", name, strings.Join(Formats(), ", "), importHint(name), ErrFormat)
}

// hints are the packages whose import registers usual formats, by name and by extension.
var hints = map[string]string{
	"h5": "hdf5", "hdf5": "hdf5", "npy": "npy", "npz": "npy", "pt": "torch", "pth": "torch", "torch": "torch", "keras": "kerasfile",
	"safetensors": "safetensors", "h5dn": "native", "native": "native", "h5ck": "h5ck", "onnx": "onnx", "gguf": "gguf", "index": "tfbundle",
	"h5ad": "anndata", "nc": "netcdf", "mat": "matlab", "csv": "csv", "parquet": "parquet", "arrow": "arrow", "feather": "arrow", "png": "png",
}

// importHint names the package whose import registers a format that is not known, by its name or extension: programs see
// formats whose packages they import.
func importHint(name string) string {
	folder, ok := hints[strings.ToLower(name)]
	if !ok {
		return ""
	}
	return fmt.Sprintf(`; import _ "github.com/h5dnn/h5dnn/serialize/%s", or serialize/all for every format`, folder)
}

// extensions lists the usual extension of every format that is written.
func extensions() []string {
	var all []string
	for _, f := range formats {
		if f.Writable() && len(f.Extensions) > 0 {
			all = append(all, f.Extensions[0])
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// ByExtension returns the format that the extension of name stands for: the longest that
// name ends in, such as ".index.json".
func ByExtension(name string) (Format, error) {
	base := strings.ToLower(filepath.Base(name))
	var found Format
	longest := ""
	for _, f := range formats {
		for _, ext := range f.Extensions {
			if strings.HasSuffix(base, ext) && len(ext) > len(longest) {
				found, longest = f, ext
			}
		}
	}
	if longest == "" {
		known := strings.Join(extensions(), ", ")
		if filepath.Ext(base) == "" {
			return Format{}, fmt.Errorf("%s: the name has no extension, which says the format; known are %s: %w", name, known, ErrFormat)
		}
		return Format{}, fmt.Errorf("%s: no format has the extension %q; known are %s%s: %w", name, filepath.Ext(base), known, importHint(filepath.Ext(base)[1:]), ErrFormat)
	}
	return found, nil
}

// saver returns the named format or, if that is "", the one of the file's extension.
func saver(name, format string) (Format, error) {
	f, err := ByName(format)
	if format == "" {
		f, err = ByExtension(name)
	}
	if err == nil && !f.Writable() {
		err = fmt.Errorf("%s files are read and not written; formats that are written are %s: %w", f.Name, strings.Join(Writable(), ", "), ErrFormat)
		if name != "" {
			err = fmt.Errorf("save %s: %w", name, err)
		}
	}
	return f, err
}
