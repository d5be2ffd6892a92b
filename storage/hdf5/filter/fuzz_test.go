package filter

import (
	"bytes"
	"encoding/binary"
	"testing"
)

// fuzzFilter runs a decoder on arbitrary bytes and parameters. It must not write
// outside its buffer or to its input, nor return more bytes than either has.
// Seeds under testdata/fuzz are chunks of ../testdata/filters.h5.
func fuzzFilter(f *testing.F, id int) {
	codec, _ := Lookup(id)
	if codec.Encode != nil {
		for _, data := range samples()[:30] {
			if stored, err := codec.Encode(data, nil, 4); err == nil {
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
		got, err := codec.Decode(dst, src, words, int(elemSize))
		if !bytes.Equal(src, before) {
			t.Error("the input was modified")
		}
		for i := range margin {
			if buf[i] != 0xa5 || buf[len(buf)-1-i] != 0xa5 {
				t.Fatal("memory outside the buffer was modified")
			}
		}
		if err == nil && len(got) > max(len(dst), len(src)) {
			t.Errorf("%d bytes of result from %d in a buffer of %d", len(got), len(src), len(dst))
		}
	})
}

func FuzzDeflate(f *testing.F)     { fuzzFilter(f, DeflateID) }
func FuzzShuffle(f *testing.F)     { fuzzFilter(f, ShuffleID) }
func FuzzFletcher32(f *testing.F)  { fuzzFilter(f, Fletcher32ID) }
func FuzzSzip(f *testing.F)        { fuzzFilter(f, SzipID) }
func FuzzNbit(f *testing.F)        { fuzzFilter(f, NbitID) }
func FuzzScaleOffset(f *testing.F) { fuzzFilter(f, ScaleOffsetID) }
func FuzzBzip2(f *testing.F)       { fuzzFilter(f, Bzip2ID) }
func FuzzLZF(f *testing.F)         { fuzzFilter(f, LZFID) }
func FuzzBlosc(f *testing.F)       { fuzzFilter(f, BloscID) }
func FuzzBlosc2(f *testing.F)      { fuzzFilter(f, Blosc2ID) }
func FuzzLZO(f *testing.F)         { fuzzFilter(f, LZOID) }
func FuzzLZ4(f *testing.F)         { fuzzFilter(f, LZ4ID) }
func FuzzBitshuffle(f *testing.F)  { fuzzFilter(f, BitshuffleID) }
func FuzzZstd(f *testing.F)        { fuzzFilter(f, ZstdID) }
func FuzzZFP(f *testing.F)         { fuzzFilter(f, ZFPID) }
func FuzzBitRound(f *testing.F)    { fuzzFilter(f, BitRoundID) }
