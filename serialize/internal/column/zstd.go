package column

import (
	"errors"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/h5dnn/h5dnn/storage"
)

// zstdDecoder decodes whole buffers. A stream would allocate the window that a frame declares,
// of up to 512 MiB, however short the frame is.
var zstdDecoder = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderLowmem(true))
})

// DecodeZstd decompresses b, which must have size bytes then. What it allocates is in proportion
// to what there is, if that is less: a frame has any number of bytes of each byte.
func DecodeZstd(b []byte, size int) ([]byte, error) {
	decoder, err := zstdDecoder()
	if err != nil {
		return nil, err
	}
	var out []byte
	for limit := min(size, 64*len(b)+1<<16); ; limit = min(size, 8*limit) {
		out, err = decoder.DecodeAll(b, make([]byte, 0, limit))
		if limit == size || !errors.Is(err, zstd.ErrDecoderSizeExceeded) {
			break
		}
	}
	if err == nil && len(out) != size {
		err = fmt.Errorf("%d bytes instead of %d: %w", len(out), size, storage.ErrState)
	}
	return out, err
}
