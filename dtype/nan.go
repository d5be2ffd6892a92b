package dtype

import "math"

// NaN returns the bytes of the NaN of a floating-point or complex type, and nil for other types. They
// must not be changed.
func NaN(t Type) []byte { return nans.At(t) }

// nans are the NaNs of NumPy and of most processors: that of package math has one more bit
// set in its fraction.
var nans = func() *Table[[]byte] {
	elements := map[Type][]byte{}
	quiet := Bytes([]float64{math.Float64frombits(0x7ff8 << 48)})
	for _, t := range All() {
		if !t.IsFloat() && !t.IsComplex() {
			continue
		}
		elements[t] = make([]byte, t.Size())
		if err := Convert(elements[t], t, quiet, Float64); err != nil {
			panic(err) // floats convert to floats and complex numbers
		}
	}
	return TableOf(elements)
}()
