// Package spell finds the known name that is nearest to a misspelt one, for
// suggestions in messages.
package spell

import (
	"fmt"
	"strings"
)

// Nearest returns the known name nearest to name, or false if none is near: at most a
// third of the letters, or two, may differ. Case, spaces, hyphens and underscores are
// ignored. A prefix of three letters or more is near to the whole name. Of names equally
// near it returns the first in byte order, so that known may come from a map.
func Nearest(name string, known []string) (string, bool) {
	name = Plain(name)
	best, least := "", min(len(name), max(3, len(name)/3+1))
	for _, other := range known {
		if d := far(name, Plain(other), least+1); d < least || d == least && best != "" && other < best {
			best, least = other, d
		}
	}
	return best, best != ""
}

// Hint returns "; did you mean …?" with the known name nearest to name, or "" if none
// is near.
func Hint(name string, known []string) string {
	if near, ok := Nearest(name, known); ok {
		return fmt.Sprintf("; did you mean %s?", near)
	}
	return ""
}

// Plain returns the form in which names are compared: MaxPool2d, max_pool2d and
// maxpool2d are equal.
func Plain(name string) string {
	return strings.ToLower(separators.Replace(name))
}

var separators = strings.NewReplacer("_", "", "-", "", " ", "")

// far returns 0 if name is a prefix of other with at least three letters, else their
// distance.
func far(name, other string, limit int) int {
	if len(name) > 2 && strings.HasPrefix(other, name) {
		return 0
	}
	return distance(name, other, limit)
}

// distance returns the number of bytes to insert, delete or replace to turn a into b
// (Levenshtein, 1965), or some number of at least limit if it is not less than limit.
func distance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	row := make([]int, len(b)+1) // row[j]: from the prefix of a to b[:j]
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
