package hdf5

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
)

// Numbers of the filters this package knows, as the HDF Group registers them.
const (
	FilterDeflate     = 1
	FilterShuffle     = 2
	FilterFletcher32  = 3
	FilterSzip        = 4
	FilterNbit        = 5
	FilterScaleOffset = 6
	FilterBzip2       = 307
	FilterLZF         = 32000
	FilterBlosc       = 32001
	FilterLZ4         = 32004
	FilterBitshuffle  = 32008
	FilterZFP         = 32013
	FilterZstd        = 32015
	FilterBitGroom    = 32022
	FilterBitRound    = 32023
)

// A Filter is one step of the pipeline that a dataset's chunks pass on their
// way to the file, and in reverse on their way back.
type Filter struct {
	ID     int
	Name   string
	Flags  int // bit 0: a chunk may be stored without it
	Params []uint32
}

func (f Filter) String() string {
	if f.Name != "" {
		return f.Name
	}
	return FilterName(f.ID)
}

// A Decoder undoes one filter: src is what the filter made of at most len(dst)
// bytes. The result lies in dst, or in src where nothing had to move; src
// itself is never written to. elemSize is the size of the dataset's elements,
// for filters whose params do not say.
type Decoder func(dst, src []byte, params []uint32, elemSize int) ([]byte, error)

// An encoder applies one filter to src, which it leaves as it is. The result
// may be src, and errNotSmaller says that it was not worth while.
type encoder func(src []byte, params []uint32, elemSize int) ([]byte, error)

var filters = struct {
	sync.RWMutex
	name   map[int]string
	decode map[int]Decoder
	encode map[int]encoder
}{name: map[int]string{}, decode: map[int]Decoder{}, encode: map[int]encoder{}}

// RegisterFilter makes a filter known to every reader of this package.
// It panics if another has its number.
func RegisterFilter(id int, name string, decode Decoder) {
	filters.Lock()
	defer filters.Unlock()
	if _, taken := filters.decode[id]; taken {
		panic(fmt.Sprintf("hdf5: filter %d is already registered", id))
	}
	filters.name[id], filters.decode[id] = name, decode
}

func registerEncoder(id int, encode encoder) { filters.encode[id] = encode }

// FilterName returns the name filter id was registered under, or its number.
func FilterName(id int) string {
	filters.RLock()
	defer filters.RUnlock()
	if name, ok := filters.name[id]; ok {
		return name
	}
	return strconv.Itoa(id)
}

// decoders looks up the Decoder of every filter.
func decoders(pipeline []Filter) ([]Decoder, error) {
	filters.RLock()
	defer filters.RUnlock()
	found := make([]Decoder, len(pipeline))
	for i, f := range pipeline {
		if found[i] = filters.decode[f.ID]; found[i] == nil {
			return nil, fmt.Errorf("filter %d (%v) is not known here; h5repack -f NONE removes it where its plugin is installed", f.ID, f)
		}
	}
	return found, nil
}

// decodeChunk decodes the stored bytes of a chunk into dst, which they must
// fill. Filters are undone from last to first; one whose bit is set in mask
// was left out when this chunk was written. src must be memory that cannot
// vanish, so not a mapped file: some decoders are written in C.
func decodeChunk(dst, src []byte, pipeline []Filter, mask uint32, elemSize int) error {
	decode, err := decoders(pipeline)
	if err != nil {
		return err
	}
	applied := make([]int, 0, 8)
	for i := range pipeline {
		if i >= 32 || mask>>i&1 == 0 {
			applied = append(applied, i)
		}
	}
	// A filter may add a header or a checksum to incompressible data before the
	// next one sees it, but not much more.
	capacity := len(dst) + len(dst)/8 + 4096
	for k := len(applied) - 1; k >= 0; k-- {
		f, to := pipeline[applied[k]], dst
		if k > 0 {
			to = getScratch(capacity)
			defer putScratch(to)
		}
		if src, err = decode[applied[k]](to, src, f.Params, elemSize); err != nil {
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

// encodeChunk encodes a chunk for storing. The result may be src itself.
// Bits of mask tell which filters were left out because they did not help.
func encodeChunk(src []byte, pipeline []Filter, elemSize int) (out []byte, mask uint32, err error) {
	for i, f := range pipeline {
		encode := filters.encode[f.ID]
		if encode == nil {
			return nil, 0, fmt.Errorf("filter %d (%v) cannot be written; deflate, lz4, zstd, shuffle and fletcher32 can", f.ID, f)
		}
		encoded, err := encode(src, f.Params, elemSize)
		switch {
		case errors.Is(err, errIncompressible) && f.Flags&1 != 0:
			mask |= 1 << i
		case err != nil:
			return nil, 0, fmt.Errorf("%v: %w", f, err)
		default:
			src = encoded
		}
	}
	return src, mask, nil
}

// errIncompressible reports that an optional filter would only make a chunk larger.
var errIncompressible = errors.New("data does not get smaller")

// errCorrupt is the reason of decoders that need no more detail.
var errCorrupt = errors.New("corrupt data")

var scratch sync.Pool // of *[]byte

func getScratch(size int) []byte {
	if b, _ := scratch.Get().(*[]byte); b != nil && cap(*b) >= size {
		return (*b)[:size]
	}
	return make([]byte, size)
}

func putScratch(b []byte) { scratch.Put(&b) }
