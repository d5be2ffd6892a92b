package storage

import "io"

// Chunked is a Source kept in equal boxes, each of which is fetched and decoded
// whole, so that a planner can ask for every box once.
type Chunked interface {
	Source
	Shape() []int      // of the whole array, as it is addressed
	ChunkShape() []int // of one box; as many axes as Shape, or none if there are no boxes
}

// Lender is a Source whose bytes lie somewhere as its elements do in memory, one
// after the other, and can be seen for a moment: a mapped file's.
type Lender interface {
	Source
	// Use calls read with all the bytes, which must be Go code on this goroutine,
	// and must neither keep them nor write to them. After an error of Use, what
	// read saw is not to be trusted.
	Use(read func(b []byte) error) error
}

// Direct is a Source any bytes of which can be had alone, at no more than the cost
// of reading them: they lie in a file as their elements do in memory.
type Direct interface {
	Source
	io.ReaderAt // addressed row-major, in bytes
	// Expect says that n bytes from a place on will be read soon. It does not wait for them.
	Expect(at, n int)
}

var _ Lender = (*Mapped)(nil)
