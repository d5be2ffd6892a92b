package hdf5

import (
	"fmt"

	"github.com/h5dnn/h5dnn/storage/hdf5/internal/format"
)

// Chunks without filters that were all given their place at once need no
// index: they follow one another, row by row through the grid of the largest
// shape the dataset may get.
func (x *indexer) implicit() error {
	most := x.maxGrid()
	count, err := format.Product(most...)
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
		if err := x.addNumbered(k, most, e); err != nil {
			return err
		}
	}
	return nil
}
