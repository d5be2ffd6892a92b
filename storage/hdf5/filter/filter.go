// Package filter encodes and decodes the chunks of HDF5 datasets: compression,
// checksums and reordering of bytes. It knows bytes and parameters, not files.
//
// Each filter is one file, which registers its codec. A program that imports this
// package, or package hdf5, which does, can decode every filter listed here.
package filter

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/h5dnn/h5dnn/storage/hdf5/internal/scratch"
)

// A Filter is one step of the pipeline that chunks pass when they are written. They
// pass it in reverse when they are read.
type Filter struct {
	ID     int // as registered with the HDF Group
	Name   string
	Flags  int // bit 0: optional, so chunks may be stored without it
	Params []uint32
}

// String returns the filter's name, or its number if it has none.
func (f Filter) String() string {
	if f.Name != "" {
		return f.Name
	}
	return Name(f.ID)
}

// A Codec implements a filter.
type Codec struct {
	ID   int
	Name string

	// Plugin is the package of Python that installs the filter for libhdf5, and so for h5py;
	// "" for filters that libhdf5 or h5py has itself.
	Plugin string

	// Decode reverses the filter. src is the output of the filter for at most
	// len(dst) bytes. The result is a part of dst, or of src if nothing had to be
	// moved; src is never modified. elemSize is the size of the dataset's elements,
	// for filters whose parameters do not include it.
	Decode func(dst, src []byte, params []uint32, elemSize int) ([]byte, error)

	// DecodePrefix fills dst with the first bytes that Decode returns, from the stored bytes that r reads. It is nil for
	// filters that decode chunks as a whole only.
	DecodePrefix func(dst []byte, r io.Reader) error

	// Encode applies the filter to src, which it does not modify. The result may be
	// src. It fails with [ErrIncompressible] if the result would be larger. Encode is
	// nil for filters that can only be decoded.
	Encode func(src []byte, params []uint32, elemSize int) ([]byte, error)
}

var (
	codecs   atomic.Pointer[map[int]Codec] // by ID; replaced, never modified
	register sync.Mutex
)

// Register makes a codec available to every reader and writer of the program. It
// panics if its ID is already registered.
func Register(c Codec) {
	register.Lock()
	defer register.Unlock()
	if _, taken := Lookup(c.ID); taken {
		panic(fmt.Sprintf("filter: %d is already registered", c.ID))
	}
	all := map[int]Codec{c.ID: c}
	if old := codecs.Load(); old != nil {
		maps.Copy(all, *old)
	}
	codecs.Store(&all)
}

// Lookup returns the codec registered for a filter ID.
func Lookup(id int) (Codec, bool) {
	all := codecs.Load()
	if all == nil {
		return Codec{}, false
	}
	c, ok := (*all)[id]
	return c, ok
}

// Name returns the registered name of a filter ID, or the ID in decimal.
func Name(id int) string {
	if c, ok := Lookup(id); ok {
		return c.Name
	}
	return strconv.Itoa(id)
}

// Plugin returns the package of Python with which h5py applies a filter, "?" if that is not
// known, and "" if h5py needs none.
func Plugin(id int) string {
	const reserved = 256 // for the filters of libhdf5 itself
	c, known := Lookup(id)
	if !known && id >= reserved {
		return "?"
	}
	return c.Plugin
}

// CanEncode reports whether chunks can be written with the filter.
func CanEncode(id int) bool {
	c, _ := Lookup(id)
	return c.Encode != nil
}

// CanDecode returns an error that names the first filter of a pipeline that is not
// registered.
func CanDecode(pipeline []Filter) error {
	for _, f := range pipeline {
		if _, ok := Lookup(f.ID); !ok {
			return unsupported(f)
		}
	}
	return nil
}

func unsupported(f Filter) error {
	return fmt.Errorf("filter %d (%v) is not supported; h5repack -f NONE removes it where its plugin is installed", f.ID, f)
}

// Decode decodes the stored bytes of a chunk into dst, which they must fill. The
// filters are reversed from last to first. If bit i of mask is set, filter i was
// skipped when the chunk was written. src must not be a mapped file, which could be
// truncated while C code reads it.
func Decode(dst, src []byte, pipeline []Filter, mask uint32, elemSize int) error {
	applied := make([]int, 0, 8)
	for i := range pipeline {
		if i >= 32 || mask>>i&1 == 0 {
			applied = append(applied, i)
		}
	}
	// A filter may add a header or a checksum to incompressible data before the
	// next filter, but not much more.
	limit := len(dst) + len(dst)/8 + 4096
	for k := len(applied) - 1; k >= 0; k-- {
		f, to := pipeline[applied[k]], dst
		if k > 0 {
			to = scratch.Get(limit)
			defer scratch.Put(to)
		}
		codec, ok := Lookup(f.ID)
		if !ok {
			return unsupported(f)
		}
		var err error
		if src, err = codec.Decode(to, src, f.Params, elemSize); err != nil {
			return fmt.Errorf("%v: %w", f, err)
		}
	}
	if len(src) != len(dst) {
		return fmt.Errorf("chunk decodes to %d bytes, want %d", len(src), len(dst))
	}
	if len(dst) > 0 && &src[0] != &dst[0] {
		copy(dst, src)
	}
	return nil
}

// Prefix returns the function that fills dst with the first bytes of a chunk, from the stored bytes that r reads, or nil if the
// chunk must be decoded as a whole. The rest of the chunk is not checked. [Decode] says what mask is.
func Prefix(pipeline []Filter, mask uint32) func(dst []byte, r io.Reader) error {
	if len(pipeline) != 1 || mask != 0 {
		return nil
	}
	codec, _ := Lookup(pipeline[0].ID)
	return codec.DecodePrefix
}

// Encode encodes a chunk for storing. The result may be src. Bits of mask are set
// for the optional filters that were skipped because they did not make it smaller.
func Encode(src []byte, pipeline []Filter, elemSize int) (out []byte, mask uint32, err error) {
	for i, f := range pipeline {
		codec, _ := Lookup(f.ID)
		if codec.Encode == nil {
			return nil, 0, fmt.Errorf("filter %d (%v) cannot be written; deflate, lz4, zstd, shuffle and fletcher32 can", f.ID, f)
		}
		encoded, err := codec.Encode(src, f.Params, elemSize)
		switch {
		case errors.Is(err, ErrIncompressible) && f.Flags&1 != 0:
			mask |= 1 << i
		case err != nil:
			return nil, 0, fmt.Errorf("%v: %w", f, err)
		default:
			src = encoded
		}
	}
	return src, mask, nil
}

// ErrIncompressible is the error of encoders whose result would not be smaller than
// their input. An optional filter is then skipped.
var ErrIncompressible = errors.New("data does not get smaller")

// errCorrupt is returned by decoders that cannot say more.
var errCorrupt = errors.New("corrupt data")
