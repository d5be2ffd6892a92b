package storage

// Chunked is a Source kept in equal boxes, each of which is fetched and decoded
// whole, so that a planner can ask for every box once.
type Chunked interface {
	Source
	Shape() []int      // of the whole array, as it is addressed
	ChunkShape() []int // of one box; as many axes as Shape
}
