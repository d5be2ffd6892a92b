package hdf5

import (
	"fmt"
	"io"
	"runtime"
	"slices"

	"github.com/h5dnn/h5dnn/internal/parallel"
	"github.com/h5dnn/h5dnn/internal/trace"
	"github.com/h5dnn/h5dnn/storage/hdf5/filter"
	"github.com/h5dnn/h5dnn/storage/hdf5/internal/scratch"
	"github.com/h5dnn/h5dnn/views"
)

// A chunkRange is the indices of a box along an axis that are in one chunk: n of them from first on.
type chunkRange struct{ chunk, first, n int }

// chunkRanges divides an axis of a box by chunks of the given size.
func chunkRanges(b views.Box, axis, size int) (all []chunkRange) {
	start, step, count := b.Start[axis], b.Step[axis], b.Count[axis]
	for k := 0; k < count; {
		at := start + k*step
		n := min(count-k, ((at/size+1)*size-at-1)/step+1)
		all = append(all, chunkRange{at / size, k, n})
		k += n
	}
	return all
}

// readChunks reads a box of a chunked dataset, every chunk once.
func (s *source) readChunks(dst []byte, p transfer) error {
	a, err := s.chunksOf(p.from)
	if err != nil {
		return err
	}
	ahead := chunkPrefetch{chunkJobs: a}
	do := func(job int) error {
		if err := s.d.file.err(); err != nil {
			return err
		}
		ahead.reach(job)
		in, number := a.job(job)
		if err := s.readOneChunk(dst, p, in, a.index, number); err != nil {
			return fmt.Errorf("chunk %v: %w", s.coordinates(in), err)
		}
		return nil
	}
	return parallel.Do(a.jobs, s.workers(a.jobs, p.to.Len()), do)
}

// chunkJobs are the chunks of a box, as jobs of one chunk each.
type chunkJobs struct {
	s     *source
	index *index
	parts [][]chunkRange // by axis
	jobs  int
}

// chunksOf returns the chunks of a box.
func (s *source) chunksOf(b views.Box) (*chunkJobs, error) {
	index, err := s.d.index()
	if err != nil {
		return nil, err
	}
	a := &chunkJobs{s: s, index: index, parts: make([][]chunkRange, len(s.d.Shape)), jobs: 1}
	for axis := range a.parts {
		a.parts[axis] = chunkRanges(b, axis, s.d.Chunks[axis])
		a.jobs *= len(a.parts[axis])
	}
	return a, nil
}

// job returns the part of the box in the chunk of a job, and the chunk's number.
func (a *chunkJobs) job(job int) (in []chunkRange, number int) {
	in = combination(a.parts, job)
	for axis := range in {
		number = number*a.index.grid[axis] + in[axis].chunk
	}
	return in, number
}

// combination returns one part of every axis: number k of all combinations, in row-major order.
func combination[T any](parts [][]T, k int) []T {
	chosen := make([]T, len(parts))
	for axis, some := range slices.Backward(parts) {
		chosen[axis] = some[k%len(some)]
		k /= len(some)
	}
	return chosen
}

// workers returns the number of goroutines for a number of jobs: several for decoding, one
// for copying little, and no more than have memory for their chunks.
func (s *source) workers(jobs, elements int) int {
	const littleToCopy, memory = 4 << 20, 256 << 20
	if len(s.d.Filters) == 0 && elements*s.size < littleToCopy {
		return 1
	}
	size, err := s.d.chunkSize()
	if err != nil || size == 0 {
		return 1
	}
	return max(1, min(runtime.GOMAXPROCS(0), jobs, memory/size))
}

func (s *source) coordinates(in []chunkRange) []int {
	at := make([]int, len(in))
	for axis := range in {
		at[axis] = in[axis].chunk * s.d.Chunks[axis]
	}
	return at
}

// inChunk returns the part of a transfer that is in a chunk, and its view of the chunk in bytes.
func (s *source) inChunk(p transfer, in []chunkRange) (part transfer, from views.View) {
	from = views.View{Offset: s.memberOffset, Shape: slices.Clone(p.from.Count), Stride: s.byteStrides(s.d.Chunks)}
	part = transfer{p.from, p.to}
	for axis := range from.Shape {
		start := p.from.Start[axis]
		if axis < len(in) {
			start += in[axis].first*p.from.Step[axis] - in[axis].chunk*s.d.Chunks[axis]
			part.to.Offset += in[axis].first * part.to.Stride[axis]
			from.Shape[axis] = in[axis].n
		}
		from.Offset += start * from.Stride[axis]
		from.Stride[axis] *= p.from.Step[axis]
	}
	part.from.Count, part.to.Shape = from.Shape, from.Shape
	return part, from
}

