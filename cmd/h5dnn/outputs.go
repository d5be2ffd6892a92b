package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/h5dnn/h5dnn/inspect"
	"github.com/h5dnn/h5dnn/storage"
)

// No command writes over a file that it reads, by whatever name. The only exception is
// repack --in-place. Another existing file is replaced with --force only; train --resume
// replaces the run that it continues.

// inputs are the files that a command has opened.
type inputs struct{ files []input }

// An input is a file that a command has opened.
type input struct {
	name   string
	info   fs.FileInfo
	linked func() []fs.FileInfo // the other files that it refers to; nil if there are none
}

type inputsKey struct{}

// withInputs returns a context for a command that has opened nothing.
func withInputs(ctx context.Context) context.Context {
	return context.WithValue(ctx, inputsKey{}, &inputs{})
}

// addInput records that the command of ctx reads the named file, or the files of a folder.
func addInput(ctx context.Context, name string, linked func() []fs.FileInfo) {
	in, ok := ctx.Value(inputsKey{}).(*inputs)
	info, err := os.Stat(name)
	if !ok || err != nil {
		return
	}
	if info.IsDir() {
		linked = func() []fs.FileInfo { return filesBelow(name) }
	}
	in.files = append(in.files, input{name, info, linked})
}

// linkedBy returns the function that lists the files an open file refers to.
func linkedBy(file inspect.File) func() []fs.FileInfo {
	h5, ok := file.(inspect.HDF5)
	if !ok {
		return nil
	}
	return h5.LinkedFiles
}

// filesBelow returns the files in a folder and in those below it.
func filesBelow(folder string) (all []fs.FileInfo) {
	fs.WalkDir(os.DirFS(folder), ".", func(path string, _ fs.DirEntry, _ error) error {
		if info, err := os.Stat(folder + "/" + path); err == nil {
			all = append(all, info)
		}
		return nil
	})
	return all
}

var errInput = errors.New("which is never overwritten")

// check returns an error if the named file is an input, or if an input refers to it.
func (in *inputs) check(name string, info fs.FileInfo) error {
	for _, f := range in.files {
		switch {
		case !os.SameFile(f.info, info):
		case f.name == name:
			return fmt.Errorf("%s is the input, %w; name another file", name, errInput)
		default:
			return fmt.Errorf("%s is the input %s, %w; name another file", name, f.name, errInput)
		}
	}
	for _, f := range in.files {
		if f.linked == nil {
			continue
		}
		for _, other := range f.linked() {
			if os.SameFile(other, info) {
				return fmt.Errorf("%s is part of the input %s, %w; name another file", name, f.name, errInput)
			}
		}
	}
	return nil
}

// isFolder is the error for an output that is a folder.
func isFolder(name string) error {
	return fmt.Errorf("%s is a folder; name a file in it, such as %s", name, filepath.Join(name, "out.h5"))
}

// forceFlag allows to replace an existing file.
func forceFlag() cli.Flag {
	return &cli.BoolFlag{Name: "force", Usage: "replace an existing output file"}
}

// checkOutput returns an error if the command may not write the named file. It is called
// when all inputs are open. Pipes and devices are written to, not replaced.
func checkOutput(c *cli.Context, name string) error {
	if name == "-" {
		return errors.New("- is no name of a file here; name a file, or ./- for a file called that")
	}
	return checkReplaced(c, name, c.Bool("force"))
}

var errShards = errors.New("shards are several files, which cannot be written to -; name their index, such as model.safetensors.index.json")

// checkWritten is checkOutput for commands that replace files and write to standard output, as -.
func checkWritten(c *cli.Context, name, format string) error {
	switch {
	case name == "-" && format == "sharded":
		return errShards
	case name == "-" && isTerminal(c.App.Writer):
		return fmt.Errorf("%s is binary; name a file or pipe the output", format)
	case name == "-":
		return nil
	}
	if info, err := os.Stat(name); err == nil && !info.IsDir() && !info.Mode().IsRegular() {
		kind := "device"
		if info.Mode()&fs.ModeNamedPipe != 0 {
			kind = "pipe"
		}
		return fmt.Errorf("%s is a %s; write to - with > %s", name, kind, name)
	}
	return checkOutput(c, name)
}

// checkReplaced is checkOutput where other files than inputs may be replaced or not.
func checkReplaced(c *cli.Context, name string, replace bool) error {
	if storage.IsURL(name) {
		return fmt.Errorf("%s: files at URLs are read and not written; name a file, and upload it", name)
	}
	info, err := os.Stat(name)
	if err == nil && info.IsDir() {
		return isFolder(name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return checkFolder(name)
	}
	if err == nil && !info.Mode().IsRegular() {
		return nil
	}
	if err != nil {
		return err
	}
	if in, ok := c.Context.Value(inputsKey{}).(*inputs); ok {
		if err := in.check(name, info); err != nil {
			return err
		}
	}
	if !replace {
		return fmt.Errorf("%s exists; use --force to replace it, or name another file", name)
	}
	return nil
}

// checkFolder returns an error if the folder of a new file does not exist.
func checkFolder(name string) error {
	folder := filepath.Dir(name)
	if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: there is no folder %s; make it, or name another file", name, folder)
	}
	return nil
}
