package dataset

import "github.com/h5dnn/h5dnn/internal/panics"

// A reader is a Dataset that can put samples at any places of a batch.
type reader interface {
	Dataset
	describe() Description
	// scatter copies sample rows[k] to where to says. Rows are known to exist, and
	// batches to have their fields.
	scatter(to destination, rows []int) error
	// prefetch announces that samples first to end-1 will be read soon: to the system if they are
	// ranges of local files, or to the server of a remote one.
	prefetch(first, end int)
	// origin returns the array that a field of a sample comes from, and the number of the
	// sample there.
	origin(field, sample int) (Origin, int)
}

// scatter is r.scatter, with an error for a panic in a dataset or source of another package.
func scatter(r reader, to destination, rows []int) (err error) {
	defer panics.Recover(&err)
	return r.scatter(to, rows)
}

func readerOf(d Dataset) reader {
	if r, ok := d.(reader); ok {
		return r
	}
	return anyDataset{d}
}

// anyDataset makes a reader of a dataset of another package, at the cost of a copy.
type anyDataset struct{ Dataset }

func (a anyDataset) scatter(to destination, rows []int) error {
	if to.batches == nil && to.index == nil {
		return a.Read(*to.batch, rows)
	}
	read, err := NewBatch(a.Dataset, len(rows))
	if err != nil {
		return err
	}
	if err := a.Read(*read, rows); err != nil {
		return err
	}
	for i, field := range a.Fields() {
		size := field.bytes()
		for k := range rows {
			copy(to.bytes(i, k, 1, size), read.data[i][k*size:])
		}
	}
	return nil
}

func (anyDataset) prefetch(int, int) {}
