package filter

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/h5dnn/h5dnn/storage/hdf5/internal/scratch"
)

// Blosc2, filter 32026: a contiguous frame (Blosc/c-blosc2, README_CFRAME_FORMAT.rst).
// Numbers of the frame are big-endian; bytes between them are tags of msgpack.
//
//	| 9e a8 "b2frame\0" d2 | header size: 4 | cf | frame size: 8 | a4 | flags: 4 |
//	| d3 | size: 8 | d3 | size of the chunks: 8 | d2 | element size: 4 | d2 | block size: 4 | d2 | chunk size: 4 | …
//	at 0x57: | 93 cd | size: 2 | de | metalayers: 2 | a0+length, name, d2, offset: 4 | …
//	chunk … | index, a chunk | trailer |
//
// The index has a 64-bit offset of each chunk from the end of the header. If its highest
// bit is set, the chunk is not stored; it has the special value in bits 56 to 58.
//
// With a metalayer "b2nd" (README_B2ND_METALAYER.rst), the elements are an array of several
// axes, in chunks of blocks; chunks are padded to whole blocks.
//
//	offset: | c6 | size: 4 | 97 version axes | 90+axes: d3 size: 8 … | 90+axes: d2 chunk: 4 … | 90+axes: d2 block: 4 … | …

// Blosc2ID is the number of the Blosc2 filter.
const Blosc2ID = 32026

func init() {
	Register(Codec{ID: Blosc2ID, Name: "blosc2", Plugin: "hdf5plugin", Decode: decodeBlosc2})
}

// A blosc2Frame is the header of a frame.
type blosc2Frame struct {
	bytes    []byte // of the frame
	header   int    // bytes
	chunks   int    // bytes of all chunks
	size     int    // decoded
	elemSize int
	chunk    int // bytes of a chunk, decoded
	meta     []byte
}

func decodeBlosc2(dst, src []byte, _ []uint32, _ int) ([]byte, error) {
	f, err := parseBlosc2Frame(src, len(dst))
	if err != nil {
		return nil, err
	}
	chunks, err := f.open()
	if err != nil {
		return nil, err
	}
	defer chunks.close()
	if f.meta != nil {
		return f.decodeArray(dst, chunks)
	}
	at := 0
	for k := range chunks.n {
		n, err := chunks.decode(k, dst[at:f.size])
		if err != nil {
			return nil, err
		}
		at += n
	}
	if at != f.size {
		return nil, errCorrupt
	}
	return dst[:at], nil
}

func parseBlosc2Frame(src []byte, maxSize int) (f blosc2Frame, err error) {
	if len(src) < 0x5e || string(src[2:10]) != "b2frame\x00" {
		return f, fmt.Errorf("no Blosc2 frame: %w", errCorrupt)
	}
	number := func(at, n int) int {
		x := uint64(0)
		for _, b := range src[at : at+n] {
			x = x<<8 | uint64(b)
		}
		return int(min(x, math.MaxInt32))
	}
	f = blosc2Frame{header: number(0x0b, 4), size: number(0x1e, 8), chunks: number(0x27, 8),
		elemSize: number(0x30, 4), chunk: number(0x3a, 4)}
	length := number(0x10, 8)
	if length > len(src) || f.header < 0x5e || f.header > length || f.chunks > length-f.header || f.elemSize < 1 {
		return f, errCorrupt
	}
	f.bytes = src[:length]
	at := 0x5e
	for range number(0x5c, 2) { // metalayers
		if at >= f.header || at+1+int(src[at]&31)+5 > f.header {
			return f, errCorrupt
		}
		name := src[at+1 : at+1+int(src[at]&31)]
		at += 1 + len(name) + 5
		if from := number(at-4, 4); string(name) == "b2nd" {
			if from+5 > f.header || number(from+1, 4) > f.header-from-5 {
				return f, errCorrupt
			}
			f.meta = src[from+5 : from+5+number(from+1, 4)]
		}
	}
	if f.size > maxSize && f.meta == nil {
		return f, fmt.Errorf("%d bytes, where %d are expected: %w", f.size, maxSize, errCorrupt)
	}
	return f, nil
}

// blosc2Chunks decode the chunks of a frame, with c-blosc2 if it is installed.
type blosc2Chunks struct {
	n      int
	decode func(k int, dst []byte) (int, error) // returns the size of the chunk
	close  func()
}

func (f blosc2Frame) open() (c blosc2Chunks, err error) {
	if f.chunk > 0 {
		c.n = (f.size + f.chunk - 1) / f.chunk
	}
	if c.n > len(f.bytes) { // a special chunk takes 8 bytes in the index, compressed
		return c, errCorrupt
	}
	if c.decode, c.close, err = libraryChunks(f.bytes); err != nil || c.decode != nil {
		return c, err
	}
	index, err := f.index()
	if err == nil && len(index) != c.n {
		err = fmt.Errorf("%d chunks in the index, want %d: %w", len(index), c.n, errCorrupt)
	}
	c.decode = func(k int, dst []byte) (int, error) { return f.decodeChunk(dst, index[k]) }
	c.close = func() {}
	return c, err
}

// index returns the offset of every chunk.
func (f blosc2Frame) index() ([]int64, error) {
	if f.size == 0 && f.chunks == 0 {
		return nil, nil
	}
	packed := f.bytes[f.header+f.chunks:]
	if len(packed) < 16 {
		return nil, errCorrupt
	}
	n := int(binary.LittleEndian.Uint32(packed[4:]))
	if n%8 != 0 || n > 8*len(f.bytes) { // a special chunk takes 8 bytes, compressed
		return nil, errCorrupt
	}
	raw := make([]byte, n)
	if _, err := decodeBlosc2Chunk(raw, packed); err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	all := make([]int64, n/8)
	for k := range all {
		all[k] = int64(binary.LittleEndian.Uint64(raw[8*k:]))
	}
	return all, nil
}

