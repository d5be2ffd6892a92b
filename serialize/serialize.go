// Package serialize reads and writes files of named arrays.
//
// Each format is a subpackage that registers itself when imported:
//
//	import _ "github.com/h5dnn/h5dnn/serialize/npy"
//
// Package serialize/all registers every format. [Open] finds the format of a file by its content,
// [OpenReader] opens one in memory or inside another file, [Save] replaces a file atomically, and
// [Verify] compares the checksums of one. [Register] adds a format of your own, which package
// serialize/serializetest examines.
//
// The package does not know what the arrays are for.
package serialize

import (
	"context"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"strings"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/atomicfile"
	"github.com/h5dnn/h5dnn/internal/blocks"
	"github.com/h5dnn/h5dnn/loss"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A File is an open file. Its arrays stay in the file: slicing one costs nothing,
// and storage.Array.To reads only the elements that are selected.
type File interface {
	// All yields the arrays in file order. An entry that cannot be read comes with
	// an error, which does not name it; the iteration may go on.
	All() iter.Seq2[Entry, error]
	// Meta returns the metadata of the file as a whole. The caller may change it.
	Meta() map[string]string
	// Close closes the file. Later reads of its arrays are errors of kind
	// storage.ErrState.
	Close() error
}

// An Omitter is a File that holds more than arrays and metadata, such as the classes of Python
// objects.
type Omitter interface {
	File
	// Omitted returns what the arrays and the metadata do not have of it. Paths are names after a
	// slash.
	Omitted() loss.List
}

// An Entry is one array of a file.
type Entry struct {
	Name string // parts are separated by "/"
	// Renamed is the name in the file if another entry has that name; "" otherwise.
	Renamed string
	Array   storage.Array
	// Elements are what is stored instead of Array if they are not numbers: strings, or
	// what cannot be read and comes with an error, see [Unsupported].
	Elements *Elements
	// Attrs are the attributes of the array: a string, []string or storage.Array
	// by name. Nil if there are none.
	Attrs map[string]any
	// Shared identifies the stored elements: the arrays of entries of one file with
	// the same nonempty Shared are views of the same elements, such as tied weights or
	// two links to one dataset. It may be "" if no other entry has them. Positions in their
	// storages are the same elements, even if the storages are not equal. A format that cannot
	// store that writes them twice, as formats without Views do with views that differ.
	Shared string
}

// Wrap returns the error that came with e, with its name. An error without one is that of
// the file.
func (e Entry) Wrap(err error) error {
	if err == nil || e.Name == "" {
		return err
	}
	return fmt.Errorf("%q: %w", e.Name, err)
}

// Shape returns the shape of the array, or of the elements.
func (e Entry) Shape() []int { return e.View().Shape }

// View returns the view of the array, or of the elements.
func (e Entry) View() views.View {
	if e.Elements != nil {
		return e.Elements.View
	}
	return e.Array.View
}

// Numbers reports whether the elements are numbers, in Array.
func (e Entry) Numbers() bool { return e.Elements == nil }

// Texts reports whether the elements are strings.
func (e Entry) Texts() bool { return e.Elements != nil && e.Elements.Type == "string" }

// Type returns the name of the type of the elements.
func (e Entry) Type() string {
	if e.Elements != nil {
		return e.Elements.Type
	}
	return e.Array.Type.String()
}

// Elements are array elements that are not numbers, such as strings.
type Elements struct {
	View views.View
	Type string // "string", or another name of a type
	// Missing is set if some strings are missing in the file, which empty ones stand for.
	Missing bool
	// Fields are those of compounds. Nil if Type is another or they are not known.
	Fields []Field
	// Values returns the elements that v selects as Go values.
	Values func(v views.View) ([]any, error)
}

// Check calls check with each value, in order, until it returns an error. That is the misfit, with the
// index of the value; err is one of reading.
func (e *Elements) Check(ctx context.Context, check func(value any) error) (misfit, err error) {
	const valuesAtOnce = 1 << 16 // about
	n := 0
	for part, err := range blocks.Views(ctx, e.View, valuesAtOnce) {
		if err != nil {
			return nil, err
		}
		values, err := e.Values(part)
		if err != nil {
			return nil, err
		}
		for _, value := range values {
			if err := check(value); err != nil {
				return fmt.Errorf("element %v: %w", blocks.Index(n, e.View.Shape), err), nil
			}
			n++
		}
	}
	return nil, nil
}

// A Field is a field of compounds: a value, or an array of values.
type Field struct {
	Name   string
	Title  string     // another name, which NumPy has beside it; "" for none
	Type   string     // as Elements.Type
	Number dtype.Type // Invalid if it is no number
	Descr  string     // NumPy's type of times, such as <M8[s]; "" for others
	Shape  []int      // nil for one value
	Varies bool       // it is a list of any length
	Fields []Field    // if it is a compound
}

// Contents are what Save writes.
type Contents struct {
	// Entries may be collected before the first element is read, by formats whose files
	// begin with a list of arrays. Save returns the first error. Nil is no entry.
	Entries iter.Seq2[Entry, error]
	Meta    map[string]string // may be nil
	// Context ends writing when it is done, with its error; nil never does.
	Context context.Context
}

// withEntries returns c with Entries that are not nil.
func (c Contents) withEntries() Contents {
	if c.Entries == nil {
		c.Entries = Entries()
	}
	return c
}

// Err returns the error of the context, if there is one.
func (c Contents) Err() error {
	if c.Context == nil {
		return nil
	}
	return c.Context.Err()
}

// writer returns w with writes that fail once the context is done.
func (c Contents) writer(w io.Writer) io.Writer {
	if c.Context == nil {
		return w
	}
	return interruptedWriter{w, c}
}

type interruptedWriter struct {
	io.Writer
	contents Contents
}

func (w interruptedWriter) Write(b []byte) (int, error) {
	if err := w.contents.Err(); err != nil {
		return 0, err
	}
	return w.Writer.Write(b)
}

// CheckSpace returns an error if w is a file and its disk has no room for size bytes. Formats
// that know how large a file will be call it before they write.
func CheckSpace(w io.Writer, size int64) error {
	if f, ok := w.(interface{ CheckSpace(size int64) error }); ok {
		return f.CheckSpace(size)
	}
	return nil
}

// ElementBytes returns the number of bytes that the numbers of entries take in a file that has
// those of a shared storage once.
func ElementBytes(entries iter.Seq[Entry]) int64 {
	var total int64
	shared := map[string]int64{}
	for e := range entries {
		if e.Elements != nil {
			continue
		}
		n := int64(e.Array.Len()) * int64(e.Array.Type.Size())
		if e.Shared != "" {
			before := shared[e.Shared]
			shared[e.Shared] = max(n, before)
			n = max(0, n-before)
		}
		if total += n; total < 0 { // no disk has so much
			return math.MaxInt64
		}
	}
	return total
}

func (w interruptedWriter) CheckSpace(size int64) error { return CheckSpace(w.Writer, size) }

// Entries returns entries as Contents takes them.
func Entries(list ...Entry) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for _, e := range list {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// Arrays returns arrays by name as Contents takes them.
func Arrays(list iter.Seq2[string, storage.Array]) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for name, a := range list {
			if !yield(Entry{Name: name, Array: a}, nil) {
				return
			}
		}
	}
}

