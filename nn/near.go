package nn

import (
	"slices"
	"strings"
)

// Nearest returns which of the known names name is most likely meant to be, or
// false if it is like none of them.
func Nearest(name string, known []string) (string, bool) {
	if len(known) == 0 {
		return "", false
	}
	far := func(other string) int {
		if len(name) > 2 && strings.HasPrefix(plain(other), plain(name)) {
			return 0
		}
		return distance(plain(name), plain(other))
	}
	near := slices.MinFunc(known, func(a, b string) int { return far(a) - far(b) })
	return near, far(near) <= (len(name)+2)/3
}

// unknown says that there is no such thing, and which of the known it might mean.
func unknown(kind, name string, known []string) error {
	if near, ok := Nearest(name, known); ok {
		return mistake(ErrConfig, "no such %s; did you mean %s?", kind, near)
	}
	slices.Sort(known)
	return mistake(ErrConfig, "no such %s; known are %s", kind, strings.Join(known, ", "))
}

// plain is how names are compared: MaxPool2d, max_pool2d and maxpool2d are one.
func plain(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(name))
}

// distance is how many bytes must be added, removed or exchanged to make a from
// b (Levenshtein, 1965).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			swap := diagonal
			if a[i] != b[j] {
				swap++
			}
			diagonal = row[j+1]
			row[j+1] = min(swap, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
