package hdf5

import (
	"errors"
	"fmt"
	"time"

	"github.com/h5dnn/h5dnn/storage"
)

// Refresh reads the metadata anew of a local file, to which a program writes in HDF5's SWMR mode (single writer, multiple
// readers), or of a file at a URL, which is opened again. Objects that are opened afterwards have the shapes and elements of now; those
// that were opened before keep their shape. No other method may run meanwhile. If a URL cannot be opened, the file stays as it was.
func (f *File) Refresh() error {
	if f.closed.Load() {
		return fmt.Errorf("%s: %w", f.name, errClosed)
	}
	size, err := f.renew()
	if err != nil {
		return fmt.Errorf("%s: %w", f.name, err)
	}
	f.forget()
	f.heaps, f.groups = addressCache[collection]{}, addressCache[[]link]{}
	f.shared, f.image = nil, nil
	f.chunks.drop(f)
	f.mapping.renew()
	if err := f.again(func() error { return f.start(size) }); err != nil {
		return fmt.Errorf("%s: %w", f.name, err)
	}
	return nil
}

// renew opens the reader again, if it is of a URL, and returns the size of the file now.
func (f *File) renew() (size int64, err error) {
	switch {
	case f.file != nil:
		return regularSize(f.file)
	case f.reopen == nil:
		return 0, fmt.Errorf("only files that were opened by name are read anew; open it again: %w", storage.ErrState)
	}
	remote, err := f.reopen()
	if err != nil {
		return 0, err
	}
	err = f.close()
	f.r, f.close = remote, remote.Close
	return remote.Size(), err
}

// forget drops cached blocks of metadata.
func (f *File) forget() {
	f.blocks.Lock()
	f.blocks.young, f.blocks.old = nil, nil
	f.blocks.Unlock()
}

// again calls read, and repeats it while a checksum is wrong that a writer may be about to write, as libhdf5 does.
func (f *File) again(read func() error) error {
	const tries, pause = 100, time.Millisecond
	err := read()
	for k := 1; k < tries && f.super.growing && errors.Is(err, errChecksum); k++ {
		time.Sleep(pause)
		f.forget()
		err = read()
	}
	return err
}

// indexAgain is readIndex, again if the index is being written.
func (d *Dataset) indexAgain() (x *index, err error) {
	err = d.file.again(func() error {
		x, err = d.readIndex()
		return err
	})
	return x, err
}
