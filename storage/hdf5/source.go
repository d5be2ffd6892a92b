package hdf5

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A source reads elements of a dataset as a view asks for them. Where elements
// are arrays, their axes come after the dataset's.
type source struct {
	d *Dataset
	number
	shape  []int // all axes
	stride []int // bytes from element to element along the axes of one element
	at     int   // where in an element the number is
	total  int   // numbers
}

// newSource returns a source of what n is, at a place in each element.
func (d *Dataset) newSource(n number, at int) (*source, error) {
	if d.Shape == nil {
		return nil, errors.New("has no elements (null dataspace)")
	}
	s := &source{d: d, number: n, at: at, shape: slices.Concat(d.Shape, n.dims)}
	var err error
	if s.total, err = multiply(s.shape...); err == nil {
		_, err = multiply(append([]int{max(d.Type.Size, n.to.Size())}, s.shape...)...)
	}
	if err != nil {
		return nil, err
	}
	s.stride = make([]int, len(n.dims))
	step := n.size
	for axis := len(n.dims) - 1; axis >= 0; axis-- {
		s.stride[axis] = step
		step *= n.dims[axis]
	}
	return s, d.readable()
}

// readable tells why the elements cannot be read, if so.
func (d *Dataset) readable() error {
	switch {
	case d.layout.class == layoutVirtual:
		return d.sourcesReadable()
	case len(d.External) > 0:
		_, err := d.file.below(d.External[0].Name)
		return err
	case d.layout.class == layoutChunked:
		return nil
	}
	size, err := multiply(append([]int{d.Type.Size}, d.Shape...)...)
	switch {
	case err != nil:
		return err
	case d.layout.class == layoutCompact && len(d.layout.data) < size:
		return fmt.Errorf("%d bytes stored of %d", len(d.layout.data), size)
	case d.layout.class == layoutCompact || d.layout.address == undefined:
		return nil
	case d.layout.size >= 0 && d.layout.size < size:
		return fmt.Errorf("%d bytes stored of %d", d.layout.size, size)
	}
	_, err = d.file.span(d.layout.address, size)
	return err
}

// Array returns the dataset's numbers as an array that reads them as they are
// asked for. Bools are those of h5py; complex numbers are compounds of r and i;
// enums and bitfields are integers; where elements are arrays, their axes come
// after the dataset's.
func (d *Dataset) Array() (storage.Array, error) {
	n, err := d.Type.number()
	var s *source
	if err == nil {
		s, err = d.newSource(n, 0)
	}
	if err != nil {
		return storage.Array{}, d.file.fail(d.Path, err)
	}
	return storage.Array{Data: s.data(), Type: n.to, View: views.Of(s.shape...)}, nil
}

// Member returns one member of a dataset of compounds as an array.
func (d *Dataset) Member(name string) (storage.Array, error) {
	for _, m := range d.Type.Members {
		if m.Name != name {
			continue
		}
		n, err := m.Type.number()
		var s *source
		if err == nil {
			s, err = d.newSource(n, m.Offset)
		}
		if err != nil {
			return storage.Array{}, d.file.fail(d.Path+"."+name, err)
		}
		return storage.Array{Data: s.data(), Type: n.to, View: views.Of(s.shape...)}, nil
	}
	return storage.Array{}, d.file.fail(d.Path, fmt.Errorf("no member %q in %v: %w", name, d.Type, dtype.ErrType))
}

// View returns the view of all elements, to cut smaller ones from.
func (d *Dataset) View() views.View { return views.Of(d.Shape...) }

// Raw returns the elements that v selects as they are stored.
func (d *Dataset) Raw(v views.View) ([]byte, error) {
	s, err := d.newSource(number{size: d.Type.Size}, 0)
	if err != nil {
		return nil, d.file.fail(d.Path, err)
	}
	if !v.Within(s.total) {
		return nil, d.file.fail(d.Path, fmt.Errorf("view of %v reaches beyond shape %v: %w", v.Shape, d.Shape, views.ErrShape))
	}
	size, err := multiply(v.Len(), s.size)
	if err == nil && size > 4<<30 && size/1000 > d.file.size {
		err = fmt.Errorf("%d bytes from a file of %d are not believed", size, d.file.size)
	}
	if err != nil {
		return nil, d.file.fail(d.Path, err)
	}
	dst := make([]byte, size)
	return dst, s.read(dst, v)
}

