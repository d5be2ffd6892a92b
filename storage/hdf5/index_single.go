package hdf5

// A dataset of a single chunk needs no index: the layout message has its address.
func (x *indexer) single() error {
	l := x.d.layout
	e := chunkEntry{address: l.address, size: x.chunkSize}
	if l.index.filtered {
		e.size, e.mask = l.index.size, l.index.mask
	}
	return x.add(make([]int, len(x.grid)), e)
}
