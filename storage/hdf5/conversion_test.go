package hdf5

import (
	"bytes"
	"testing"

	"github.com/h5dnn/h5dnn/storage"
)

// TestVAXFloats has the numbers of the VAX Architecture Reference Manual,
// section 1.2: F_floating is fraction · 2^(exponent-128), with a fraction from 1/2 to 1.
func TestVAXFloats(t *testing.T) {
	f := &Type{Class: ClassFloat, Size: 4, BigEndian: true, Precision: 32,
		Float: FloatBits{Sign: 31, Exponent: 23, ExpSize: 8, MantSize: 23, Bias: 129, Normalization: 2, VAX: true}}
	n, err := f.conversion()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		stored [4]byte
		want   float64
	}{
		{[4]byte{0x80, 0x40}, 1},
		{[4]byte{0x00, 0x40}, 0.5},
		{[4]byte{0xc0, 0xc0}, -1.5},
		{[4]byte{0x80, 0x40, 1, 0}, 1 + 1.0/(1<<23)},
		{[4]byte{0x80, 0x40, 0, 1}, 1 + 1.0/(1<<15)},
		{[4]byte{0xff, 0x7f, 0xff, 0xff}, (1 - 1.0/(1<<24)) * (1 << 127)}, // no infinity
		{[4]byte{0x7f, 0x00, 0xff, 0xff}, 0},                              // a dirty zero
	} {
		element := make([]byte, n.to.Size())
		n.convert(element, c.stored[:])
		if got := storage.GoValue(n.to, element); got != c.want {
			t.Errorf("% x: got %v, want %v", c.stored, got, c.want)
		}
	}
}

// TestByteOrder swaps numbers of elements that are no multiples of what is swapped at a time.
func TestByteOrder(t *testing.T) {
	for size := 2; size <= 8; size *= 2 {
		swap := (&Type{BigEndian: true}).swap(size)
		for n := range 40 {
			src, want := make([]byte, n*size), make([]byte, n*size)
			for k := range src {
				src[k] = byte(3*k + 1)
				want[k/size*size+size-1-k%size] = src[k]
			}
			got := make([]byte, n*size)
			if swap(got, src); !bytes.Equal(got, want) {
				t.Fatalf("%d elements of %d bytes: got % x, want % x", n, size, got, want)
			}
		}
	}
}
