package hdf5

import (
	"fmt"

	"github.com/h5dnn/h5dnn/storage/hdf5/internal/format"
)

// implicit adds chunks that have no filters and were all allocated at creation. They need no
// index: they are stored one after another, in row-major order of the grid of the maximum shape.
func (x *indexer) implicit() error {
	grid := x.maxGrid()
	count, err := format.Product(grid...)
	if err != nil {
		return err
	}
	size, err := format.Product(count, x.chunkSize)
	if err != nil {
		return err
	}
	if len(x.d.Filters) > 0 {
		return fmt.Errorf("implicit, which chunks with filters cannot have")
	}
	if _, err := x.d.file.span(x.d.layout.address, size); err != nil {
		return err
	}
	for k := range count {
		e := chunkEntry{address: x.d.layout.address + uint64(k*x.chunkSize), size: x.chunkSize}
		if err := x.addNumbered(k, grid, e); err != nil {
			return err
		}
	}
	return nil
}
