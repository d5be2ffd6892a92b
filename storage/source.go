package storage

import (
	"io"
	"iter"

	"github.com/h5dnn/h5dnn/views"
)

// Chunked is a Source stored in chunks of one shape, each of which is read and decoded
// as a whole, so that a loader can plan to decode every chunk once. The chunks of a virtual
// dataset are groups of rows that span whole chunks of its sources, if these are aligned,
// or else cut few of them.
type Chunked interface {
	Source
	Shape() []int      // of the whole array
	ChunkShape() []int // of a chunk: as many axes as Shape, or none if there are no chunks
}

// ChunkedInPlace is a Chunked source that may decode its chunks into the memory that it reads
// to, with that of a few chunks beside it, so that many of them can be read at once.
type ChunkedInPlace interface {
	Chunked
	ReadsInPlace() bool
}

// ChunkedInParts is a Chunked source that may decode parts of a chunk alone, such as the blocks of a filter.
type ChunkedInParts interface {
	Chunked
	// PartBytes returns the size of these parts, 0 if every chunk is decoded as a whole.
	PartBytes() int
}

// RemoteSource is a Source that may be read over a network, where elements take a while to come.
type RemoteSource interface {
	Source
	Remote() bool
	// PrefetchView starts to fetch what ReadView of v reads, soon and once. It does not wait.
	PrefetchView(v views.View)
}

// MappedSource is a Source whose elements lie in memory in row-major order, but only
// while a function uses them: those of a mapped file.
type MappedSource interface {
	Source
	// WithBytes calls read with all bytes. read must be Go code on this goroutine, and
	// must neither keep nor write the bytes. After an error, what read saw may be wrong.
	WithBytes(read func(b []byte) error) error
}

// Uncompressed is a Source whose elements are stored in a file as in memory, so that
// any range of bytes can be read at no more than the cost of these bytes.
type Uncompressed interface {
	Source
	io.ReaderAt // addressed row-major, in bytes
	// ReadRanges fills each slice with the bytes from its offset on, before it returns.
	// Ranges that follow each other are best given in their order.
	ReadRanges(parts iter.Seq2[int, []byte]) error
	// Prefetch advises the system that n bytes from offset at on will be read soon. It
	// does not wait for them.
	Prefetch(at, n int)
}

var _ MappedSource = (*Mapped)(nil)
