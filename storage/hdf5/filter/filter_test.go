package filter

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// samples returns chunks of many lengths, from repetitive to random.
func samples() [][]byte {
	random := rand.New(rand.NewPCG(1, 2))
	var all [][]byte
	for _, size := range []int{0, 1, 2, 3, 7, 8, 15, 16, 17, 63, 100, 255, 256, 1000, 4096, 65537, 200704} {
		noise, steps := make([]byte, size), make([]byte, size)
		for i := range noise {
			noise[i], steps[i] = byte(random.Uint32()), byte(i/97)
		}
		all = append(all, noise, steps, make([]byte, size))
	}
	return all
}

// TestRoundTrip encodes and decodes with every kind of pipeline.
func TestRoundTrip(t *testing.T) {
	pipelines := [][]Filter{
		{Deflate(0)}, {Deflate(1)}, {Deflate(6)}, {Deflate(9)},
		{Shuffle()}, {Fletcher32()},
		{Shuffle(), Deflate(4)}, {Shuffle(), Deflate(4), Fletcher32()}, {Fletcher32(), Shuffle(), Deflate(4)},
		{LZ4()}, {Zstd(1)}, {Zstd(19)}, {Shuffle(), LZ4(), Fletcher32()}, {Shuffle(), Zstd(3), Fletcher32()},
	}
	for _, pipeline := range pipelines {
		for _, elemSize := range []int{1, 2, 3, 4, 8, 12, 16, 24} {
			for _, data := range samples() {
				stored, mask, err := Encode(data, pipeline, elemSize)
				if err != nil {
					t.Fatalf("%v: %v", pipeline, err)
				}
				got := make([]byte, len(data))
				if err := Decode(got, stored, pipeline, mask, elemSize); err != nil {
					t.Fatalf("%v, %d bytes, elements of %d: %v", pipeline, len(data), elemSize, err)
				}
				if !bytes.Equal(got, data) {
					t.Fatalf("%v, %d bytes, elements of %d: decoded data differs", pipeline, len(data), elemSize)
				}
			}
		}
	}
}

// TestShuffleTransposes compares the vector code with the definition.
func TestShuffleTransposes(t *testing.T) {
	for _, data := range samples() {
		for k := 2; k <= 24; k++ {
			want, n := bytes.Clone(data), len(data)/k
			for j := range n {
				for p := range k {
					want[p*n+j] = data[j*k+p]
				}
			}
			got, err := encodeShuffle(data, []uint32{uint32(k)}, 0)
			if err != nil || !bytes.Equal(got, want) {
				t.Fatalf("%d bytes, elements of %d: not the transposition (%v)", len(data), k, err)
			}
		}
	}
}

func TestFletcher32AcceptsBothByteOrders(t *testing.T) {
	stored, _ := encodeFletcher32([]byte("abcde"), nil, 0)
	swapped := bytes.Clone(stored)
	swapped[5], swapped[6], swapped[7], swapped[8] = stored[6], stored[5], stored[8], stored[7]
	for _, b := range [][]byte{stored, swapped} {
		if got, err := decodeFletcher32(nil, b, nil, 0); err != nil || string(got) != "abcde" {
			t.Errorf("%x: got %q, %v", b, got, err)
		}
	}
	stored[0] ^= 1
	if _, err := decodeFletcher32(nil, stored, nil, 0); err == nil {
		t.Error("a flipped bit was not detected")
	}
}

