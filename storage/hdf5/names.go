package hdf5

import (
	"cmp"
	"strings"
)

// CompareNames orders names with numbers in them as people do: demo_2 comes before
// demo_10.
func CompareNames(a, b string) int {
	for len(a) > 0 && len(b) > 0 {
		m, n := digits(a), digits(b)
		if m > 0 && n > 0 {
			x, y := withoutZeros(a[:m]), withoutZeros(b[:n])
			if c := cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y)); c != 0 {
				return c
			}
			a, b = a[m:], b[n:]
			continue
		}
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Compare(len(a), len(b))
}

// digits counts the leading digits of s.
func digits(s string) (n int) {
	for n < len(s) && '0' <= s[n] && s[n] <= '9' {
		n++
	}
	return n
}

// withoutZeros returns digits without those at their beginning that are 0.
func withoutZeros(digits string) string {
	for len(digits) > 0 && digits[0] == '0' {
		digits = digits[1:]
	}
	return digits
}