// Len returns the bytes that all elements take in memory.
func (s *source) Len() int { return s.total * s.width() }

// width returns the bytes of an element in memory.
func (s *source) width() int {
	if s.to == dtype.Invalid {
		return s.size // raw
	}
	return s.to.Size()
}

func (s *source) Device() storage.Device { return storage.File(s.d.file.name) }

// ReadView reads the elements that v selects, and of chunks only those that
// they are in.
func (s *source) ReadView(dst []byte, t dtype.Type, v views.View) error {
	switch {
	case t != s.to:
		return s.d.file.fail(s.d.Path, fmt.Errorf("read as %v, is %v: %w", t, s.to, dtype.ErrType))
	case !v.Within(s.total) || len(dst) < v.Len()*s.width():
		return s.d.file.fail(s.d.Path, fmt.Errorf("view of %v into %d bytes, of %v: %w", v.Shape, len(dst), s.shape, views.ErrShape))
	}
	return s.read(dst, v)
}

func (s *source) read(dst []byte, v views.View) error {
	err := s.readPieces(dst, piece{from: v, to: views.Of(v.Shape...)})
	if s.d.file.mapping.isClosed() { // then, or in the meantime
		err = errClosed
	}
	if err != nil {
		return s.d.file.fail(s.d.Path, err)
	}
	return nil
}

func (s *source) readPieces(dst []byte, p piece) error {
	return pieces(s.shape, p, func(p piece, t []track) error { return s.readPiece(dst, p, t) })
}

// readPiece reads a piece, one axis of it for one of the dataset's.
func (s *source) readPiece(dst []byte, p piece, t []track) error {
	switch {
	case s.d.layout.class == layoutChunked:
		return s.readChunks(dst, p, t)
	case s.d.layout.class == layoutVirtual:
		return s.readVirtual(dst, p, t)
	case len(s.d.External) > 0:
		return s.readExternal(dst, p, t)
	}
	from := s.within(p, t, nil, s.d.Shape)
	switch l := s.d.layout; {
	case l.class == layoutCompact:
		s.gather(dst, l.data, p.to, from)
		return nil
	case l.address == undefined:
		s.gatherFill(dst, p, t)
		return nil
	default:
		lo, hi := from.Bounds()
		return s.d.file.lend(l.address+uint64(lo), hi-lo+s.size, func(b []byte) {
			from.Offset -= lo
			s.gather(dst, b, p.to, from)
		})
	}
}

// A segment is where a track stays within one chunk: n steps from step first on.
type segment struct{ chunk, first, n int }

// segments cuts a track by chunks of the given size.
func (t track) segments(size int) []segment {
	var all []segment
	for k := 0; k < t.n; {
		at := t.start + k*t.step
		chunk := at / size
		n := t.n - k
		switch {
		case t.step > 0:
			n = min(n, ((chunk+1)*size-at-1)/t.step+1)
		case t.step < 0:
			n = min(n, (at-chunk*size)/-t.step+1)
		}
		all = append(all, segment{chunk, k, n})
		k += n
	}
	return all
}

// within returns the view, in bytes of a chunk of the given shape, of the part
// of a piece that lies in it. Without segments, that is all of it.
func (s *source) within(p piece, t []track, in []segment, chunk []int) views.View {
	from := views.View{Offset: s.at, Shape: slices.Clone(p.from.Shape), Stride: make([]int, len(p.from.Shape))}
	unit := s.d.Type.Size
	for axis := len(t) - 1; axis >= 0; axis-- {
		step, first, start := 0, 0, 0
		if inner := axis - len(chunk); inner >= 0 {
			step = s.stride[inner]
		} else {
			step, unit = unit, unit*chunk[axis]
		}
		if in != nil && axis < len(in) {
			first, start = in[axis].first, in[axis].chunk*chunk[axis]
		}
		from.Offset += (t[axis].start + first*t[axis].step - start) * step
		if k := t[axis].axis; k >= 0 {
			from.Stride[k] = t[axis].step * step
			if in != nil && axis < len(in) {
				from.Shape[k] = in[axis].n
			}
		}
	}
	return from
}

