package hdf5

// single adds the only chunk of a dataset, which needs no index: the layout message has its address.
func (x *indexer) single() error {
	l := x.d.layout
	e := chunkEntry{address: l.address, size: x.chunkSize}
	if l.index.filtered {
		e.size, e.mask = l.index.size, l.index.mask
	}
	return x.add(make([]int, len(x.grid)), e)
}
