package dtype

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestCheckedConversionNamesWhatIsLost has one element after 300 sound ones lose
// its value, so that it lies in the second row that is converted.
func TestCheckedConversionNamesWhatIsLost(t *testing.T) {
	for _, test := range []struct {
		from, to Type
		value    complex128
		want     string
	}{
		{Int64, Uint8, 300, "element 300 is 300"},
		{Int64, Uint64, -1, "element 300 is -1"},
		{Uint64, Int64, 0x1p63, "is 9223372036854775808"},
		{Float32, Int32, 2.5, "is 2.5"},
		{Float64, Int64, 0x1p63, "is 9.223372036854776e+18"},
		{Float64, Uint8, complex(math.NaN(), 0), "is NaN"},
		{Int16, Bool, 2, "is 2"},
		{Float64, Float32, 1e39, "is 1e+39"},
		{Uint16, Float16, 65535, "is 65535"},
		{Float32, Float8E4M3, 500, "is 500"},
		{Float32, Float8E4M3, complex(math.Inf(1), 0), "is +Inf"},
		{Complex64, Float32, 1 + 2i, "is (1+2i)"},
		{Complex128, Complex64, complex(1, 1e39), "is (1+1e+39i)"},
	} {
		values := make([]complex128, 301)
		values[300] = test.value
		src := make([]byte, len(values)*test.from.Size())
		if err := Convert(src, test.from, Bytes(values), Complex128); err != nil {
			t.Fatal(err)
		}
		if test.from == Uint64 && test.to == Int64 {
			copy(src[300*8:], Bytes([]uint64{1 << 63}))
		}
		err := ConvertChecked(make([]byte, len(values)*test.to.Size()), test.to, src, test.from)
		if !errors.Is(err, ErrType) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v to %v: %v; want an error that says %q", test.from, test.to, err, test.want)
		}
	}
}

// TestCheckedConversionIsConvert holds ConvertChecked to Convert for values that
// every type holds, and lossless to what the checks say of random bytes.
func TestCheckedConversionIsConvert(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, from := range All() {
		words := make([]uint64, 2*rowLen)
		for i := range words {
			words[i] = r.Uint64()
		}
		random := Bytes(words)
		if from == Bool {
			for i := range random {
				random[i] &= 1
			}
		}
		random = random[:rowLen/4*from.Size()]
		small := make([]byte, 2*from.Size())
		if err := Convert(small, from, []byte{0, 1}, Uint8); err != nil {
			t.Fatal(err)
		}
		for _, to := range All() {
			got, want := make([]byte, 2*to.Size()), make([]byte, 2*to.Size())
			if err := ConvertChecked(got, to, small, from); err != nil {
				t.Errorf("0 and 1 of %v to %v: %v", from, to, err)
			}
			if err := Convert(want, to, small, from); err != nil || string(got) != string(want) {
				t.Errorf("0 and 1 of %v to %v: %x, want %x (%v)", from, to, got, want, err)
			}
			if !lossless(to, from) {
				continue
			}
			var c checker
			out := make([]byte, rowLen/4*to.Size())
			if err := Convert(out, to, random, from); err != nil {
				t.Fatal(err)
			}
			c.before.n, c.after.n = rowLen/4, rowLen/4
			widen.At(from)(&c.before, aligned(random))
			widen.At(to)(&c.after, aligned(out))
			for i := range c.before.n {
				if !c.kept(i) {
					t.Fatalf("%v to %v is called lossless, and loses %s", from, to, c.before.format(i))
				}
			}
		}
	}
}

func aligned(b []byte) []byte {
	words := make([]uint64, (len(b)+7)/8)
	return Bytes(words)[:copy(Bytes(words), b)]
}