// decodeChunk decodes the chunk at an offset into dst, and returns its size.
func (f blosc2Frame) decodeChunk(dst []byte, offset int64) (int, error) {
	switch {
	case offset < 0:
		dst = dst[:min(len(dst), f.chunk)]
		return len(dst), fillSpecial(dst, int(offset>>56)&7, f.elemSize, nil)
	case offset > int64(f.chunks):
		return 0, errCorrupt
	}
	return decodeBlosc2Chunk(dst, f.bytes[f.header+int(offset):f.header+f.chunks])
}

// decodeArray decodes an array of several axes.
func (f blosc2Frame) decodeArray(dst []byte, chunks blosc2Chunks) ([]byte, error) {
	shape, chunk, block, err := parseB2ND(f.meta)
	if err != nil {
		return nil, err
	}
	size, padded, grid, count := f.elemSize, f.elemSize, make([]int, len(shape)), 1
	for axis := range shape {
		if size > len(dst) || padded > 1<<31 {
			return nil, errCorrupt
		}
		size *= shape[axis]
		padded *= (chunk[axis] + block[axis] - 1) / block[axis] * block[axis]
		grid[axis] = (shape[axis] + chunk[axis] - 1) / chunk[axis]
		count *= grid[axis]
	}
	// Padding doubles an axis at most; less on average.
	if size > len(dst) || count != chunks.n || padded > 64*len(dst)+1<<20 {
		return nil, fmt.Errorf("array of shape %v in %d chunks of %v: %w", shape, chunks.n, chunk, errCorrupt)
	}
	buf := scratch.Get(padded)
	defer scratch.Put(buf)
	start := make([]int, len(shape))
	for k := range chunks.n {
		if n, err := chunks.decode(k, buf); err != nil || n != padded {
			return nil, fmt.Errorf("chunk %d: %w", k, cmp.Or(err, errCorrupt))
		}
		f.placeChunk(dst, buf, shape, chunk, block, start)
		advance(start, shape, chunk)
	}
	return dst[:size], nil
}

// placeChunk copies the blocks of the chunk that begins at start to their places in the
// array, without the padding.
func (f blosc2Frame) placeChunk(dst, buf []byte, shape, chunk, block, start []int) {
	rank := len(shape)
	blockBytes := f.elemSize
	for _, n := range block {
		blockBytes *= n
	}
	at := make([]int, rank) // of the block in the chunk
	for len(buf) >= blockBytes {
		inside := make([]int, rank) // of a row in the block
		for row := 0; ; row++ {
			to, n := 0, 0
			valid := true
			for axis := range rank {
				i := at[axis] + inside[axis]
				if axis == rank-1 {
					n = min(block[axis], chunk[axis]-i, shape[axis]-start[axis]-i)
				}
				valid = valid && i < chunk[axis] && start[axis]+i < shape[axis]
				to = to*shape[axis] + start[axis] + i
			}
			if valid {
				from := row * block[rank-1] * f.elemSize
				copy(dst[to*f.elemSize:(to+n)*f.elemSize], buf[from:])
			}
			if !advance(inside[:rank-1], block[:rank-1], nil) {
				break
			}
		}
		buf = buf[blockBytes:]
		steps := make([]int, rank)
		for axis := range steps {
			steps[axis] = (chunk[axis] + block[axis] - 1) / block[axis] * block[axis]
		}
		if !advance(at, steps, block) {
			return
		}
	}
}

// advance moves to the next position of a shape, in row-major order and in steps of a
// block, or of 1 without one.
func advance(at, shape, block []int) bool {
	for axis := len(at) - 1; axis >= 0; axis-- {
		step := 1
		if block != nil {
			step = block[axis]
		}
		if at[axis] += step; at[axis] < shape[axis] {
			return true
		}
		at[axis] = 0
	}
	return false
}

// parseB2ND reads the shapes of the array, its chunks and its blocks.
func parseB2ND(meta []byte) (shape, chunk, block []int, err error) {
	if len(meta) < 3 || meta[0]&0xf0 != 0x90 || meta[2] < 1 || meta[2] > 15 {
		return nil, nil, nil, fmt.Errorf("b2nd metalayer: %w", errCorrupt)
	}
	rank, at := int(meta[2]), 3
	list := func(width int) (all []int) {
		at++
		for range rank {
			if at+1+width > len(meta) {
				err = errCorrupt
				return nil
			}
			x := uint64(0)
			for _, b := range meta[at+1 : at+1+width] {
				x = x<<8 | uint64(b)
			}
			if at += 1 + width; x < 1 || x > math.MaxInt32 {
				err = errCorrupt
			}
			all = append(all, int(x))
		}
		return all
	}
	shape, chunk, block = list(8), list(4), list(4)
	return shape, chunk, block, err
}

// fillSpecial fills dst with the special values of a chunk.
func fillSpecial(dst []byte, kind, elemSize int, value []byte) error {
	switch kind {
	case 1, 4: // zeros, not initialized
		clear(dst)
		return nil
	case 2: // NaN
		value = binary.LittleEndian.AppendUint64(nil, math.Float64bits(math.NaN())&^1)
		if elemSize == 4 {
			value = binary.LittleEndian.AppendUint32(nil, 0x7fc00000)
		}
	case 3:
	default:
		return fmt.Errorf("special value %d is not known", kind)
	}
	if len(value) < elemSize || elemSize < 1 {
		return errCorrupt
	}
	copy(dst, bytes.Repeat(value[:elemSize], len(dst)/elemSize+1))
	return nil
}
