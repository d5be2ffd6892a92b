package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

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

// contentsOf returns entries as the contents of a file of format f.
func contentsOf(ctx context.Context, f *serialize.Format, entries []serialize.Entry) serialize.Contents {
	if f.Name == "csv" && len(entries) == 1 {
		entries[0].Name = "" // elements alone, without a header
	}
	return serialize.Contents{Entries: serialize.Entries(entries...), Context: ctx}
}

// toOutput writes arrays to the output of a command.
func toOutput(c *cli.Context, f *serialize.Format, entries []serialize.Entry) error {
	if out := c.String("output"); namesFile(out) {
		return toFile(c.Context, f, out, entries)
	}
	return toPipe(c.Context, f, c.App.Writer, entries)
}

// toFile replaces the named file atomically, or writes to a named pipe or device.
func toFile(ctx context.Context, f *serialize.Format, path string, entries []serialize.Entry) error {
	if info, err := os.Stat(path); err != nil || info.Mode().IsRegular() || info.IsDir() {
		return serialize.Save(path, f.Name, contentsOf(ctx, f, entries))
	}
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(toPipe(ctx, f, file, entries), file.Close())
}

// toPipe writes arrays to a stream.
func toPipe(ctx context.Context, f *serialize.Format, w io.Writer, entries []serialize.Entry) error {
	if f.Name == "sharded" {
		return errShards
	}
	if isTerminal(w) && f.Name != "csv" {
		return fmt.Errorf("%s is binary; add -o FILE or pipe the output", f.Name)
	}
	return serialize.Write(w, f.Name, contentsOf(ctx, f, entries))
}
