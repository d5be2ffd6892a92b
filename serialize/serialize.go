// Package serialize reads and writes files of named arrays.
//
// Each format is a subpackage that registers itself when imported:
//
//	import _ "github.com/h5dnn/h5dnn/serialize/npy"
//
// It knows what a file of named arrays means, and how to replace one safely.
// What the arrays are for belongs to those who read them.
package serialize

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/storage"
)

// ErrFormat is the kind of error, for errors.Is, of a format that is not known.
var ErrFormat = errors.New("unknown format")

// A File is an open file. Its arrays stay in the file: slicing one costs
// nothing, and storage.Array.To reads just the elements that are left.
type File interface {
	All() iter.Seq2[string, storage.Array] // in file order
	Meta() map[string]string               // what the file says besides; the caller's to keep
	// Close makes later reads of the file's arrays errors of kind storage.ErrState.
	Close() error
}

// Contents are what a file is made of.
type Contents struct {
	Arrays iter.Seq2[string, storage.Array]
	Meta   map[string]string // may be nil
}

// A Format is one way of storing named arrays.
type Format struct {
	Name       string
	Extensions []string // such as ".npy"; the first is the usual one
	// Match reports whether r starts like this format.
	Match func(r io.ReaderAt) bool
	// Open reads the named file, which f is, and closes f with it, or on failure.
	// Errors do not name the file.
	Open func(name string, f *os.File) (File, error)
	// Save writes the named file. Until all is written, what was there stays.
	// What the format cannot hold is an error. Errors do not
	// name the file.
	Save func(name string, c Contents) error
}

var formats []Format

// Register makes a format known. Its package calls it from init.
func Register(f Format) {
	if _, err := ByName(f.Name); err == nil {
		panic("serialize: format " + f.Name + " registered twice")
	}
	formats = append(formats, f)
}

// Formats lists the names of all formats.
func Formats() []string {
	names := make([]string, len(formats))
	for i, f := range formats {
		names[i] = f.Name
	}
	slices.Sort(names)
	return names
}

// ByName returns the format called name.
func ByName(name string) (Format, error) {
	for _, f := range formats {
		if f.Name == name {
			return f, nil
		}
	}
	return Format{}, fmt.Errorf("format %q; known are %v: %w", name, Formats(), ErrFormat)
}

// ByExtension returns the format that files named so are in.
func ByExtension(name string) (Format, error) {
	ext := strings.ToLower(filepath.Ext(name))
	for _, f := range formats {
		if slices.Contains(f.Extensions, ext) {
			return f, nil
		}
	}
	return Format{}, fmt.Errorf("%s: no format has the extension %q; known are %v: %w", name, ext, Formats(), ErrFormat)
}

// Open opens the named file in whichever format it is, by what it holds.
func Open(name string) (File, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, fmt.Errorf("%s: not a regular file: %w", name, errors.Join(err, ErrFormat))
	}
	for _, format := range formats {
		if format.Match(f) {
			file, err := format.Open(name, f)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			return file, nil
		}
	}
	f.Close()
	return nil, fmt.Errorf("%s: in none of %v: %w", name, Formats(), ErrFormat)
}

// Save writes the named file in the named format or, if that is "", the one its
// extension tells. Until all is written, what was there stays.
func Save(name, format string, c Contents) error {
	f, err := ByName(format)
	if format == "" {
		f, err = ByExtension(name)
	}
	if err != nil {
		return err
	}
	if err := f.Save(name, c); err != nil {
		return fmt.Errorf("save %s: %w", name, err)
	}
	return nil
}

// Find returns the named array of f.
func Find(f File, name string) (storage.Array, error) {
	var names []string
	for have, a := range f.All() {
		if have == name {
			return a, nil
		}
		if names = append(names, have); len(names) == 10 {
			names[9] = "…"
		}
	}
	return storage.Array{}, fmt.Errorf("no array %q; there are %q: %w", name, names[:min(len(names), 10)], storage.ErrState)
}
