package hdf5

import (
	"github.com/h5dnn/h5dnn/storage/hdf5/filter"
	"github.com/h5dnn/h5dnn/storage/hdf5/internal/scratch"
	"github.com/h5dnn/h5dnn/views"
)

// leastPartly is the size of chunks from which on some of their blocks may be decoded alone.
const leastPartly = 1 << 20

// readBlocks reads a part of a chunk by decoding the blocks of its filter that the part is in, if that costs less than
// to decode the chunk, and reports whether it did.
func (s *source) readBlocks(dst []byte, to, from views.View, size int, e chunkEntry, key chunkKey) (done bool, err error) {
	f, wanted := s.d.file, from.Len()*s.size
	if wanted > size/2 || f.chunks.contains(key) {
		return false, nil
	}
	blocks := s.d.openBlocks(size, e)
	if blocks == nil {
		return false, nil
	}
	has := make([]bool, (size+blocks.Size-1)/blocks.Size)
	s.markBlocks(has, from, blocks.Size)
	bytes := 0
	for _, wanted := range has {
		if wanted {
			bytes += blocks.Size
		}
	}
	const mostUnused = 32 // bytes decoded for one that is read: smaller parts are likely to be followed by their neighbours
	if bytes > mostUnused*wanted || !f.chunks.decodesPartly(key, bytes, size) {
		return false, nil
	}
	work := scratch.Get(size + blocks.WorkSize())
	defer scratch.Put(work)
	chunk := work[:size]
	for k, wanted := range has {
		if wanted {
			if err := blocks.Decode(chunk, work[size:], k); err != nil {
				return true, err
			}
		}
	}
	s.gather(dst, chunk, to, from)
	return true, nil
}

// readPrefix reads a part of a chunk by decoding the chunk up to the end of the part, if that is a third of it or less, and
// reports whether it did. Rows as a whole are likely to be followed by the next ones, and the second part of a chunk by
// a third: these are left to the cache.
func (s *source) readPrefix(dst []byte, to, from views.View, size int, e chunkEntry, key chunkKey) (done bool) {
	f, decode := s.d.file, filter.Prefix(s.d.Filters, e.mask)
	_, last := from.Bounds()
	n := last + s.size
	if decode == nil || f.remote != nil || size < leastPartly || n > size/3 || contiguous(from, s.size) || f.chunks.contains(key) {
		return false
	}
	if s.d.checkStored(size, e) != nil || !f.chunks.decodesPartly(key, size/2, size) {
		return false
	}
	chunk := scratch.Get(n)
	defer scratch.Put(chunk)
	if decode(chunk, &storedReader{f, e.address, e.size}) != nil {
		return false // decoding the chunk tells what is wrong
	}
	s.gather(dst, chunk, to, from)
	return true
}

// openBlocks returns the blocks of a chunk that can be decoded alone, or nil; if something is wrong with them, decoding
// the chunk tells.
func (d *Dataset) openBlocks(size int, e chunkEntry) *filter.Blocks {
	if d.file.remote != nil || size < leastPartly || d.checkStored(size, e) != nil {
		return nil
	}
	read := func(b []byte, at int) error { return d.file.readAt(b, e.address+uint64(at)) }
	blocks, err := filter.OpenBlocks(size, e.size, d.Filters, e.mask, read)
	if err != nil {
		return nil
	}
	return blocks
}

// PartBytes implements [storage.ChunkedInParts]. It looks at the first stored chunk.
func (s *source) PartBytes() int {
	if s.d.layout.class != layoutChunked || s.d.file.err() != nil {
		return 0
	}
	index, err := s.d.index()
	size, invalid := s.d.chunkSize()
	if err != nil || invalid != nil || len(index.entries) == 0 {
		return 0
	}
	blocks := s.d.openBlocks(size, index.entries[0])
	if blocks == nil {
		return 0
	}
	return blocks.Size
}

// markBlocks marks the blocks of size bytes that have elements of a view of a chunk in bytes.
func (s *source) markBlocks(has []bool, v views.View, size int) {
	lo, hi := v.Bounds()
	hi += s.size - 1
	first, last := lo/size, hi/size
	if last-first > 1 && v.Rank() > 0 && !contiguous(v, s.size) {
		for k := range v.Shape[0] {
			s.markBlocks(has, views.View{Offset: v.Offset + k*v.Stride[0], Shape: v.Shape[1:], Stride: v.Stride[1:]}, size)
		}
		return
	}
	for k := max(0, first); k <= min(last, len(has)-1); k++ {
		has[k] = true
	}
}