func BenchmarkDecode(b *testing.B) {
	data := make([]byte, 200704)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range data { // four in five bytes are zero, as in images of digits
		if i/64%5 == 0 {
			data[i] = byte(random.Uint32())
		}
	}
	for _, pipeline := range [][]Filter{{Deflate(4)}, {Shuffle()}, {Fletcher32()}, {LZ4()}, {Zstd(3)}, {Shuffle(), Deflate(4), Fletcher32()}} {
		b.Run(fmt.Sprint(pipeline), func(b *testing.B) {
			stored, mask, err := Encode(data, pipeline, 4)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			got := make([]byte, len(data))
			for b.Loop() {
				if err := Decode(got, stored, pipeline, mask, 4); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestLZFWritesWithinItsOutput decodes random streams of short literals and matches of all
// near distances, which end within a few bytes of the last copy: the elements are those of
// a decoder of one byte at a time, and the bytes around the output are untouched.
func TestLZFWritesWithinItsOutput(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	for range 20_000 {
		var stream, want []byte
		for range 1 + random.IntN(6) {
			literals := make([]byte, 1+random.IntN(32))
			for i := range literals {
				literals[i] = byte(random.Uint32())
			}
			stream = append(append(stream, byte(len(literals)-1)), literals...)
			want = append(want, literals...)
			if random.IntN(4) == 0 {
				continue
			}
			distance, size := 1+random.IntN(min(len(want), 48)), 3+random.IntN(70)
			d := distance - 1
			if size < 9 {
				stream = append(stream, byte((size-2)<<5|d>>8), byte(d))
			} else {
				stream = append(stream, byte(7<<5|d>>8), byte(size-9), byte(d))
			}
			for range size {
				want = append(want, want[len(want)-distance])
			}
		}
		const guard, filler = 64, 0xA5
		around := bytes.Repeat([]byte{filler}, guard+len(want)+guard)
		out := around[guard : guard+len(want) : guard+len(want)]
		got, err := decodeLZF(out, stream, nil, 1)
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("% x: decoded to % x, %v; want % x", stream, got, err, want)
		}
		for i, b := range around {
			if (i < guard || i >= guard+len(want)) && b != filler {
				t.Fatalf("% x: byte %d of the output of %d was written", stream, i-guard, len(want))
			}
		}
	}
}

// TestMatchDistances decodes handmade streams of literals and matches: at the maximum
// distance of the format, overlapping, and out of range.
func TestMatchDistances(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	plain := make([]byte, 40000)
	for i := range plain {
		plain[i] = byte(random.Uint32())
	}
	var literals []byte
	for at := 0; at < len(plain); at += 32 {
		literals = append(append(literals, 31), plain[at:at+32]...)
	}
	lzf := func(distance, size int) []byte { // size at least 9
		d := distance - 1
		return append(bytes.Clone(literals), byte(7<<5|d>>8), byte(size-9), byte(d))
	}
	bloscLZ := func(distance, size int) []byte { // size 9 to 263
		d := distance - 1
		if d < 8191 {
			return append(bytes.Clone(literals), byte(7<<5|d>>8), byte(size-9), byte(d), 0, plain[0])
		}
		d -= 8191
		return append(bytes.Clone(literals), 7<<5|31, byte(size-9), 255, byte(d>>8), byte(d), 0, plain[0])
	}
	lengths := func(n int) (more []byte) { // of a length from 15 on
		for n -= 15; n >= 255; n -= 255 {
			more = append(more, 255)
		}
		return append(more, byte(n))
	}
	lz4 := func(distance, size int) []byte {
		out := slices.Concat([]byte{15<<4 | byte(min(15, size-4))}, lengths(len(plain)), plain, []byte{byte(distance), byte(distance >> 8)})
		if size-4 >= 15 {
			out = append(out, lengths(size-4)...)
		}
		return append(out, 1<<4, plain[0])
	}
	for _, c := range []struct {
		name     string
		decode   func(dst, src []byte, params []uint32, elemSize int) ([]byte, error)
		stream   func(distance, size int) []byte
		farthest int
		tail     []byte // BloscLZ ends in literals
	}{
		{"lzf", decodeLZF, lzf, 8192, nil},
		{"blosclz", func(dst, src []byte, _ []uint32, _ int) ([]byte, error) { return dst, decodeBloscLZ(dst, src) }, bloscLZ, len(plain) + 1, plain[:1]},
		{"lz4", func(dst, src []byte, _ []uint32, _ int) ([]byte, error) { return dst, decodeLZ4Block(dst, src) }, lz4, len(plain) + 1, plain[:1]},
	} {
		for _, distance := range []int{1, 2, 3, 4, 7, 8, 31, 32, 100, 255, 256, 257, 8190, 8191, 8192, 8193, 8447, 9000, 39999, 40000, 40001} {
			for _, size := range []int{9, 10, 100, 200} {
				if distance > c.farthest {
					continue
				}
				want := bytes.Clone(plain)
				for range size {
					if distance <= len(want) {
						want = append(want, want[len(want)-distance])
					}
				}
				want = append(want, c.tail...)
				got, err := c.decode(make([]byte, len(plain)+size+len(c.tail)), c.stream(distance, size), nil, 1)
				if beyond := distance > len(plain); beyond != (err != nil) || !beyond && !bytes.Equal(got, want) {
					t.Errorf("%s: %d bytes from %d back: error %v, or other bytes", c.name, size, distance, err)
				}
				if _, err := c.decode(make([]byte, len(plain)+size-1), c.stream(distance, size), nil, 1); err == nil {
					t.Errorf("%s: %d bytes from %d back fit in one byte less", c.name, size, distance)
				}
			}
		}
	}
	for _, stream := range [][]byte{{1}, {0, 'a', 32}, {0, 'a', 32, 1}, {0, 'a', 7 << 5}, {0, 'a', 7 << 5, 255}, {0, 'a', 7<<5 | 31, 0, 255}, {31, 'a'}} {
		if _, err := decodeLZF(make([]byte, 10), stream, nil, 1); err == nil {
			t.Errorf("lzf: % x is no error", stream)
		}
		if err := decodeBloscLZ(make([]byte, 10), stream); err == nil {
			t.Errorf("blosclz: % x is no error", stream)
		}
	}
}

// TestZstdFramesHaveTheirSize: the registered plugin does not read others.
func TestZstdFramesHaveTheirSize(t *testing.T) {
	for _, n := range []int{33, 100, 255, 256, 1023, 1025, 70_000, 10 << 20} {
		out, err := encodeZstd(make([]byte, n), []uint32{3}, 8)
		if err != nil {
			t.Fatal(err)
		}
		var h zstd.Header
		if err := h.Decode(out); err != nil || !h.HasFCS || h.FrameContentSize != uint64(n) {
			t.Errorf("%d bytes: the frame has size %d (%v), %v", n, h.FrameContentSize, h.HasFCS, err)
		}
	}
}

// TestDamagedLZ4Blocks: a block that is cut short, or has another byte, is an error or fills exactly the memory that it is given.
func TestDamagedLZ4Blocks(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	plain := make([]byte, 5000)
	for i := range plain {
		plain[i] = byte(random.Uint32N(3))
	}
	encoded, err := encodeLZ4(plain, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	block := encoded[16:] // after the sizes
	memory := make([]byte, len(plain)+64)
	for k := range 20000 {
		damaged := bytes.Clone(block)
		if k < len(block) {
			damaged = damaged[:k]
		} else {
			damaged[random.IntN(len(block))] = byte(random.Uint32())
		}
		clear(memory[len(plain):])
		err := decodeLZ4Block(memory[:len(plain):len(plain)], damaged)
		if k < len(block) && err == nil {
			t.Fatalf("the first %d of %d bytes are no error", k, len(block))
		}
		if !bytes.Equal(memory[len(plain):], make([]byte, 64)) {
			t.Fatal("bytes were written beyond the memory of the block")
		}
	}
	if err := decodeLZ4Block(memory[:len(plain)], block); err != nil || !bytes.Equal(memory[:len(plain)], plain) {
		t.Errorf("the block is decoded to other bytes, %v", err)
	}
}
