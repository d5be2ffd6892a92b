package dataset

// A destination says where samples go in host memory: in one batch, in order or at
// given indices, or each at an index in a batch of its own.
type destination struct {
	batch   *Batch
	batches []*Batch // by sample; nil if all go to batch
	index   []int    // by sample; nil for 0, 1, 2 and so on
}

// bytes returns the memory for one field of the k-th sample, of the given size, and of the
// samples after it, n in all, which are consecutive.
func (d destination) bytes(field, k, n, size int) []byte {
	b := d.batch
	if d.batches != nil {
		b = d.batches[k]
	}
	return b.data[field][d.at(k)*size:][:n*size]
}

// at returns the index of the k-th sample in its batch.
func (d destination) at(k int) int {
	if d.index == nil {
		return k
	}
	return d.index[k]
}

// consecutive returns how many of rows, from the k-th on, are consecutive and go to
// consecutive indices of one batch.
func (d destination) consecutive(rows []int, k int) int {
	n := 1
	for k+n < len(rows) && rows[k+n] == rows[k]+n && d.batches == nil && d.at(k+n) == d.at(k)+n {
		n++
	}
	return n
}

// from returns the destination of the samples from the k-th on.
func (d destination) from(k int) destination {
	if d.batches != nil {
		d.batches = d.batches[k:]
	}
	if d.index != nil {
		d.index = d.index[k:]
	}
	return d
}
