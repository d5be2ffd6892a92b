package hdf5write

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/storage/hdf5/internal/scratch"
)

// verify reads the copy and compares every element with the original.
func (r *repacker) verify(name string) error {
	made, err := hdf5.Open(name, hdf5.Options{CacheBytes: r.o.Memory / 8})
	if err != nil {
		return err
	}
	defer made.Close()
	for _, c := range r.copied {
		if c.from == nil {
			c.from, err = r.f.Dataset(r.original(c.path))
		}
		var d *hdf5.Dataset
		if err == nil {
			d, err = made.Dataset(c.path)
		}
		if err == nil {
			err = r.compare(c, d)
		}
		if err != nil {
			return fmt.Errorf("verify %s: %w", c.path, err)
		}
	}
	return nil
}

var errDiffers = errors.New("the copy differs from the original and was removed")

// compare compares a dataset with its copy d.
func (r *repacker) compare(c copied, d *hdf5.Dataset) error {
	switch {
	case !slices.Equal(c.from.Shape, d.Shape) || copiedSize(c.from.Type) != d.Type.Size:
		return fmt.Errorf("shape %v, want %v: %w", d.Shape, c.from.Shape, errDiffers)
	case c.reorder != nil && !slices.Contains(d.Shape, 0):
		return r.compareReordered(c, d)
	case c.virtual:
		return compareMappings(c.from, d)
	case c.verbatim:
		return r.compareChunks(c.from, d)
	case slices.Contains(d.Shape, 0):
		return nil
	}
	inOriginal, err := storedIn(c.from)
	if err != nil {
		return err
	}
	inCopy, err := storedIn(d)
	if err != nil {
		return err
	}
	unit := slices.Repeat([]int{1}, len(d.Shape))
	if d.Chunks != nil {
		unit = d.Chunks
	}
	unit = r.readUnit(c.from, unit)
	all := hyperslab{make([]int, len(d.Shape)), d.Shape}
	if !inOriginal(all) && !inCopy(all) {
		return compareFill(c.from, d)
	}
	var x, y []byte
	for b := range blocks(d, unit, min(r.budget(c.from), r.budget(d))) {
		if !inOriginal(b) && !inCopy(b) {
			if err := compareFill(c.from, d); err != nil {
				return err
			}
			continue
		}
		if x, err = r.read(c.from, b, x); err != nil {
			return err
		}
		if y, err = r.read(d, b, y); err != nil {
			return err
		}
		if err := compareElements(c.from, d, x, y); err != nil {
			return fmt.Errorf("at %v: %w", b.start, err)
		}
		r.o.Progress(d.Path, len(x))
	}
	return nil
}

// compareFill compares the values of elements that were never written. Nil is zeros.
func compareFill(from, made *hdf5.Dataset) error {
	if from.Type.HasVarLen() || from.Type.HasReferences() || bytes.Equal(from.Fill, made.Fill) {
		return nil
	}
	for k := range max(len(from.Fill), len(made.Fill)) {
		if k < len(from.Fill) && from.Fill[k] != 0 || k < len(made.Fill) && made.Fill[k] != 0 {
			return fmt.Errorf("fill value: %w", errDiffers)
		}
	}
	return nil
}

// compareMappings compares the selections and the number of the mappings of a virtual
// dataset, or the files of one with external data.
func compareMappings(from, made *hdf5.Dataset) error {
	a, b := from.VirtualSources(), made.VirtualSources()
	same := func(a, b hdf5.VirtualSource) bool {
		return a.File == b.File && a.From.Equal(b.From) && a.To.Equal(b.To)
	}
	if !slices.EqualFunc(a, b, same) || !slices.Equal(from.External, made.External) {
		return fmt.Errorf("mappings: %w", errDiffers)
	}
	return nil
}

// compareElements compares elements and the values they point to. References are not
// compared, because addresses in the copy are different.
func compareElements(from, made *hdf5.Dataset, x, y []byte) error {
	if !hasPointers(from.Type) {
		if !bytes.Equal(x, y) {
			return errDiffers
		}
		return nil
	}
	a, b := &memoryImage{f: from.File()}, &memoryImage{f: made.File()}
	for len(x) > 0 {
		a.clear()
		b.clear()
		err := errors.Join(a.elements(from.Type, x[:from.Type.Size], 1), b.elements(made.Type, y[:made.Type.Size], 1))
		if err != nil {
			return err
		}
		if !bytes.Equal(a.out, b.out) {
			return errDiffers
		}
		x, y = x[from.Type.Size:], y[made.Type.Size:]
	}
	return nil
}

// maxDecoding limits the memory of a chunk that is decoded for comparison.
const maxDecoding = 256 << 20

// compareChunks compares stored chunks, and decodes them, so that damage in the original
// is not copied unnoticed.
func (r *repacker) compareChunks(from, made *hdf5.Dataset) error {
	a, err := from.StoredChunks()
	if err != nil {
		return err
	}
	b, err := made.StoredChunks()
	if err != nil {
		return err
	}
	if !slices.EqualFunc(from.Filters, made.Filters, sameFilter) {
		return fmt.Errorf("filters %v, want %v: %w", made.Filters, from.Filters, errDiffers)
	}
	if len(a) != len(b) {
		return fmt.Errorf("%d chunks, want %d: %w", len(b), len(a), errDiffers)
	}
	size, err := chunkSize(from)
	if err != nil {
		return err
	}
	decodable := made.CheckDecodable() == nil && size <= maxDecoding
	for k := range a {
		if err := r.compareChunk(from, made, a[k], b[k], size, decodable); err != nil {
			return err
		}
		r.o.Progress(from.Path, size)
	}
	return nil
}

func (r *repacker) compareChunk(from, made *hdf5.Dataset, a, b hdf5.Chunk, size int, decodable bool) error {
	if err := r.ctx.Err(); err != nil {
		return err
	}
	same := slices.Equal(a.Coord, b.Coord) && a.FilterMask == b.FilterMask
	if same {
		var err error
		if same, err = sameStored(from.File(), a, made.File(), b); err != nil {
			return err
		}
	}
	if !same {
		return fmt.Errorf("chunk %v: %w", a.Coord, errDiffers)
	}
	if !decodable {
		return nil
	}
	decoded := scratch.Get(size)
	defer scratch.Put(decoded)
	if err := made.ReadChunk(decoded, b); err != nil {
		return fmt.Errorf("chunk %v is damaged in the original: %w; without verification it is copied", a.Coord, err)
	}
	return nil
}

// sameStored reports whether two chunks are stored with the same bytes. Of large ones it has a part in
// memory at a time.
func sameStored(from *hdf5.File, a hdf5.Chunk, made *hdf5.File, b hdf5.Chunk) (bool, error) {
	if err := errors.Join(checkPlace(from, a), checkPlace(made, b)); err != nil || a.Size != b.Size {
		return false, err
	}
	const most = 1 << 20
	x, y := scratch.Get(min(a.Size, most)), scratch.Get(min(a.Size, most))
	defer scratch.Put(x)
	defer scratch.Put(y)
	for at := 0; at < a.Size; at += most {
		n := min(most, a.Size-at)
		_, err1 := from.ReadAt(x[:n], int64(a.Offset+at))
		_, err2 := made.ReadAt(y[:n], int64(b.Offset+at))
		if err := errors.Join(err1, err2); err != nil || !bytes.Equal(x[:n], y[:n]) {
			return false, err
		}
	}
	return true, nil
}
