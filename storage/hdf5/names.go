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
			x, y := strings.TrimLeft(a[:m], "0"), strings.TrimLeft(b[:n], "0")
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
func digits(s string) int { return len(s) - len(strings.TrimLeft(s, "0123456789")) }
