package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5write"
)

// uploaded is how many rows go to a GPU at a time, and inFlight how many such
// batches are on their way.
const (
	uploaded = 32
	inFlight = 3
)

// gpuUpload loads a file of the given number of rows, of 1 MiB each, into pinned memory,
// whence a GPU copies them.
func gpuUpload(rows int) func(folders) (task, error) {
	return func(in folders) (task, error) {
		f, err := bytesFile(in, rows)
		if err != nil {
			return task{}, err
		}
		up, err := newUpload(f, in)
		if err != nil {
			return task{}, errors.Join(err, f.Close())
		}
		return task{once: up.once, done: up.close}, nil
	}
}

// An upload is a file on its way to a GPU.
type upload struct {
	file   *hdf5.File
	loader *dataset.Loader
	to     storage.Storage
	stream storage.Stream
	events [inFlight]storage.Event
}

func newUpload(f *hdf5.File, in folders) (*upload, error) {
	d, err := openGPU(in)
	if err != nil {
		return nil, err
	}
	x, err := array(f, "x")
	if err != nil {
		return nil, err
	}
	set, err := dataset.FromArrays(dataset.NamedArray{Name: "x", Array: x})
	if err != nil {
		return nil, err
	}
	u := &upload{file: f}
	if u.loader, err = dataset.NewLoader(set, dataset.Options{BatchSize: uploaded, Shuffle: dataset.None, Alloc: d.AllocPinned, Lifetime: inFlight}); err != nil {
		return nil, err
	}
	if u.to, err = d.Alloc(uploaded * x.Shape[1]); err == nil {
		err = d.Sync() // the memory is there for the other queue
	}
	if err == nil {
		u.stream, err = d.OpenStream()
	}
	for i := range u.events {
		if err == nil {
			u.events[i], err = d.OpenEvent(false)
		}
	}
	return u, err
}

func (u *upload) once() error {
	next := 0
	for b, err := range u.loader.Epoch(context.Background(), 0, 0) {
		if err != nil {
			return err
		}
		bytes, m := b.Fields[0], u.events[next%inFlight]
		next++
		for _, step := range []func() error{
			m.Wait,
			func() error { return u.stream.Upload(u.to, 0, bytes.Data.(storage.Host), bytes.Len()) },
			func() error { return u.stream.Record(m) },
		} {
			if err := step(); err != nil {
				return err
			}
		}
	}
	return errors.Join(u.events[0].Wait(), u.events[1].Wait(), u.events[2].Wait())
}

func (u *upload) close() {
	for _, m := range u.events {
		m.Close()
	}
	u.stream.Close()
	u.file.Close()
	os.Remove(u.file.Name())
}

// readThrough reads the same file with as many threads as a GPU's batches are
// read with, each a batch at a time into memory of its own, and no more.
func readThrough(rows int) func(folders) (task, error) {
	return func(in folders) (task, error) {
		f, err := bytesFile(in, rows)
		if err != nil {
			return task{}, err
		}
		f.Close()
		file, err := os.Open(f.Name())
		if err != nil {
			return task{}, err
		}
		room := make([][]byte, runtime.GOMAXPROCS(0))
		for i := range room {
			room[i] = make([]byte, uploaded*in.sizes().row)
		}
		once := func() error {
			failed := make([]error, len(room))
			var all sync.WaitGroup
			for i, b := range room {
				all.Go(func() {
					for at := i * len(b); at < rows*in.sizes().row && failed[i] == nil; at += len(room) * len(b) {
						_, failed[i] = file.ReadAt(b[:min(len(b), rows*in.sizes().row-at)], int64(at))
					}
				})
			}
			all.Wait()
			return errors.Join(failed...)
		}
		return task{once: once, done: func() { file.Close() }}, nil
	}
}

// bytesFile returns a contiguous file of rows of bytes, which it makes.
func bytesFile(in folders, rows int) (*hdf5.File, error) {
	if in.small {
		rows = smallUploadRows
	}
	name, row := filepath.Join(in.made, fmt.Sprintf("upload%d.h5", rows)), in.sizes().row
	if err := os.MkdirAll(in.made, 0o777); err != nil {
		return nil, err
	}
	switch { // the machine may lack libhdf5
	case rows == uploadRows:
		return fromTemplate(name, uploadTemplate)
	case in.small:
		return fromTemplate(name, smallTemplate)
	}
	w, err := hdf5write.Create(name, hdf5write.CreateOptions{NoSync: true})
	if err != nil {
		return nil, err
	}
	defer w.Abort()
	d, err := w.CreateDataset("/x", dtype.Uint8, []int{rows, row}, hdf5write.Layout{})
	if err != nil {
		return nil, err
	}
	block := make([]uint8, 4*row)
	for i := range block {
		block[i] = uint8(i * 31 >> 3)
	}
	for first := 0; first < rows; first += 4 {
		if err := d.WriteAt([]int{first, 0}, storage.From(block, 4, row)); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return hdf5.Open(name)
}
