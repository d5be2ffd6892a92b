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
	// project returns the dataset with some of its fields.
	project(fields []int) reader
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
	return anyDataset{Dataset: d}
}

// Project returns the samples of d with the fields at some indices. Other fields are not read,
// unless d is a dataset of another package.
func Project(d Dataset, fields ...int) Dataset { return readerOf(d).project(fields) }

func (t *table) project(fields []int) reader {
	return &table{t.length, elementsAt(t.columns, fields), elementsAt(t.fields, fields)}
}

func (s *subset) project(fields []int) reader {
	return &subset{s.reader.project(fields), s.rows, s.ascending}
}

func (c *chain) project(fields []int) reader {
	p := &chain{ends: c.ends}
	for _, part := range c.parts {
		p.parts = append(p.parts, part.project(fields))
	}
	return p
}

func (a anyDataset) project(fields []int) reader {
	if a.fields != nil {
		fields = elementsAt(a.fields, fields)
	}
	return anyDataset{a.Dataset, fields}
}

// elementsAt returns the elements of list at some indices.
func elementsAt[T any](list []T, indices []int) []T {
	picked := make([]T, len(indices))
	for k, i := range indices {
		picked[k] = list[i]
	}
	return picked
}

// anyDataset makes a reader of a dataset of another package, at the cost of a copy.
type anyDataset struct {
	Dataset
	fields []int // indices of the fields of Dataset; nil if all
}

func (a anyDataset) Fields() []Field {
	if a.fields == nil {
		return a.Dataset.Fields()
	}
	return elementsAt(a.Dataset.Fields(), a.fields)
}

func (a anyDataset) Read(into Batch, rows []int) error {
	if a.fields == nil {
		return a.Dataset.Read(into, rows)
	}
	return readInto(into, a, rows)
}

func (a anyDataset) scatter(to destination, rows []int) error {
	if to.batches == nil && to.index == nil && a.fields == nil {
		return a.Read(*to.batch, rows)
	}
	read, err := NewBatch(a.Dataset, len(rows))
	if err != nil {
		return err
	}
	if err := a.Dataset.Read(*read, rows); err != nil {
		return err
	}
	data := read.data
	if a.fields != nil {
		data = elementsAt(data, a.fields)
	}
	for i, field := range a.Fields() {
		size := field.bytes()
		for k := range rows {
			copy(to.bytes(i, k, 1, size), data[i][k*size:])
		}
	}
	return nil
}

func (anyDataset) prefetch(int, int) {}
