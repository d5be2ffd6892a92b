package hdf5

// The chunks of a dataset with several axes that can grow for ever are found
// through a B-tree of version 2. Its records are of kind 10, or 11 with filters:
//
//	| address (O) | (11) stored size (as many bytes as are left) | (11) mask (4) | place in the grid (8) … |
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
