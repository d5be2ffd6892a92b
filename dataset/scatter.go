package dataset

// A scatterer is a Dataset that can put samples at any places of a batch.
type scatterReader interface {
	Dataset
	// scatter copies sample rows[k] to place to[k] of into, or k without to.
	// Rows are known to exist; into has to have the given room.
	scatter(into Batch, room int, rows, to []int) error
	// holds returns the bytes kept in memory between calls.
	holds() int
}

func scatterReaderOf(d Dataset) scatterReader {
	if s, ok := d.(scatterReader); ok {
		return s
	}
	return anyDataset{d}
}

// foreign makes any Dataset a scatterer, at the price of a copy.
type anyDataset struct{ Dataset }

func (anyDataset) holds() int { return 0 }

func (f anyDataset) scatter(into Batch, room int, rows, to []int) error {
	if to == nil {
		return f.Read(into, rows)
	}
	read, err := NewBatch(f.Dataset, len(rows))
	if err != nil {
		return err
	}
	if err := f.Read(*read, rows); err != nil {
		return err
	}
	for i, field := range f.Fields() {
		src, err := read.room(i, field, len(rows))
		if err != nil {
			return err
		}
		dst, err := into.room(i, field, room)
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

func (f anyDataset) Blocks() ([]int, int) { return blocksOf(f.Dataset) }

// blocksOf returns d's blocks, or nil if every sample can be read alone.
func blocksOf(d Dataset) (ends []int, decoded int) {
	if b, ok := d.(Blocked); ok {
		return b.Blocks()
	}
	return nil, d.Len()
}