// Options configure Open. The zero value is right for files from strangers.
type Options struct {
	// Format is the name of the format, instead of the one that matches best.
	Format string
	// Choose returns the name of the format to open a file in that matches one best and fits others, too:
	// files of Keras are HDF5 files. Nil is the one that matches best.
	Choose func(found Format, fits func(format string) bool) string
	// Follow is a folder whose files may be opened where this one refers to them,
	// such as by external links in HDF5. Without it no other file is opened.
	Follow string
	// Opened is called with the name of each other file that is opened, such as a shard,
	// before Open returns. It may be nil.
	Opened func(name string)
	// Budget limits memory and elements for which the file stores little. Nil is one
	// with the default limit.
	Budget *storage.Budget
	// Void is the type of elements whose type a file does not state, only their size:
	// dtype.BFloat16 for elements of 2 bytes in an .npy file. Without it, such elements
	// are an error.
	Void dtype.Type
	// CacheBytes limits the memory in which formats of chunks keep decoded ones. 0 is their
	// default; a negative number keeps none, so that each read takes as long as the first.
	CacheBytes int
	// Context ends long reads when it is done; nil never does. Reads return its error.
	Context context.Context
}

// Err returns the error of the context, if there is one.
func (o Options) Err() error {
	if o.Context == nil {
		return nil
	}
	return o.Context.Err()
}

// NoteOpened calls Opened, if it is set. Formats of several files call it.
func (o Options) NoteOpened(name string) {
	if o.Opened != nil {
		o.Opened(name)
	}
}

// Open opens the named file, a folder by the file that FileOf returns, or the file at a URL if
// package storage/remote is linked. It chooses the format by content.
func Open(name string, options ...Options) (File, error) {
	file, _, err := OpenDetected(name, options...)
	return file, err
}

// OpenDetected is Open, and returns the format that matches best, or the one of Options.Format.
func OpenDetected(name string, options ...Options) (File, Format, error) {
	in, err := openInput(name, options)
	if err != nil {
		return nil, Format{}, err
	}
	file, format, err := open(in)
	if err != nil {
		in.Close()
		return nil, Format{}, err
	}
	return file, format, nil
}

