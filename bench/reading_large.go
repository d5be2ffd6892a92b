package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/storage/hdf5"
)

// largeEpoch loads epochs of a file larger than the memory a loader takes.
func largeEpoch(name string, state func(path string) error) func(folders) (task, error) {
	return func(in folders) (task, error) {
		path := filepath.Join(in.made, name)
		f, err := hdf5.Open(path)
		if err != nil {
			return task{}, err
		}
		x, err := array(f, "images")
		if err != nil {
			return task{}, err
		}
		d, err := dataset.FromArrays(dataset.NamedArray{Name: "x", Array: x})
		if err != nil {
			return task{}, err
		}
		once, err := epochs(d)
		return task{before: func() error { return state(path) }, once: once, done: closing(f)}, err
	}
}

// removing takes the file away in the end: no other row reads it.
func removing(name string, prepare func(folders) (task, error)) func(folders) (task, error) {
	return func(in folders) (task, error) {
		t, err := prepare(in)
		done := t.done
		t.done = func() {
			done()
			os.Remove(filepath.Join(in.made, name))
		}
		return t, err
	}
}

// sequential reads a file from its first byte to its last, as cat does.
func sequential(name string, state func(path string) error) func(folders) (task, error) {
	return func(in folders) (task, error) {
		path := filepath.Join(in.made, name)
		return task{before: func() error { return state(path) }, once: func() error { return readAll(path) }}, nil
	}
}

func readAll(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	for buffer := make([]byte, 128<<10); err == nil; {
		_, err = f.Read(buffer)
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// warm leaves in the page cache what the turn before read: all of the file.
func warm(string) error { return nil }