// readChunks reads a piece of a chunked dataset, every chunk once.
func (s *source) readChunks(dst []byte, p piece, t []track) error {
	index, err := s.d.index()
	if err != nil {
		return err
	}
	rank, jobs := len(s.d.Shape), 1
	parts := make([][]segment, rank)
	for axis := range parts {
		parts[axis] = t[axis].segments(s.d.Chunks[axis])
		jobs *= len(parts[axis])
	}
	do := func(job int) error {
		in := make([]segment, rank)
		number := 0
		for axis := rank - 1; axis >= 0; axis-- {
			in[axis] = parts[axis][job%len(parts[axis])]
			job /= len(parts[axis])
		}
		for axis := range in {
			number = number*index.grid[axis] + in[axis].chunk
		}
		if err := s.readChunk(dst, p, t, in, index, number); err != nil {
			return fmt.Errorf("chunk %v: %w", s.coordinates(in), err)
		}
		return nil
	}
	return inParallel(jobs, s.workers(jobs, p), do)
}

// workers returns how many goroutines are worth while: decoding is, copying a
// little is not, and their chunks must fit into memory together.
func (s *source) workers(jobs int, p piece) int {
	const littleToCopy, memory = 4 << 20, 256 << 20
	if len(s.d.Filters) == 0 && p.from.Len()*s.size < littleToCopy {
		return 1
	}
	size, err := s.d.chunkSize()
	if err != nil || size == 0 {
		return 1
	}
	return max(1, min(runtime.GOMAXPROCS(0), jobs, memory/size))
}

// inParallel calls do for 0 to n-1 until one fails.
func inParallel(n, workers int, do func(int) error) error {
	if workers < 2 {
		for k := range n {
			if err := do(k); err != nil {
				return err
			}
		}
		return nil
	}
	var group sync.WaitGroup
	var next atomic.Int64
	errs := make([]error, workers)
	for w := range workers {
		group.Go(func() {
			for k := int(next.Add(1)) - 1; k < n && errs[w] == nil; k = int(next.Add(1)) - 1 {
				if errs[w] = do(k); errs[w] != nil {
					next.Store(math.MaxInt / 2)
				}
			}
		})
	}
	group.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *source) coordinates(in []segment) []int {
	at := make([]int, len(in))
	for axis := range in {
		at[axis] = in[axis].chunk * s.d.Chunks[axis]
	}
	return at
}

// readChunk reads the part of a piece that lies in one chunk.
func (s *source) readChunk(dst []byte, p piece, t []track, in []segment, index *index, number int) error {
	from := s.within(p, t, in, s.d.Chunks)
	to := views.View{Offset: p.to.Offset, Shape: from.Shape, Stride: p.to.Stride}
	for axis := range in {
		if k := t[axis].axis; k >= 0 {
			to.Offset += in[axis].first * to.Stride[k]
		}
	}
	e, stored := index.find(number)
	size, err := s.d.chunkSize()
	switch {
	case err != nil:
		return err
	case !stored:
		s.gatherFill(dst, piece{from, to}, t)
		return nil
	case len(s.d.Filters) == 0:
		return s.d.file.lend(e.address, size, func(b []byte) { s.gather(dst, b, to, from) })
	}
	key := chunkKey{s.d.header.address, number}
	if whole := s.whole(dst, to, from, size); whole != nil && !s.d.file.chunks.has(key) {
		return s.d.decode(whole, e, in)
	}
	chunk, err := s.d.file.chunks.get(key, size, func() ([]byte, error) {
		if err := s.d.storedFor(size, e); err != nil {
			return nil, err
		}
		chunk := make([]byte, size)
		return chunk, s.d.decode(chunk, e, in)
	})
	if err == nil {
		s.gather(dst, chunk, to, from)
	}
	return err
}

// whole returns the part of dst that a chunk can be decoded into directly, if
// the view shows all of it, as it is, in a row.
func (s *source) whole(dst []byte, to, from views.View, size int) []byte {
	if s.convert != nil || from.Len()*s.size != size || from.Offset != 0 || !contiguous(from, s.size) || !contiguous(to, 1) {
		return nil
	}
	at := to.Offset * s.size
	return dst[at : at+size : at+size]
}

// contiguous reports whether v walks from unit to unit without a gap.
func contiguous(v views.View, unit int) bool {
	for axis := v.Rank() - 1; axis >= 0; axis-- {
		if v.Shape[axis] != 1 && v.Stride[axis] != unit {
			return false
		}
		unit *= v.Shape[axis]
	}
	return true
}

