package storage

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

var _ Lender = (*Mapped)(nil)
