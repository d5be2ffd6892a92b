// Package tensors opens tensors in files, and saves them, in one call each: HDF5 and every other format that
// this module knows, by content when reading and by extension when writing, URLs among what is read.
//
//	x, err := tensors.Open("data.h5", "train/x")      // reads nothing yet
//	mean := x.Mean(0, tensor.KeepDims)                // reads x block by block
//	err = tensors.Save("centred.npy", x.Sub(mean))    // computes and writes block by block
//
// # Lifetimes
//
// [Open] and [OpenFile] return tensors that are in the file and cost nothing until they are used: see
// [tensor.Tensor.IsLazy]. They keep their file open, and need not be closed: a file that nothing refers to any
// more is closed by the garbage collector. After [File.Close], and when the file was cut short, using its
// tensors is an error. [Load] and [LoadAll] read tensors into memory.
//
// Formats belong to package serialize, what HDF5 has beside arrays to package storage/hdf5. Programs that
// need few formats import these packages instead, and are smaller.
package tensors

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/serialize"
	_ "github.com/h5dnn/h5dnn/serialize/all" // every format
	"github.com/h5dnn/h5dnn/serialize/torch"
	"github.com/h5dnn/h5dnn/storage"
	_ "github.com/h5dnn/h5dnn/storage/remote" // URLs
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// A File is an open file of named tensors.
type File struct {
	file serialize.File
	name string
}

// OpenFile opens the named file, or the one at a URL. It reads the names and shapes of its tensors.
func OpenFile(name string, options ...serialize.Options) (*File, error) {
	f, err := serialize.Open(name, options...)
	if err != nil {
		return nil, err
	}
	return &File{f, storage.WithoutSecrets(name)}, nil
}

// Open returns the tensor of that name in a file, without reading its elements: see [File.Get]. The empty name is
// that of the only tensor.
func Open(file, name string, options ...serialize.Options) (*tensor.Tensor, error) {
	f, err := OpenFile(file, options...)
	if err != nil {
		return nil, err
	}
	x, err := f.Get(name)
	if err != nil {
		f.Close()
		return nil, err
	}
	return x, nil
}

// Load reads the only tensor of a file into memory, such as of an .npy file or of torch.save(x, name).
func Load(file string, options ...serialize.Options) (*tensor.Tensor, error) {
	f, err := OpenFile(file, options...)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	x, err := f.Get("")
	if err != nil {
		return nil, err
	}
	var memory *tensor.Tensor
	if err := tensor.Try(func() { memory = x.CPU() }); err != nil {
		return nil, err
	}
	return memory, nil
}

// LoadAll reads the tensors of a file into memory. Strings and other objects are left out.
func LoadAll(file string, options ...serialize.Options) (map[string]*tensor.Tensor, error) {
	f, err := OpenFile(file, options...)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	list, err := serialize.Load(f.file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.name, err)
	}
	all := map[string]*tensor.Tensor{}
	for _, e := range list {
		if e.Numbers() {
			if all[e.Name], err = f.tensorOf(e, e.Array); err != nil {
				return nil, fmt.Errorf("%s: %s: %w", f.name, e.Name, err)
			}
		}
	}
	return all, nil
}

// Save writes x to a file of its own, in the format of the extension. The file is replaced when it is
// complete. Formats of named arrays call x after the file, without folder and extension; torch.load of a .pt
// file returns a tensor.
func Save(file string, x *tensor.Tensor) error { return SaveContext(context.Background(), file, x) }

// SaveContext is [Save] that stops when ctx is done, and leaves the file as it was.
func SaveContext(ctx context.Context, file string, x *tensor.Tensor) error {
	name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	f, err := serialize.ByExtension(file)
	if err != nil {
		return err
	}
	var meta map[string]string
	if f.Name == "torch" {
		meta = torch.Bare(name)
	}
	return save(ctx, file, map[string]*tensor.Tensor{name: x}, meta)
}

// SaveAll writes tensors by their names to a file, in the format of the extension, ordered by name. Metadata,
// which may be nil, belong to the file as a whole. See [Save].
func SaveAll(file string, all map[string]*tensor.Tensor, metadata map[string]string) error {
	return save(context.Background(), file, all, metadata)
}

