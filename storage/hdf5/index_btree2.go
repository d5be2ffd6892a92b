package hdf5

// btree2 reads the version 2 B-tree that indexes the chunks of datasets with several unlimited
// axes. Its records have type 10, or 11 with filters:
//
//	| address (O) | (11) stored size (the remaining bytes) | (11) mask (4) | coordinates in the grid (8) … |
func (x *indexer) btree2() error {
	kind := 10
	if len(x.d.Filters) > 0 {
		kind = 11
	}
	coord := make([]int, len(x.grid))
	return x.d.file.btree2(x.d.layout.address, kind, func(c *cursor) error {
		e := x.element(c, len(c.buf)-8*len(coord))
		for axis := range coord {
			coord[axis] = c.count(8)
		}
		if c.err != nil {
			return c.err
		}
		return x.add(coord, e)
	})
}
