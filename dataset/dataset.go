// Package dataset turns arrays in files into planned, shuffled, prefetched
// batches, in an amount of memory the caller names.
//
// It sees arrays only: host memory, mapped files, sources that decode chunks on
// demand. Opening files belongs to package serialize and storage/hdf5; casting,
// normalising and moving batches to a device happen where they are used.
//
// The order of samples depends on the seed and the epoch only, not on the number of
// workers, on memory, or on where an epoch is resumed. The only state to save is
// the number of samples consumed ([Batch.Consumed]).
package dataset

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A Dataset is a number of samples that all have the same fields.
type Dataset interface {
	Len() int
	Fields() []Field
	// Read copies the samples at rows, in that order, to the front of into's
	// fields: row-major host memory as NewBatch makes it, owned by the caller.
	// Rows may repeat. Read may be called concurrently.
	Read(into Batch, rows []int) error
}

// Blocked is a Dataset whose samples are decoded in blocks, so that reading a whole
// block costs about as much as reading one of its samples.
type Blocked interface {
	Dataset
	// Blocks returns where each block ends: block b is the rows from ends[b-1] to
	// ends[b]-1. Reading all of them decodes the given number of samples, which
	// exceeds Len if some decoded samples are not used.
	Blocks() (ends []int, decoded int)
}

// A Field describes one of the arrays that every sample has.
type Field struct {
	Name     string
	Role     Role   // see Schema
	LengthOf string // the input that a Length belongs to
	Type     dtype.Type
	Shape    []int // of one sample
}

// bytes returns the size of the field in one sample.
func (f Field) bytes() int { return views.Of(f.Shape...).Len() * f.Type.Size() }

func (f Field) String() string { return fmt.Sprintf("%s %v%v", f.Name, f.Type, f.Shape) }

// Equal reports whether f and g are the same in every respect.
func (f Field) Equal(g Field) bool {
	return f.Name == g.Name && f.Role == g.Role && f.LengthOf == g.LengthOf && f.Type == g.Type && slices.Equal(f.Shape, g.Shape)
}

// sampleBytes returns the size of one sample of d.
func sampleBytes(d Dataset) int {
	total := 0
	for _, f := range d.Fields() {
		total += f.bytes()
	}
	return total
}

// Bytes returns the size of all samples of d: a float, as files may declare more than
// an int counts.
func Bytes(d Dataset) float64 { return float64(d.Len()) * float64(sampleBytes(d)) }

// A Batch is host memory for some samples of a Dataset.
type Batch struct {
	Fields   []storage.Array // in the dataset's order; the first axis counts samples
	Rows     []int           // indices of the samples in the dataset
	Consumed int             // samples of the epoch up to the end of this batch
	Waited   time.Duration   // how long the loop waited for this batch

	fields   []Field         // of Fields
	whole    []storage.Array // what is read, at full capacity
	staged   []storage.Array // what a stage makes of it; nil without one
	data     [][]byte        // of whole
	rows     []int           // likewise
	retained bool
	err      error

	missing int // samples that are still to be read or gathered
}

// NewBatch allocates a batch for the given number of samples of d.
func NewBatch(d Dataset, samples int) (*Batch, error) { return newBatch(d, samples, nil) }

// newBatch is NewBatch with memory from alloc, or ordinary memory if that is nil.
func newBatch(d Dataset, samples int, alloc allocator) (*Batch, error) {
	return newBatchOf(d.Fields(), samples, func(int) allocator { return alloc })
}

// An allocator allocates host memory; nil stands for ordinary memory.
type allocator func(size int) (storage.Host, error)

// newBatchOf is newBatch of samples with the given fields, each with memory from its allocator.
func newBatchOf(fields []Field, samples int, alloc func(field int) allocator) (*Batch, error) {
	b, err := allocBatchOf(fields, samples, alloc)
	if err != nil {
		return nil, err
	}
	b.rows = make([]int, samples)
	b.Rows = b.rows
	return b, nil
}

