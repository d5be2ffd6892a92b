package dtype

import (
	"encoding/hex"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

// isNaN reports whether the elements of a float type, or its parts, are NaN.
func isNaN(b []byte, t Type) bool {
	wide := make([]byte, 16)
	if err := Convert(wide, Complex128, b, t); err != nil {
		panic(err)
	}
	c := Cast[complex128](wide)[0]
	return real(c) != real(c) || imag(c) != imag(c)
}

// TestConvertAgreesWithNumPy holds every pair of types to testdata/convert.txt,
// NaN's payloads aside.
func TestConvertAgreesWithNumPy(t *testing.T) {
	text, err := os.ReadFile("testdata/convert.txt")
	if err != nil {
		t.Fatal(err)
	}
	pairs := 0
	for line := range strings.Lines(string(text)) {
		field := strings.Fields(line)
		from, err := Parse(field[0])
		if err != nil {
			t.Fatal(err)
		}
		to, err := Parse(field[1])
		if err != nil {
			t.Fatal(err)
		}
		src, _ := hex.DecodeString(field[2])
		want, _ := hex.DecodeString(field[3])
		n := len(src) / from.Size()
		shifted := make([]byte, len(want)+1)
		for _, got := range [][]byte{make([]byte, len(want)), shifted[1:]} { // the latter is not aligned
			if err := Convert(got, to, src, from); err != nil {
				t.Fatal(err)
			}
			for i := range n {
				x, y, z := src[i*from.Size():][:from.Size()], got[i*to.Size():][:to.Size()], want[i*to.Size():][:to.Size()]
				if string(y) != string(z) && !(isNaN(y, to) && isNaN(z, to)) {
					t.Errorf("%v %x to %v: %x, want %x", from, x, to, y, z)
				}
			}
		}
		pairs++
	}
	if pairs != 14*14 {
		t.Errorf("%d pairs of types, want %d", pairs, 14*14)
	}
}

// TestDirectConversionsAgreeWithRows holds direct to convertRows, over random bytes.
func TestDirectConversionsAgreeWithRows(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, to := range All() {
		for from, f := range direct.At(to) {
			n := 3*rowLen + 17
			words := make([]uint64, n)
			for i := range words {
				words[i] = r.Uint64()
			}
			src := Bytes(words)[:n*from.Size()]
			got, want := make([]byte, n*to.Size()), make([]byte, n*to.Size())
			f(got, src)
			convertRows(want, to, src, from, wrapping)
			for i := range n {
				y, z := got[i*to.Size():][:to.Size()], want[i*to.Size():][:to.Size()]
				if string(y) != string(z) && !(isNaN(y, to) && isNaN(z, to)) {
					t.Fatalf("%v %x to %v: %x, want %x", from, src[i*from.Size():][:from.Size()], to, y, z)
				}
			}
		}
	}
}

// TestEveryPairConverts takes small whole numbers, which all types but bool
// hold, from every type to every other and back.
func TestEveryPairConverts(t *testing.T) {
	want := []float64{0, 1, 2, 3, 7, 12, 14}
	for _, convert := range []func([]byte, Type, []byte, Type) error{Convert, Saturate} {
		for _, from := range All()[1:] {
			src := make([]byte, len(want)*from.Size())
			if err := convert(src, from, Bytes(want), Float64); err != nil {
				t.Fatal(err)
			}
			for _, to := range All()[1:] {
				dst, back := make([]byte, len(want)*to.Size()), make([]float64, len(want))
				if err := convert(dst, to, src, from); err != nil {
					t.Fatal(err)
				}
				if err := convert(Bytes(back), Float64, dst, to); err != nil {
					t.Fatal(err)
				}
				for i := range want {
					if back[i] != want[i] {
						t.Errorf("%v by way of %v to %v: %v", want[i], from, to, back[i])
					}
				}
			}
		}
	}
}

func TestSaturateClampsAndRounds(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, test := range []struct {
		to      Type
		x, want float64
		reason  string
	}{
		{to: Uint8, x: 2.5, want: 2, reason: "ties go to even"},
		{to: Uint8, x: 3.5, want: 4, reason: "ties go to even"},
		{to: Uint8, x: -0.7, want: 0},
		{to: Uint8, x: 300, want: 255},
		{to: Uint8, x: inf, want: 255},
		{to: Uint8, x: nan, want: 0},
		{to: Int8, x: -1000, want: -128},
		{to: Int8, x: 127.5, want: 127},
		{to: Int32, x: 3e9, want: math.MaxInt32},
		{to: Int32, x: -3e9, want: math.MinInt32},
		{to: Int64, x: 1e19, want: 1 << 63, reason: "2⁶³−1, seen as float64"},
		{to: Int64, x: 1 << 63, want: 1 << 63, reason: "2⁶³−1, seen as float64"},
		{to: Uint64, x: 1 << 64, want: 1 << 64, reason: "2⁶⁴−1, seen as float64"},
		{to: Int64, x: -1e19, want: -1 << 63},
		{to: Uint64, x: 1e19, want: 1e19},
		{to: Uint64, x: 1e20, want: 1 << 64, reason: "2⁶⁴−1, seen as float64"},
		{to: Uint64, x: -5, want: 0},
		{to: Float16, x: 1e6, want: 65504},
		{to: Float16, x: -1e6, want: -65504},
		{to: Float16, x: inf, want: inf},
		{to: BFloat16, x: 3.4e38, want: 0x1.fep127},
		{to: Float32, x: 1e300, want: math.MaxFloat32},
		{to: Float8E4M3, x: 1e6, want: 448},
		{to: Float8E4M3, x: -inf, want: -448},
		{to: Float8E5M2, x: 1e6, want: 57344},
		{to: Float8E5M2, x: inf, want: inf},
		{to: Complex64, x: -1e300, want: -math.MaxFloat32},
	} {
		b, back := make([]byte, test.to.Size()), []float64{0}
		if err := Saturate(b, test.to, Bytes([]float64{test.x}), Float64); err != nil {
			t.Fatal(err)
		}
		if err := Convert(Bytes(back), Float64, b, test.to); err != nil {
			t.Fatal(err)
		}
		if back[0] != test.want {
			t.Errorf("%v to %v: %v, want %v %s", test.x, test.to, back[0], test.want, test.reason)
		}
	}
	for _, typ := range All() {
		b, back := make([]byte, typ.Size()), []float64{0}
		if err := Saturate(b, typ, Bytes([]float64{nan}), Float64); err != nil {
			t.Fatal(err)
		}
		if err := Convert(Bytes(back), Float64, b, typ); err != nil {
			t.Fatal(err)
		}
		if keeps := typ.IsFloat() || typ.IsComplex(); keeps != (back[0] != back[0]) {
			t.Errorf("NaN to %v: %v", typ, back[0])
		}
	}
}

// TestSaturatingIntegersClamps compares with the definition, over all pairs of
// integer types and the edges of both.
func TestSaturatingIntegersClamps(t *testing.T) {
	edges := []int64{math.MinInt64, math.MinInt32 - 1, math.MinInt32, -32769, -32768, -129, -128, -1, 0, 1, 127, 128, 255, 256, 32767, 32768, 65535, 65536, math.MaxInt32, math.MaxInt32 + 1, math.MaxUint32, math.MaxUint32 + 1, math.MaxInt64}
	for _, to := range All() {
		if !to.IsInt() {
			continue
		}
		bits := 8 * to.Size()
		least, most := int64(0), int64(math.MaxInt64)
		if to.IsSigned() {
			least, most = -1<<(bits-1), 1<<(bits-1)-1
		} else if bits < 64 {
			most = 1<<bits - 1
		}
		for _, x := range edges {
			b, back := make([]byte, to.Size()), []int64{0}
			if err := Saturate(b, to, Bytes([]int64{x}), Int64); err != nil {
				t.Fatal(err)
			}
			if err := Convert(Bytes(back), Int64, b, to); err != nil {
				t.Fatal(err)
			}
			if want := max(least, min(x, most)); back[0] != want {
				t.Errorf("int64 %d to %v: %d, want %d", x, to, back[0], want)
			}
		}
	}
	for _, to := range []Type{Int8, Int64, Uint64} {
		b := make([]byte, to.Size())
		if err := Saturate(b, to, Bytes([]uint64{math.MaxUint64}), Uint64); err != nil {
			t.Fatal(err)
		}
		for i, x := range b {
			if want := byte(0xff); x != want && !(to.IsSigned() && i == len(b)-1 && x == 0x7f) {
				t.Errorf("uint64 2⁶⁴−1 to %v: % x", to, b)
			}
		}
	}
}

func TestSizesThatDoNotFitAreRefused(t *testing.T) {
	for _, test := range []struct {
		dst  int
		to   Type
		src  int
		from Type
	}{
		{8, Float32, 8, Float64},
		{3, Float32, 2, Uint8},
		{4, Float32, 3, Uint16},
		{4, Invalid, 4, Float32},
		{4, Float32, 4, Invalid},
	} {
		for _, convert := range []func([]byte, Type, []byte, Type) error{Convert, Saturate} {
			if err := convert(make([]byte, test.dst), test.to, make([]byte, test.src), test.from); !errors.Is(err, ErrType) {
				t.Errorf("%+v: %v, want ErrType", test, err)
			}
		}
	}
}

func TestCastRefusesWhatIsNotAligned(t *testing.T) {
	words := Bytes(make([]uint64, 2))
	for name, b := range map[string][]byte{"address": words[1:9], "length": words[:7]} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("wrong %s: cast", name)
				}
			}()
			Cast[float64](b)
		}()
	}
	if got := Cast[complex128](words); len(got) != 1 {
		t.Errorf("16 bytes are %d complex128", len(got))
	}
}

func BenchmarkConvert(b *testing.B) {
	for _, test := range []struct{ to, from Type }{{Float32, Uint8}, {Float32, Float64}, {Float32, Float16}, {BFloat16, Float32}, {Uint8, Float32}} {
		b.Run(test.from.String()+" to "+test.to.String(), func(b *testing.B) {
			const n = 1 << 16
			src, dst := make([]byte, n*test.from.Size()), make([]byte, n*test.to.Size())
			b.SetBytes(n)
			for b.Loop() {
				if err := Convert(dst, test.to, src, test.from); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
