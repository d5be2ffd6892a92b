package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"github.com/h5dnn/h5dnn/convert"
	"github.com/h5dnn/h5dnn/inspect"
	"github.com/h5dnn/h5dnn/internal/blocks"
	"github.com/h5dnn/h5dnn/serialize"
	_ "github.com/h5dnn/h5dnn/serialize/all"
	"github.com/h5dnn/h5dnn/spell"
)

// chosenFormat returns the format that the flags select, or nil to print.
func chosenFormat(output, name string) (*serialize.Format, error) {
	switch {
	case name == "" && output == "-":
		return nil, fmt.Errorf("-o - needs --format, one of %s", writableFormats())
	case name == "" && output == "":
		return nil, nil
	case name == "" && filepath.Ext(output) == "":
		if info, err := os.Stat(output); err == nil && info.IsDir() {
			return nil, isFolder(output)
		}
		return nil, fmt.Errorf("%s: its extension names no format; add --format, one of %s", output, writableFormats())
	case name == "":
		name = strings.TrimPrefix(filepath.Ext(output), ".")
		if f, err := serialize.ByExtension(output); err == nil {
			name = f.Name
		}
	}
	f, err := writableFormat(strings.ToLower(name))
	return &f, err
}

// writableFormat returns a format to write, by its name.
func writableFormat(name string) (serialize.Format, error) {
	f, err := serialize.ByName(name)
	switch {
	case err != nil:
		return f, fmt.Errorf("unknown format %q%s; known are %s", name, spell.Hint(name, serialize.Writable()), writableFormats())
	case !f.Writable():
		return f, fmt.Errorf("%s files are read and not written; formats that are written are %s", f.Name, writableFormats())
	}
	return f, nil
}

// writableFormats lists the formats that are written.
func writableFormats() string { return strings.Join(serialize.Writable(), ", ") }

// contentsOf returns arrays as the contents of a file of format f.
func contentsOf(ctx context.Context, f *serialize.Format, arrays []inspect.Selection) serialize.Contents {
	var entries iter.Seq2[serialize.Entry, error] = func(yield func(serialize.Entry, error) bool) {
		for _, data := range arrays {
			e := entryOf(ctx, f, data)
			if f.Name == "csv" && len(arrays) == 1 {
				e.Name = "" // elements alone, without a header
			}
			if !yield(e, nil) {
				return
			}
		}
	}
	return serialize.Contents{Entries: entries, Context: ctx}
}

func entryOf(ctx context.Context, f *serialize.Format, data inspect.Selection) serialize.Entry {
	e := data.Entry
	if !e.Numbers() {
		return e
	}
	if e.Shared = ""; !f.Holds(e.Array.Type) {
		e.Array = convert.ForNumPy(e.Array)
	}
	e.Array = blocks.WithContext(ctx, e.Array)
	return e
}

// checkType refuses arrays that the format cannot hold.
func checkType(f *serialize.Format, arrays ...inspect.Selection) error {
	for _, data := range arrays {
		if !data.Numbers() && (f.Elements == nil || !f.Elements(data.Type())) {
			return fmt.Errorf("%s files cannot store %s, which has elements of type %s; csv and --json take any type", f.Name, data.Name, data.Type())
		}
	}
	return nil
}

// toFile replaces the named file atomically, or writes to a named pipe or device.
func toFile(ctx context.Context, f *serialize.Format, path string, arrays ...inspect.Selection) error {
	if err := checkType(f, arrays...); err != nil {
		return err
	}
	if info, err := os.Stat(path); err != nil || info.Mode().IsRegular() || info.IsDir() {
		return serialize.Save(path, f.Name, contentsOf(ctx, f, arrays))
	}
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(toPipe(ctx, f, file, arrays...), file.Close())
}

// toPipe writes arrays to a stream.
func toPipe(ctx context.Context, f *serialize.Format, w io.Writer, arrays ...inspect.Selection) error {
	if err := checkType(f, arrays...); err != nil {
		return err
	}
	if f.Name == "sharded" {
		return errShards
	}
	if isTerminal(w) && f.Name != "csv" {
		return fmt.Errorf("%s is binary; add -o FILE or pipe the output", f.Name)
	}
	return serialize.Write(w, f.Name, contentsOf(ctx, f, arrays))
}
