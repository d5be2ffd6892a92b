package dataset

import "github.com/h5dnn/h5dnn/storage"

// A reader is a Dataset that can put samples at any places of a batch.
type reader interface {
	Dataset
	describe() Description
	// scatter copies sample rows[k] to place to[k] of into, or k without to. Rows are
	// known to exist; into has the given capacity, in samples.
	scatter(into Batch, capacity int, rows, to []int) error
	// eachRange visits the ranges of files in which samples first to end-1 lie, n
	// bytes from at on, as far as samples are read from files without decoding.
	eachRange(first, end int, visit func(file storage.Uncompressed, at, n int))
}

func readerOf(d Dataset) reader {
	if r, ok := d.(reader); ok {
		return r
	}
	return anyDataset{d}
}

// anyDataset makes a reader of a dataset of another package, at the cost of a copy.
type anyDataset struct{ Dataset }

func (a anyDataset) scatter(into Batch, capacity int, rows, to []int) error {
	if to == nil {
		return a.Read(into, rows)
	}
	read, err := NewBatch(a.Dataset, len(rows))
	if err != nil {
		return err
	}
	if err := a.Read(*read, rows); err != nil {
		return err
	}
	for i, field := range a.Fields() {
		src, err := read.bytes(i, field, len(rows))
		if err != nil {
			return err
		}
		dst, err := into.bytes(i, field, capacity)
		if err != nil {
			return err
		}
		size := field.bytes()
		for k, at := range to {
			copy(dst[at*size:(at+1)*size], src[k*size:])
		}
	}
	return nil
}

func (anyDataset) eachRange(int, int, func(storage.Uncompressed, int, int)) {}
