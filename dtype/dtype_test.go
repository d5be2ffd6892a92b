package dtype

import (
	"errors"
	"math"
	"testing"
)

func TestNamesParse(t *testing.T) {
	for _, want := range All() {
		if got, err := Parse(want.String()); got != want || err != nil {
			t.Errorf("Parse(%v) = %v, %v", want, got, err)
		}
	}
	for _, name := range []string{"", "invalid", "float", "FLOAT32"} {
		if got, err := Parse(name); !errors.Is(err, ErrType) {
			t.Errorf("Parse(%q) = %v, %v; want ErrType", name, got, err)
		}
	}
	if (Type{}) != Invalid || Invalid.Size() != 0 || Invalid.Valid() {
		t.Error("a type that does not exist passes for one")
	}
}

func TestEveryTypeIsOfOneKind(t *testing.T) {
	for _, typ := range All() {
		n := 0
		for _, is := range []bool{typ == Bool, typ.IsSigned(), typ.IsUnsigned(), typ.IsFloat(), typ.IsComplex()} {
			if is {
				n++
			}
		}
		if n != 1 || typ.IsInt() != (typ.IsSigned() || typ.IsUnsigned()) {
			t.Errorf("%v is of %d kinds", typ, n)
		}
	}
}

// nearest returns which of the finite values of a small type lies nearest to x,
// by trying them all; ties go to even bits. top is what lies one step beyond the largest.
func nearest(values []float32, x, top float64) int {
	best, dist := -1, math.Inf(1)
	try := func(bits int, v float64) {
		if d := math.Abs(v - x); d < dist || d == dist && bits%2 == 0 {
			best, dist = bits, d
		}
	}
	for bits, v := range values {
		try(bits, float64(v))
	}
	try(len(values), top)
	return best
}

// TestSmallFloatsRoundToNearest compares the rounding of each 8-bit float, and
// of float16 and bfloat16 by samples, with a search through all its values.
func TestSmallFloatsRoundToNearest(t *testing.T) {
	for _, test := range []struct {
		name   string
		finite int // how many positive values are finite: their bits are 0, 1, …
		top    float64
		decode func(bits int) float32
		encode func(x float64) int
	}{
		{"float8_e4m3fn", 0x7f, 480, func(b int) float32 { return F8E4M3(b).Float32() }, func(x float64) int { return int(F8E4M3From(odd(x))) }},
		{"float8_e5m2", 0x7c, 65536, func(b int) float32 { return F8E5M2(b).Float32() }, func(x float64) int { return int(F8E5M2From(odd(x))) }},
		{"float16", 0x7c00, 65536, func(b int) float32 { return F16(b).Float32() }, func(x float64) int { return int(F16From(odd(x))) }},
		{"bfloat16", 0x7f80, 0x1p128, func(b int) float32 { return BF16(b).Float32() }, func(x float64) int { return int(BF16From(odd(x))) }},
	} {
		values := make([]float32, test.finite)
		for b := range values {
			values[b] = test.decode(b)
			if b > 0 && !(values[b] > values[b-1]) {
				t.Fatalf("%s: value %#x is %v, not above %v", test.name, b, values[b], values[b-1])
			}
			if got := test.encode(float64(values[b])); got != b {
				t.Errorf("%s: %v encodes as %#x, want %#x", test.name, values[b], got, b)
			}
		}
		step := test.finite/61 | 1 // odd, so that ties fall to either side
		for b := 0; b < test.finite; b += step {
			low, high := float64(values[b]), test.top
			if b+1 < test.finite {
				high = float64(values[b+1])
			}
			mid := (low + high) / 2
			for _, x := range []float64{low + (high-low)/4, math.Nextafter(mid, 0), mid, math.Nextafter(mid, high)} {
				if got, want := test.encode(x), nearest(values, x, test.top); got != want {
					t.Errorf("%s: %v encodes as %#x, want %#x", test.name, x, got, want)
				}
			}
		}
		if v := test.decode(test.encode(math.NaN())); v == v {
			t.Errorf("%s: NaN becomes %v", test.name, v)
		}
	}
}

func TestPromoteIsSymmetricAndHoldsBoth(t *testing.T) {
	for _, a := range All() {
		for _, b := range All() {
			got, err := Promote(a, b)
			if a.StorageOnly() || b.StorageOnly() {
				if !errors.Is(err, ErrType) {
					t.Errorf("Promote(%v, %v) = %v, %v; want ErrType", a, b, got, err)
				}
				continue
			}
			back, _ := Promote(b, a)
			if got != back || a == b && got != a || got.kind() < max(a.kind(), b.kind()) && !(got.IsSigned() || got.IsFloat()) {
				t.Errorf("Promote(%v, %v) = %v, and %v the other way", a, b, got, back)
			}
			if got.kind() == a.kind() && got.Size() < a.Size() {
				t.Errorf("Promote(%v, %v) = %v, which is narrower", a, b, got)
			}
		}
	}
}
