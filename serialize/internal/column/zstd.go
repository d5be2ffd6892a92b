package column

import (
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

// DecodeZstd decompresses b, which must have size bytes then. The caller has asked the budget
// for them.
func DecodeZstd(b []byte, size int) ([]byte, error) {
	decoder, err := zstdDecoder()
	if err != nil {
		return nil, err
	}
	out, err := decoder.DecodeAll(b, make([]byte, 0, size))
	if err == nil && len(out) != size {
		err = fmt.Errorf("%d bytes instead of %d: %w", len(out), size, storage.ErrState)
	}
	return out, err
}