// readOneChunk reads the part of a transfer within one chunk.
func (s *source) readOneChunk(dst []byte, p transfer, in []chunkRange, index *index, number int) error {
	part, from := s.inChunk(p, in)
	to := part.to
	e, stored := index.find(number)
	size, err := s.d.chunkSize()
	switch {
	case err != nil:
		return err
	case !stored:
		s.writeFill(dst, part)
		return nil
	case len(s.d.Filters) == 0 && s.d.file.file != nil:
		return s.copyStored(dst, e.address, size, to, from)
	}
	key := chunkKey{s.d.file, s.d.header.address, number}
	if whole := s.decodeTarget(dst, to, from, size); whole != nil && !s.d.file.chunks.contains(key) {
		return s.d.decode(whole, e)
	}
	if done, err := s.readBlocks(dst, to, from, size, e, key); done {
		return err
	}
	if s.readPrefix(dst, to, from, size, e, key) {
		return nil
	}
	if !s.d.file.chunks.holds(size) {
		return s.readLarge(dst, to, from, size, e, key)
	}
	if s.bypassesCache(p, from, in) && !s.d.file.chunks.contains(key) {
		return s.readUncached(dst, to, from, size, e)
	}
	decode := func(chunk []byte) ([]byte, error) {
		if err := s.d.checkAllocation(size, e); err != nil {
			return nil, err
		}
		if chunk == nil {
			chunk = make([]byte, size)
		}
		return chunk, s.d.decode(chunk, e)
	}
	return s.d.file.chunks.use(key, size, decode, func(chunk []byte) { s.gather(dst, chunk, to, from) })
}

// readLarge reads a part of a chunk that is too large for the cache.
func (s *source) readLarge(dst []byte, to, from views.View, size int, e chunkEntry, key chunkKey) error {
	if err := s.d.checkAllocation(size, e); err != nil {
		return err
	}
	used, err := s.d.file.chunks.large.use(key, size, func(chunk []byte) error { return s.d.decode(chunk, e) },
		func(chunk []byte) { s.gather(dst, chunk, to, from) })
	if used {
		return err
	}
	return s.readUncached(dst, to, from, size, e)
}

// takesChunk reports whether a view of a chunk selects all of its bytes that are in the dataset:
// not one member of compounds, of which others may be read next.
func (s *source) takesChunk(from views.View, in []chunkRange) bool {
	inside := s.d.Type.Size
	for axis, chunk := range s.d.Chunks {
		inside *= min(chunk, s.d.Shape[axis]-in[axis].chunk*chunk)
	}
	return from.Len()*s.size == inside
}

// bypassesCache reports whether a transfer takes a view of a chunk around the cache: if it is
// larger than the cache, of which only the last chunks would stay in it, or large and takes whole
// chunks, which would need as much memory as where it is read to.
func (s *source) bypassesCache(p transfer, from views.View, in []chunkRange) bool {
	size, limit := p.to.Len()*s.size, s.d.file.chunks.limit
	return size > limit || size > limit/4 && s.takesChunk(from, in)
}

// readUncached reads a part of a chunk through temporary memory.
func (s *source) readUncached(dst []byte, to, from views.View, size int, e chunkEntry) error {
	if err := s.d.checkAllocation(size, e); err != nil {
		return err
	}
	chunk := scratch.Get(size)
	defer scratch.Put(chunk)
	err := s.d.decode(chunk, e)
	if err == nil {
		s.gather(dst, chunk, to, from)
	}
	return err
}

// decodeTarget returns the part of dst into which a chunk can be decoded directly, if the
// view selects all of it contiguously and without conversion, or else nil.
func (s *source) decodeTarget(dst []byte, to, from views.View, size int) []byte {
	if s.convert != nil || from.Len()*s.size != size || from.Offset != 0 || !contiguous(from, s.size) || !contiguous(to, 1) {
		return nil
	}
	at := to.Offset * s.size
	return dst[at : at+size : at+size]
}

// contiguous reports whether v is row-major without gaps, in units of the given stride.
func contiguous(v views.View, unit int) bool {
	for axis := v.Rank() - 1; axis >= 0; axis-- {
		if v.Shape[axis] != 1 && v.Stride[axis] != unit {
			return false
		}
		unit *= v.Shape[axis]
	}
	return true
}

// checkStored returns an error for chunks that are outside of the file or implausibly small.
func (d *Dataset) checkStored(size int, e chunkEntry) error {
	if _, err := d.file.span(e.address, e.size); err != nil {
		return err
	}
	return checkRatio(size, e.size)
}

// checkAllocation returns an error if the memory to decode a chunk must not be allocated:
// a buffer for each filter.
func (d *Dataset) checkAllocation(size int, e chunkEntry) error {
	if err := d.checkStored(size, e); err != nil {
		return err
	}
	return d.file.options.Budget.Allocate(size*max(1, len(d.Filters)), e.size)
}

// largeStored is the number of stored bytes of a chunk from which on they are decoded as they are read, if
// its filters allow that: they would take memory beside the decoded ones. Tests change it.
var largeStored = 32 << 20

// decode reads and decodes a stored chunk into dst.
func (d *Dataset) decode(dst []byte, e chunkEntry) error {
	if err := d.checkStored(len(dst), e); err != nil {
		return err
	}
	if e.size > largeStored && filter.Streams(d.Filters, e.mask) {
		return filter.DecodeStream(dst, &storedReader{d.file, e.address, e.size}, d.Filters, d.Type.Size)
	}
	raw := scratch.Get(e.size)
	defer scratch.Put(raw)
	span := trace.Begin(trace.Reading, "chunk", -1)
	err := d.file.readAt(raw, e.address)
	span.End()
	if err != nil {
		return err
	}
	return filter.Decode(dst, raw, d.Filters, e.mask, d.Type.Size)
}

// A storedReader reads consecutive bytes of a file.
type storedReader struct {
	file    *File
	address uint64
	left    int
}

func (r *storedReader) Read(b []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	if err := r.file.err(); err != nil {
		return 0, err
	}
	b = b[:min(len(b), r.left)]
	if err := r.file.readAt(b, r.address); err != nil {
		return 0, err
	}
	r.address += uint64(len(b))
	r.left -= len(b)
	return len(b), nil
}
