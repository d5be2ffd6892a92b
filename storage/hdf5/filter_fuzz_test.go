package hdf5

import (
	"bytes"
	"encoding/binary"
	"testing"
)

// fuzzFilter tries a decoder on any bytes and params. Whatever they are, it must
// neither write beyond the room it has nor to what it reads, nor return more.
// Seeds under testdata/fuzz are chunks of testdata/filters.h5.
func fuzzFilter(f *testing.F, id int) {
	decode := filters.decode[id]
	if filters.encode[id] != nil {
		for _, data := range samples()[:30] {
			if stored, err := filters.encode[id](data, nil, 4); err == nil {
				f.Add(stored, []byte{}, uint16(len(data)), byte(4))
			}
		}
	}
	f.Fuzz(func(t *testing.T, src, params []byte, size uint16, elemSize byte) {
		var words []uint32
		for ; len(params) >= 4; params = params[4:] {
			words = append(words, binary.LittleEndian.Uint32(params))
		}
		const margin = 64
		buf := bytes.Repeat([]byte{0xa5}, int(size)+2*margin)
		dst := buf[margin : margin+int(size)]
		before := bytes.Clone(src)
		got, err := decode(dst, src, words, int(elemSize))
		if !bytes.Equal(src, before) {
			t.Error("the source was written to")
		}
		for i := range margin {
			if buf[i] != 0xa5 || buf[len(buf)-1-i] != 0xa5 {
				t.Fatal("memory beside the room was written to")
			}
		}
		if err == nil && len(got) > max(len(dst), len(src)) {
			t.Errorf("%d bytes of result from %d in a room for %d", len(got), len(src), len(dst))
		}
	})
}

func FuzzFilterDeflate(f *testing.F)     { fuzzFilter(f, FilterDeflate) }
func FuzzFilterShuffle(f *testing.F)     { fuzzFilter(f, FilterShuffle) }
func FuzzFilterFletcher32(f *testing.F)  { fuzzFilter(f, FilterFletcher32) }
func FuzzFilterSzip(f *testing.F)        { fuzzFilter(f, FilterSzip) }
func FuzzFilterNbit(f *testing.F)        { fuzzFilter(f, FilterNbit) }
func FuzzFilterScaleOffset(f *testing.F) { fuzzFilter(f, FilterScaleOffset) }
func FuzzFilterBzip2(f *testing.F)       { fuzzFilter(f, FilterBzip2) }
func FuzzFilterLZF(f *testing.F)         { fuzzFilter(f, FilterLZF) }
func FuzzFilterBlosc(f *testing.F)       { fuzzFilter(f, FilterBlosc) }
func FuzzFilterLZ4(f *testing.F)         { fuzzFilter(f, FilterLZ4) }
func FuzzFilterBitshuffle(f *testing.F)  { fuzzFilter(f, FilterBitshuffle) }
func FuzzFilterZstd(f *testing.F)        { fuzzFilter(f, FilterZstd) }
func FuzzFilterZFP(f *testing.F)         { fuzzFilter(f, FilterZFP) }
func FuzzFilterBitRound(f *testing.F)    { fuzzFilter(f, FilterBitRound) }
