package main

import (
	"math"
	"testing"
)

// TestElementsThatDifferLookDifferent: those of doubles, and integers of any size below 2⁵³.
func TestElementsThatDifferLookDifferent(t *testing.T) {
	for _, c := range []struct {
		x    complex128
		typ  string
		want string
	}{
		{complex(1, 0), "float32", "1"},
		{complex(math.Nextafter(1, 2), 0), "float64", "1.0000000000000002"},
		{complex(float64(math.Nextafter32(1, 2)), 0), "float32", "1.0000001"},
		{complex(1234567891, 0), "int64", "1234567891"},
		{complex(1<<62, 0), "int64", "4.611686018427388e+18"},
		{complex(math.Inf(-1), 0), "float16", "-Inf"},
		{complex(1, -2.5), "complex64", "(1-2.5i)"},
		{complex(0, 3), "complex128", "(0+3i)"},
	} {
		if got := element(c.x, c.typ); got != c.want {
			t.Errorf("%v of %s is %s; want %s", c.x, c.typ, got, c.want)
		}
	}
}