// allocBatch is newBatch without the list of rows.
func allocBatch(d Dataset, samples int, alloc allocator) (*Batch, error) {
	return allocBatchOf(d.Fields(), samples, func(int) allocator { return alloc })
}

func allocBatchOf(fields []Field, samples int, alloc func(field int) allocator) (*Batch, error) {
	b := &Batch{fields: fields}
	for i, f := range fields {
		a, err := f.alloc(samples, alloc(i))
		if err != nil {
			return nil, fmt.Errorf("dataset: allocate %d samples of %v: %w", samples, f, err)
		}
		b.whole, b.data = append(b.whole, a), append(b.data, a.Data.(storage.Host).Bytes())
	}
	b.Fields = slices.Clone(b.whole)
	return b, nil
}

// alloc returns memory for the values of f in a number of samples.
func (f Field) alloc(samples int, alloc allocator) (storage.Array, error) {
	shape := append([]int{samples}, f.Shape...)
	if alloc == nil {
		return storage.Empty(f.Type, shape...)
	}
	v, err := views.New(shape, math.MaxInt/f.Type.Size())
	if err != nil {
		return storage.Array{}, err
	}
	data, err := alloc(v.Len() * f.Type.Size())
	return storage.Array{Data: data, Type: f.Type, View: v}, err
}

// trim makes b a batch of n samples.
func (b *Batch) trim(n int) {
	b.Rows = b.rows[:n]
	for i, a := range b.whole {
		if b.staged != nil || b.Fields[i].Shape[0] != n {
			b.Fields[i] = a.With(samples(a.View, 0, n))
		}
	}
}

// section returns a batch that shares the memory of b's samples first to end-1.
func (b *Batch) section(first, end int) *Batch {
	s := &Batch{fields: b.fields}
	for _, a := range b.whole {
		part := a.With(samples(a.View, first, end-first))
		bytes, _ := part.Bytes()
		s.whole, s.data = append(s.whole, part), append(s.data, bytes)
	}
	s.Fields = s.whole
	return s
}

// bytes returns the memory of field i of b for n samples of f, which it must have.
func (b *Batch) bytes(i int, f Field, n int) ([]byte, error) {
	if i >= len(b.Fields) {
		return nil, fmt.Errorf("dataset: batch of %d fields has none for %v: %w", len(b.Fields), f, views.ErrShape)
	}
	a := b.Fields[i]
	host, ok := a.Data.(storage.Host)
	switch {
	case !ok:
		return nil, fmt.Errorf("dataset: %v: batch lives on %v, want host memory: %w", f, a.Data.Device(), storage.ErrDevice)
	case a.Type != f.Type:
		return nil, fmt.Errorf("dataset: %v: batch holds %v: %w", f, a.Type, dtype.ErrType)
	case a.Rank() == 0 || !slices.Equal(a.Shape[1:], f.Shape) || a.Shape[0] < n || !a.Contiguous():
		return nil, fmt.Errorf("dataset: %v: batch of shape %v cannot hold %d contiguous samples: %w", f, a.Shape, n, views.ErrShape)
	}
	start := a.Offset * f.Type.Size()
	return host.Bytes()[start : start+n*f.bytes()], nil
}

// readInto copies the samples at rows of r to the front of a batch that the caller may have
// made.
func readInto(into Batch, r reader, rows []int) error {
	if err := checkRows(rows, r.Len()); err != nil {
		return err
	}
	into.data = nil
	for i, f := range r.Fields() {
		bytes, err := into.bytes(i, f, len(rows))
		if err != nil {
			return err
		}
		into.data = append(into.data, bytes)
	}
	return r.scatter(destination{batch: &into}, rows)
}

// checkRows reports the first of rows that a dataset of n samples does not have.
func checkRows(rows []int, n int) error {
	for _, row := range rows {
		if uint(row) >= uint(n) {
			return fmt.Errorf("dataset: row %d of %d samples: %w", row, n, views.ErrShape)
		}
	}
	return nil
}