func save(ctx context.Context, file string, all map[string]*tensor.Tensor, metadata map[string]string) error {
	format, err := serialize.ByExtension(file)
	if err != nil {
		return err
	}
	entries := func(yield func(serialize.Entry, error) bool) {
		for _, name := range slices.Sorted(maps.Keys(all)) {
			e, err := entryOf(name, all[name], format)
			if !yield(e, cmp.Or(ctx.Err(), err)) {
				return
			}
		}
	}
	return serialize.Save(file, "", serialize.Contents{Entries: entries, Meta: metadata, Context: ctx})
}

// entryOf returns x where formats read it, in host memory or in a file, with its format in attributes.
func entryOf(name string, x *tensor.Tensor, format serialize.Format) (serialize.Entry, error) {
	e := serialize.Entry{Name: strings.TrimPrefix(name, "/")}
	if x == nil {
		return e, fmt.Errorf("no tensor: %w", storage.ErrState)
	}
	if e.Attrs = x.Attributes(); e.Attrs != nil && !format.Attrs {
		return e, fmt.Errorf("%s files have no attributes for names of axes, scales and zero points; save x.Unnamed() or x.Dequantize(): %w", format.Name, storage.ErrState)
	}
	err := tensor.Try(func() {
		if !x.IsLazy() {
			x = x.CPU()
		}
	})
	e.Array = x.Array()
	return e, err
}

// Get returns a tensor of f, in the file: nothing is read. Names may begin with a slash, and end with an index
// expression, such as "train/x[::2, 0]". The empty name stands for the only tensor. Axes have the names of HDF5's
// labels and dimension scales, and integers with attributes scale and zero_point are quantized: see
// [tensor.WithAttributes].
func (f *File) Get(name string) (*tensor.Tensor, error) {
	x, err := f.lookup(strings.TrimPrefix(name, "/"))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.name, err)
	}
	return x, nil
}

func (f *File) lookup(name string) (*tensor.Tensor, error) {
	if name == "" {
		names, err := f.Keys()
		if err != nil {
			return nil, err
		}
		if len(names) != 1 {
			return nil, fmt.Errorf("has %d tensors; name one of %q: %w", len(names), names[:min(len(names), 10)], storage.ErrState)
		}
		name = names[0]
	}
	x, err := f.find(name)
	short, expr := views.CutIndex(name)
	if err == nil || expr == "" {
		return x, err
	}
	if x, err = f.find(short); err != nil {
		return nil, err
	}
	if x.Attributes() == nil { // lists select, too
		a, err := x.Array().Index(expr)
		return tensor.FromArray(a), err
	}
	err = tensor.Try(func() { x = x.Index(expr) })
	return x, err
}

func (f *File) find(name string) (*tensor.Tensor, error) {
	a, err := serialize.Find(f.file, name)
	if err != nil {
		return nil, err
	}
	e, err := serialize.Lookup(f.file, name)
	if err != nil {
		return nil, err
	}
	return f.tensorOf(e, a)
}

// tensorOf returns the tensor of an entry, whose elements are a.
func (f *File) tensorOf(e serialize.Entry, a storage.Array) (*tensor.Tensor, error) {
	attrs := e.Attrs
	if named, ok := f.file.(interface{ AxisNames(name string) []string }); ok {
		if names := named.AxisNames(e.Name); names != nil {
			attrs = maps.Clone(attrs)
			if attrs == nil {
				attrs = map[string]any{}
			}
			attrs["DIMENSION_LABELS"] = names
		}
	}
	return tensor.WithAttributes(a, attrs)
}

// Keys returns the names of the tensors of f, in the order of the file. Strings and other objects are
// left out.
func (f *File) Keys() ([]string, error) {
	var names []string
	for e, err := range f.file.All() {
		switch {
		case err != nil && e.Name == "":
			return nil, fmt.Errorf("%s: %w", f.name, err)
		case e.Numbers(): // or an array that cannot be read, as Get says
			names = append(names, e.Name)
		}
	}
	return names, nil
}

// Attrs returns the attributes of a tensor: strings, []string and storage.Array by name. Nil if there are none.
func (f *File) Attrs(name string) (map[string]any, error) {
	e, err := serialize.Lookup(f.file, strings.TrimPrefix(name, "/"))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.name, err)
	}
	return e.Attrs, nil
}

// Metadata returns the metadata of the file as a whole.
func (f *File) Metadata() map[string]string { return f.file.Meta() }

// Close closes the file, before the garbage collector does. Using its tensors afterwards is an error of kind
// storage.ErrState.
func (f *File) Close() error { return f.file.Close() }
