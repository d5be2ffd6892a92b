package storage

import (
	"io"
	"iter"
)

// Chunked is a Source kept in equal boxes, each of which is fetched and decoded
// whole, so that a planner can ask for every box once.
type Chunked interface {
	Source
	Shape() []int      // of the whole array, as it is addressed
	ChunkShape() []int // of one box; as many axes as Shape, or none if there are no boxes
}

// Lender is a Source whose bytes lie somewhere as its elements do in memory, one
// after the other, and can be seen for a moment: a mapped file's.
type MappedSource interface {
	Source
	// Use calls read with all the bytes, which must be Go code on this goroutine,
	// and must neither keep them nor write to them. After an error of Use, what
	// read saw is not to be trusted.
	WithBytes(read func(b []byte) error) error
}

// Direct is a Source any bytes of which can be had alone, at no more than the cost
// of reading them: they lie in a file as their elements do in memory.
type Uncompressed interface {
	Source
	io.ReaderAt // addressed row-major, in bytes
	// ReadParts fills memory from the place that goes with it, part by part.
	ReadRanges(parts iter.Seq2[int, []byte]) error
	// Expect says that n bytes from a place on will be read soon. It does not wait
	// for them. If they are held, ReadParts copies them out of pages of the file that
	// stay in this process' memory until Forget, which costs no system call.
	Prefetch(at, n int, hold bool)
	// Forget ends what Expect began with the same place and number.
	Release(at, n int)
}

var _ MappedSource = (*Mapped)(nil)