// storedFor refuses chunks that lie outside the file, or have too few bytes to
// make what they should.
func (d *Dataset) storedFor(size int, e entry) error {
	if _, err := d.file.span(e.address, e.size); err != nil {
		return err
	}
	return believable(size, e.size)
}

// decode fills dst with what a stored chunk decodes to.
func (d *Dataset) decode(dst []byte, e entry, in []segment) error {
	if err := d.storedFor(len(dst), e); err != nil {
		return err
	}
	mask := e.mask
	if d.layout.index.plainEdge && d.reachesOut(in) {
		mask = math.MaxUint32
	}
	raw := takeScratch(e.size)
	defer giveScratch(raw)
	if err := d.file.readAt(raw, e.address); err != nil {
		return err
	}
	return undoFilters(dst, raw, d.Filters, mask, d.Type.Size)
}

// reachesOut reports whether a chunk extends beyond the shape.
func (d *Dataset) reachesOut(in []segment) bool {
	for axis := range in {
		if (in[axis].chunk+1)*d.Chunks[axis] > d.Shape[axis] {
			return true
		}
	}
	return false
}

// gatherFill writes the fill value wherever the piece shows an element.
func (s *source) gatherFill(dst []byte, p piece, t []track) {
	from := views.View{Offset: s.at, Shape: p.from.Shape, Stride: make([]int, len(p.from.Shape))}
	if s.d.Fill == nil {
		from.Offset = 0
		s.gather(dst, make([]byte, s.size), p.to, from)
		return
	}
	for axis := len(s.d.Shape); axis < len(t); axis++ {
		step := s.stride[axis-len(s.d.Shape)]
		from.Offset += t[axis].start * step
		if k := t[axis].axis; k >= 0 {
			from.Stride[k] = t[axis].step * step
		}
	}
	s.gather(dst, s.d.Fill, p.to, from)
}

// scaled returns v in units that are as many times smaller.
func scaled(v views.View, unit int) views.View {
	w := views.View{Offset: v.Offset * unit, Shape: v.Shape, Stride: slices.Clone(v.Stride)}
	for axis := range w.Stride {
		w.Stride[axis] *= unit
	}
	return w
}

// gather copies numbers from src, where from shows them in bytes, to dst, where
// to shows them in elements, and converts them on the way.
func (s *source) gather(dst, src []byte, to, from views.View) {
	in, out := s.size, s.width()
	views.Walk(func(at, step []int, n int) {
		switch {
		case step[0] == out && step[1] == in && s.convert == nil:
			copy(dst[at[0]:at[0]+n*out], src[at[1]:at[1]+n*in])
		case step[0] == out && step[1] == in:
			s.convert(dst[at[0]:at[0]+n*out], src[at[1]:at[1]+n*in])
		case s.convert == nil:
			move(dst, src, at[0], at[1], step[0], step[1], n, in)
		default:
			s.convertRun(dst, src, at, step, n)
		}
	}, scaled(to, out), from)
}

// move copies n elements that lie steps apart.
func move(dst, src []byte, to, from, dstep, sstep, n, size int) {
	switch size {
	case 1:
		for range n {
			dst[to] = src[from]
			to, from = to+dstep, from+sstep
		}
	case 4:
		for range n {
			*(*[4]byte)(dst[to:]) = *(*[4]byte)(src[from:])
			to, from = to+dstep, from+sstep
		}
	case 8:
		for range n {
			*(*[8]byte)(dst[to:]) = *(*[8]byte)(src[from:])
			to, from = to+dstep, from+sstep
		}
	default:
		for range n {
			copy(dst[to:to+size], src[from:from+size])
			to, from = to+dstep, from+sstep
		}
	}
}

// convertRun converts n elements that lie steps apart, through a small block
// that the conversion sees in a row.
func (s *source) convertRun(dst, src []byte, at, step []int, n int) {
	const block = 256
	in, out := s.size, s.width()
	packed, made := make([]byte, block*in), make([]byte, block*out)
	to, from := at[0], at[1]
	for n > 0 {
		k := min(n, block)
		move(packed, src, 0, from, in, step[1], k, in)
		s.convert(made[:k*out], packed[:k*in])
		move(dst, made, to, 0, step[0], out, k, out)
		to, from, n = to+k*step[0], from+k*step[1], n-k
	}
}
