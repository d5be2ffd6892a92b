package hdf5

import (
	"errors"
	"fmt"

	"github.com/h5dnn/h5dnn/storage/hdf5/internal/format"
)

// A layout message describes the storage of a dataset's elements.
//
//	version 1 and 2              version 3               version 4 and 5
//	| version          | 1       | 3            | 1       | version       | 1
//	| rank             | 1       | class        | 1       | class         | 1
//	| class            | 1       | by class …             | by class …
//	| 0                | 5
//	| (not compact) address | O
//	| size …           | 4 each
//	| (chunked) element| 4
//	| (compact) size, data | 4, …
//
//	by class, version 3:  compact     | size (2) | data |
//	                      contiguous  | address (O) | size (L) |
//	                      chunked     | rank + 1 (1) | B-tree (O) | size (4) … | element (4) |
//	version 4:            chunked     | flags (1) | rank + 1 (1) | bytes of sizes (1) | size … | element |
//	                                  | index (1) | its parameters … | address (O) |
//	                      virtual     | heap (O) | index (4) |
type layout struct {
	class   int
	address uint64 // of the data, the chunk index or the virtual mapping
	size    int    // of contiguous data in bytes, -1 if the message lacks it
	data    []byte // of a compact dataset
	chunk   []int
	index   chunkIndex
	virtual int // index of the mappings in their heap
}

const (
	layoutCompact = iota
	layoutContiguous
	layoutChunked
	layoutVirtual
)

var layoutNames = [...]string{"compact", "contiguous", "chunked", "virtual"}

// A chunkIndex is the part of a layout message about the chunk index.
type chunkIndex struct {
	kind            int
	unfilteredEdges bool // chunks that extend beyond the shape have no filters
	filtered        bool // whether the single chunk is filtered
	size            int  // of the single chunk, stored
	mask            uint32
	// Other indexes have their parameters in their headers, too.
}

// Chunk index types; 0 is the version 1 B-tree of layout versions 1 to 3.
const (
	indexBTree1 = iota
	indexSingle
	indexImplicit
	indexFixed
	indexExtensible
	indexBTree2
)

func parseLayout(c *cursor, elemSize int) (layout, error) {
	var l layout
	switch version := c.u8(); version {
	case 1, 2:
		l.parseOld(c, elemSize)
	case 3, 4, 5:
		l.parseNew(c, version, elemSize)
	default:
		c.fail("version %d is not known; the file is newer than this program", version)
	}
	return l, c.err
}

func (l *layout) parseOld(c *cursor, elemSize int) {
	rank := c.u8()
	l.class, l.size = c.u8(), -1
	c.skip(5)
	if l.class != layoutCompact {
		l.address = c.address()
	}
	if rank > format.MaxRank+1 || l.class > layoutChunked {
		c.fail("rank %d, class %d", rank, l.class)
		return
	}
	switch l.class {
	case layoutChunked:
		l.parseChunk(c, rank-1, 4, elemSize)
	case layoutCompact:
		c.skip(4 * rank)
		l.data = c.bytes(c.u32())
	}
}

func (l *layout) parseNew(c *cursor, version, elemSize int) {
	switch l.class = c.u8(); {
	case l.class == layoutCompact:
		l.data = c.bytes(c.u16())
	case l.class == layoutContiguous:
		l.address, l.size = c.address(), c.size()
	case l.class == layoutChunked && version == 3:
		rank := c.u8()
		l.address = c.address()
		l.parseChunk(c, rank-1, 4, elemSize)
	case l.class == layoutChunked:
		l.parseIndexed(c, elemSize)
	case l.class == layoutVirtual:
		l.address, l.virtual = c.address(), c.u32()
	default:
		c.fail("class %d is not known; the file is newer than this program", l.class)
	}
}

// parseChunk reads the shape of chunks and, after it, the size of elements.
func (l *layout) parseChunk(c *cursor, rank, width, elemSize int) {
	if rank < 1 || rank > format.MaxRank || width < 1 || width > 8 {
		c.fail("chunks of rank %d with sizes of %d bytes", rank, width)
		return
	}
	for range rank {
		size := c.count(width)
		if size == 0 {
			c.fail("chunks without elements")
		}
		l.chunk = append(l.chunk, size)
	}
	if got := c.count(width); c.err == nil && got != elemSize {
		c.fail("chunks of elements of %d bytes, want %d", got, elemSize)
	}
}

func (l *layout) parseIndexed(c *cursor, elemSize int) {
	flags, rank, width := c.u8(), c.u8(), c.u8()
	l.parseChunk(c, rank-1, width, elemSize)
	l.index = chunkIndex{kind: c.u8(), unfilteredEdges: flags&1 != 0, filtered: flags&2 != 0}
	switch l.index.kind {
	case indexSingle:
		if l.index.filtered {
			l.index.size, l.index.mask = c.size(), uint32(c.u32())
		}
	case indexImplicit:
	case indexFixed:
		c.skip(1)
	case indexExtensible:
		c.skip(5)
	case indexBTree2:
		c.skip(6)
	default:
		c.fail("chunk index %d is not known; the file is newer than this program", l.index.kind)
	}
	l.address = c.address()
}

// An External is a part of another file with elements of a contiguous dataset. The message
// that lists them is
//
//	| 1 | 0 (3) | allocated (2) | used (2) | heap of names (O) | name (L) | offset (L) | size (L) | …
type External struct {
	Name   string
	Offset int
	Size   int // Unlimited: to the end of the file
}

func (f *File) external(m message) ([]External, error) {
	c := f.newCursor("external files", m.body)
	if v := c.u8(); v != 1 {
		c.fail("version %d is not known", v)
	}
	c.skip(3 + 2)
	count := c.u16()
	heapAt := c.address()
	if c.err != nil {
		return nil, c.err
	}
	text, err := f.localHeap(heapAt)
	if err != nil {
		return nil, fmt.Errorf("external files: %w", err)
	}
	names, err := f.heapData(text)
	if err != nil {
		return nil, fmt.Errorf("external files: %w", err)
	}
	files := []External{}
	for range count {
		name, err := f.heapText(names, uint64(c.size()))
		file := External{Name: name, Offset: c.size(), Size: c.maxSize()}
		if err := errors.Join(c.err, err); err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}
