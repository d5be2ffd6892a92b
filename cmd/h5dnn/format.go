package main

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/h5dnn/h5dnn/internal/atomicfile"
	"github.com/h5dnn/h5dnn/serialize/npy"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5write"
)

// A format is a way to write one array.
type format struct {
	name, alias string
	// write streams an array of numbers.
	write func(ctx context.Context, w io.Writer, name string, a storage.Array) error
	// save writes to a path instead, for what cannot be streamed.
	save func(ctx context.Context, path, name string, data selection) error
	// cells writes what is no number; nil refuses.
	cells func(w io.Writer, data selection) error
}

var formats = []format{
	{name: "npy", write: writeNPY},
	{name: "npz", write: writeNPZ},
	{name: "csv", write: func(ctx context.Context, w io.Writer, _ string, a storage.Array) error { return writeCSV(ctx, w, a) }, cells: writeCSVTexts},
	{name: "h5", alias: "hdf5", save: saveHDF5},
	{name: "png", write: func(ctx context.Context, w io.Writer, _ string, a storage.Array) error { return writePNG(ctx, w, a) }},
	{name: "raw", alias: "bin", write: writeRaw},
}

func formatNames() []string {
	names := make([]string, len(formats))
	for k, f := range formats {
		names[k] = f.name
	}
	return names
}

// toFile replaces the named file atomically.
func (f *format) toFile(ctx context.Context, path string, data selection) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return f.toDevice(ctx, path, data)
	}
	if f.save != nil {
		return f.save(ctx, path, data.Name, data)
	}
	if err := f.takes(data); err != nil {
		return err
	}
	return atomicfile.Write(path, func(file *os.File) error { return f.stream(ctx, file, data) })
}

// toDevice writes data to something that cannot be replaced, such as a named pipe.
func (f *format) toDevice(ctx context.Context, path string, data selection) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.toPipe(ctx, file, data), file.Close())
}

// toPipe writes data to a stream.
func (f *format) toPipe(ctx context.Context, w io.Writer, data selection) error {
	if isTerminal(w) && f.name != "csv" {
		return fmt.Errorf("%s is binary; add -o FILE or pipe the output", f.name)
	}
	if f.save == nil {
		if err := f.takes(data); err != nil {
			return err
		}
		return f.stream(ctx, w, data)
	}
	folder, err := os.MkdirTemp("", "h5dnn")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	if err := f.save(ctx, folder+"/out", data.Name, data); err != nil {
		return err
	}
	file, err := os.Open(folder + "/out")
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = io.Copy(w, file)
	return err
}

// takes refuses data that this format cannot hold.
func (f *format) takes(data selection) error {
	if !data.Numbers && f.cells == nil {
		return fmt.Errorf("%s holds numbers, and %s has elements of type %s; csv and --json take any type", f.name, data.Name, data.DType)
	}
	return nil
}

func (f *format) stream(ctx context.Context, w io.Writer, data selection) error {
	if data.Numbers {
		return f.write(ctx, w, data.Name, data.Array)
	}
	return f.cells(w, data)
}

func writeCSVTexts(w io.Writer, data selection) error {
	values, err := data.Values(data.View)
	if err != nil {
		return err
	}
	return writeCSVValues(w, data.View.Shape, values)
}

func writeNPY(ctx context.Context, w io.Writer, _ string, a storage.Array) error {
	return npy.Write(w, interruptible(ctx, forNumPy(a)))
}

// writeNPZ writes an archive with one array.
func writeNPZ(ctx context.Context, w io.Writer, name string, a storage.Array) error {
	archive := zip.NewWriter(w)
	entry, err := archive.CreateHeader(&zip.FileHeader{Name: name + ".npy", Method: zip.Store})
	if err != nil {
		return err
	}
	if err := writeNPY(ctx, entry, name, a); err != nil {
		return err
	}
	return archive.Close()
}

// writeRaw writes the elements in row-major order and native byte order.
func writeRaw(ctx context.Context, w io.Writer, _ string, a storage.Array) error {
	for elems, err := range elements(ctx, a, blockBytes) {
		if err != nil {
			return err
		}
		if _, err := w.Write(elems); err != nil {
			return err
		}
	}
	return nil
}

func saveHDF5(ctx context.Context, path, name string, data selection) error {
	if !data.Numbers && !data.Texts {
		return fmt.Errorf("h5 takes numbers and strings here, and %s has elements of type %s; csv and --json take any type", name, data.DType)
	}
	w, err := hdf5write.Create(path, hdf5write.CreateOptions{})
	if err != nil {
		return err
	}
	defer w.Abort() // unless it was closed
	if err := putHDF5(ctx, w, "/"+name, data, hdf5write.Layout{}); err != nil {
		return err
	}
	return w.Close()
}

// putHDF5 writes data as a dataset. Numbers are streamed.
func putHDF5(ctx context.Context, w *hdf5write.Writer, path string, data selection, layout hdf5write.Layout) error {
	if data.Numbers {
		return w.WriteWith(path, interruptible(ctx, data.Array), layout)
	}
	cells, err := data.strings()
	if err != nil {
		return err
	}
	return w.WriteStrings(path, cells, data.View.Shape...)
}
