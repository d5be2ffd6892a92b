package dtype_test

import (
	"bytes"
	"math"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
)

// TestNaN: every floating-point and complex type has one, which is read as NaN, and nothing else has. Those of IEEE types
// have only the highest bit of the fraction.
func TestNaN(t *testing.T) {
	for _, typ := range dtype.All() {
		element, x := dtype.NaN(typ), make([]complex128, 1)
		if (element != nil) != (typ.IsFloat() || typ.IsComplex()) {
			t.Errorf("%v: %x", typ, element)
		}
		if element == nil {
			continue
		}
		if err := dtype.Convert(dtype.Bytes(x), dtype.Complex128, element, typ); err != nil || !math.IsNaN(real(x[0])) {
			t.Errorf("%v: %x is %v, %v", typ, element, x[0], err)
		}
	}
	if got, want := dtype.NaN(dtype.Float32), dtype.Bytes([]uint32{0x7fc00000}); !bytes.Equal(got, want) {
		t.Errorf("float32: %x, want %x", got, want)
	}
	if got, want := dtype.NaN(dtype.Float16), dtype.Bytes([]uint16{0x7e00}); !bytes.Equal(got, want) {
		t.Errorf("float16: %x, want %x", got, want)
	}
}
