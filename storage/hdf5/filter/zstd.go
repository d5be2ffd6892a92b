package filter

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Zstandard, filter 32015: one frame (RFC 8878) that includes its decoded size.
//
//	| fd2fb528 | frame header | blocks … |
//
// params[0] is the compression level.

// ZstdID is the number of the Zstandard filter.
const ZstdID = 32015

func init() {
	Register(Codec{ID: ZstdID, Name: "zstd", Plugin: "hdf5plugin", Decode: decodeZstd, DecodePrefix: decodeZstdPrefix, Encode: encodeZstd})
}

// Zstd returns a filter that compresses at level 1 to 22, better than [Deflate] at the
// same speed. Other programs need the registered plugin to read it.
func Zstd(level int) Filter {
	return Filter{ID: ZstdID, Name: "zstd", Flags: 1, Params: []uint32{uint32(level)}}
}

var zstdDecoder = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderLowmem(true))
})

func decodeZstd(dst, src []byte, _ []uint32, _ int) ([]byte, error) {
	d, err := zstdDecoder()
	if err != nil {
		return nil, err
	}
	return d.DecodeAll(src, dst[:0:len(dst)])
}

// zstdPrefixes holds decoders of a frame block by block. They keep a window of the frame in memory, which a file could make as
// large as it likes.
var zstdPrefixes = sync.Pool{New: func() any {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeBuffersBelow(0), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(8<<20))
	if err != nil {
		panic(err) // the options are constant
	}
	return d
}}

func decodeZstdPrefix(dst []byte, r io.Reader) error {
	d := zstdPrefixes.Get().(*zstd.Decoder)
	defer zstdPrefixes.Put(d)
	if err := d.Reset(r); err != nil {
		return err
	}
	_, err := io.ReadFull(d, dst)
	return errors.Join(err, d.Reset(nil))
}

var zstdEncoders sync.Map // of *zstd.Encoder by level

func encodeZstd(src []byte, params []uint32, _ int) ([]byte, error) {
	level := 3
	if len(params) > 0 {
		level = int(int32(params[0]))
	}
	if level < 1 || level > 22 {
		return nil, fmt.Errorf("level %d; levels go from 1 to 22", level)
	}
	e, ok := zstdEncoders.Load(level)
	if !ok {
		// A single segment has its size in the header at any size, which the plugin of libhdf5 needs.
		fresh, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.EncoderLevelFromZstd(level)), zstd.WithEncoderCRC(false), zstd.WithSingleSegment(true))
		if err != nil {
			return nil, err
		}
		e, _ = zstdEncoders.LoadOrStore(level, fresh)
	}
	out := e.(*zstd.Encoder).EncodeAll(src, make([]byte, 0, len(src)/2+64))
	if len(out) >= len(src) {
		return nil, ErrIncompressible
	}
	return out, nil
}
