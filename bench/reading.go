package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
)

// gzipped and contiguous are the two files that hold MNIST.
func gzipped(in folders) string    { return filepath.Join(in.data, "mnist.h5") }
func contiguous(in folders) string { return filepath.Join(in.made, "contiguous.h5") }

const batchSize = 128

// images opens a file with MNIST in it.
func images(name string) (*hdf5.File, storage.Array, error) {
	f, err := hdf5.Open(name)
	if err != nil {
		return nil, storage.Array{}, err
	}
	x, err := array(f, "train/images")
	return f, x, err
}

// samples returns the images and labels of a file.
func samples(f *hdf5.File) (dataset.Dataset, error) {
	x, err := array(f, "train/images")
	if err != nil {
		return nil, err
	}
	y, err := array(f, "train/labels")
	if err != nil {
		return nil, err
	}
	return dataset.FromArrays(dataset.NamedArray{Name: "x", Array: x}, dataset.NamedArray{Name: "y", Array: y, Role: dataset.Target})
}

// whole reads all images into new memory.
func whole(in folders) (task, error) {
	f, x, err := images(gzipped(in))
	once := func() error {
		_, err := x.To(storage.CPU)
		return err
	}
	return task{once: once, done: closing(f)}, err
}

// decode decodes every chunk once, into memory that is there.
func decode(in folders) (task, error) {
	f, x, err := images(gzipped(in))
	if err != nil {
		return task{}, err
	}
	room, err := storage.Empty(x.Type, x.Shape...)
	return task{once: func() error { return x.CopyTo(room) }, done: closing(f)}, err
}

func strided(in folders) (task, error) {
	f, x, err := images(contiguous(in))
	if err != nil {
		return task{}, err
	}
	part, err := x.Index("[:, 7:21:2, ::2]")
	once := func() error {
		_, err := part.To(storage.CPU)
		return err
	}
	return task{once: once, done: closing(f)}, err
}

// firstEpoch opens the file and loads one epoch, to which nothing is at hand.
func firstEpoch(in folders) (task, error) {
	once := func() error {
		t, err := keptEpochs(gzipped)(in)
		if err != nil {
			return err
		}
		defer t.finish()
		return t.once()
	}
	return task{once: once}, nil
}

// keptEpochs loads epochs, the next each time, as nothing but a loader does.
func keptEpochs(name func(folders) string) func(folders) (task, error) {
	return func(in folders) (task, error) {
		f, err := hdf5.Open(name(in))
		if err != nil {
			return task{}, err
		}
		d, err := samples(f)
		if err != nil {
			return task{}, err
		}
		once, err := epochs(d)
		return task{once: once, done: closing(f)}, err
	}
}

// epochs returns what loads the next epoch of d.
func epochs(d dataset.Dataset) (once func() error, err error) {
	return epochsOf(d, dataset.Options{BatchSize: batchSize})
}

// epochsOf is epochs with other options.
func epochsOf(d dataset.Dataset, o dataset.Options) (once func() error, err error) {
	l, err := dataset.NewLoader(d, o)
	if err != nil {
		return nil, err
	}
	epoch := 0
	return func() error {
		epoch++
		for _, err := range l.Epoch(context.Background(), epoch, 0) {
			if err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// gather is an epoch written out over slices in memory, its order drawn beforehand.
func gather(in folders) (task, error) {
	f, x, err := images(contiguous(in))
	if err != nil {
		return task{}, err
	}
	defer f.Close()
	pixels, err := storage.Read[uint8](x)
	if err != nil {
		return task{}, err
	}
	n, size := x.Shape[0], x.Len()/x.Shape[0]
	order, labels := rand.New(rand.NewPCG(1, 2)).Perm(n), make([]uint8, n)
	bx, by := make([]uint8, batchSize*size), make([]uint8, batchSize)
	return task{once: func() error {
		for at := 0; at < n; at += batchSize {
			for k, row := range order[at:min(at+batchSize, n)] {
				copy(bx[k*size:(k+1)*size], pixels[row*size:])
				by[k] = labels[row]
			}
		}
		return nil
	}}, nil
}

// indexChunks opens a file of a million chunks and finds all of them.
func indexChunks(name string) func(folders) (task, error) {
	return func(in folders) (task, error) {
		path := filepath.Join(in.made, name)
		_, err := os.Stat(path)
		return task{once: func() error {
			f, err := hdf5.Open(path)
			if err != nil {
				return err
			}
			defer f.Close()
			d, err := f.Dataset("x")
			if err != nil {
				return err
			}
			chunks, err := d.StoredChunks()
			if err == nil && len(chunks) != 1_000_000 {
				err = fmt.Errorf("%d chunks of a million", len(chunks))
			}
			return err
		}}, err
	}
}

func closing(f *hdf5.File) func() { return func() { f.Close() } }