// Salvage opens a file that was cut short or damaged, of the named format or, if that is "", the one
// that its content or else its extension says. Arrays that are lost come with errors. See
// Format.Salvage.
func Salvage(name, format string, options ...Options) (File, error) {
	f, err := damagedFormat(name, format)
	if err != nil {
		return nil, err
	}
	if f.Salvage == nil {
		return nil, fmt.Errorf("%s: %s files cannot be repaired; files of %s can: %w", name, f.Name, strings.Join(named(func(f Format) bool { return f.Salvage != nil }), ", "), storage.ErrState)
	}
	in, err := openInput(name, options)
	if err != nil {
		return nil, err
	}
	file, err := f.Salvage(in)
	if err != nil {
		in.Close()
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return file, nil
}

// damagedFormat returns the named format or, if that is "", the one of a file whose content may not
// show it any more.
func damagedFormat(file, name string) (Format, error) {
	if name != "" {
		return ByName(name)
	}
	f, err := FormatOf(file)
	if other, unknown := ByExtension(file); unknown == nil && (err != nil || f.Salvage == nil && other.Salvage != nil) {
		return other, nil
	}
	return f, err
}

// openInput opens a file as an Input with the last of the options.
func openInput(name string, options []Options) (Input, error) {
	name = FileOf(name)
	in := Input{Name: storage.WithoutSecrets(name), folder: storage.Folder(name)}
	for _, o := range options {
		in.Options = o
	}
	if storage.IsURL(name) {
		f, err := storage.OpenRemote(in.Context, name)
		if err != nil {
			return Input{}, err
		}
		in.ReaderAt, in.Size, in.remote = f, f.Size(), f
		return in, nil
	}
	f, err := storage.OpenFile(name)
	if err != nil {
		return Input{}, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return Input{}, err
	}
	in.ReaderAt, in.Size, in.file = f, info.Size(), f
	return in, nil
}

// FormatOf returns the format of the named file, by content.
func FormatOf(name string) (Format, error) {
	in, err := openInput(name, nil)
	if err != nil {
		return Format{}, err
	}
	defer in.Close()
	format, err := detect(in, in.Size, in.Name)
	if err != nil {
		return Format{}, fmt.Errorf("%s: %w", in.Name, err)
	}
	return format, nil
}

// Fits reports whether the content of the named file fits a format, even if another one
// fits better: files of Keras are HDF5 files.
func Fits(name, format string) bool {
	in, err := openInput(name, nil)
	if err != nil {
		return false
	}
	defer in.Close()
	return in.fits(format)
}

// OpenReader opens size bytes of r, such as a file in memory or inside an archive.
// The name is for messages, and for formats that name their array after the file.
// The caller may close r after the File, and not before.
func OpenReader(r io.ReaderAt, size int64, name string, options ...Options) (File, error) {
	in := Input{ReaderAt: r, Size: size, Name: name}
	for _, o := range options {
		in.Options = o
	}
	file, _, err := open(in)
	return file, err
}

// open opens in, and returns the format of formatOf.
func open(in Input) (File, Format, error) {
	found, format, err := formatOf(in)
	if err != nil {
		return nil, Format{}, err
	}
	file, err := format.Open(in)
	if err != nil && !strings.HasPrefix(err.Error(), in.Name+": ") { // as errors of HDF5 do
		err = fmt.Errorf("%s: %w", in.Name, err)
	}
	if err != nil {
		return nil, Format{}, err
	}
	return file, found, nil
}

// Save writes the named file in the named format or, if that is "", in the one of
// its extension. The file is replaced atomically.
func Save(name, format string, c Contents) error {
	f, err := saver(name, format)
	if err != nil {
		return err
	}
	c = c.withEntries()
	if f.SaveFile != nil {
		err = f.SaveFile(name, c)
	} else {
		err = atomicfile.Write(name, func(file *atomicfile.File) error { return f.Save(c.writer(file), c) })
	}
	if err != nil {
		return fmt.Errorf("save %s: %w", name, err)
	}
	return nil
}

// Write writes to w in the named format. A format that cannot be written in order
// goes through a temporary file.
func Write(w io.Writer, format string, c Contents) error {
	f, err := saver("", format)
	if err != nil {
		return err
	}
	c = c.withEntries()
	if f.SaveFile == nil {
		return f.Save(c.writer(w), c)
	}
	if file, ok := w.(*atomicfile.File); ok {
		return f.SaveFile(file.Name(), c)
	}
	folder, remove, err := atomicfile.TempFolder()
	if err != nil {
		return err
	}
	defer remove()
	name := folder + "/file" + f.Extensions[0]
	if err := f.SaveFile(name, c); err != nil {
		return err
	}
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = io.Copy(w, file)
	return err
}

// Collect returns the entries of f, or the first error.
func Collect(f File) ([]Entry, error) {
	var list []Entry
	for e, err := range f.All() {
		if err != nil {
			return nil, e.Wrap(err)
		}
		list = append(list, e)
	}
	return list, nil
}

// Find returns the named array of f. A name that is not there is an error of kind
// fs.ErrNotExist, an array of other elements than numbers one of kind dtype.ErrType.
func Find(f File, name string) (storage.Array, error) {
	e, err := Lookup(f, name)
	if err == nil && e.Elements != nil {
		err = fmt.Errorf("%s has elements of type %s, which are not numbers: %w", name, e.Elements.Type, dtype.ErrType)
	}
	return e.Array, err
}
