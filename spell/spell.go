// Package spell finds which of the known names a misspelt one was meant to be,
// for messages that say so.
package spell

import (
	"fmt"
	"strings"
)

// Nearest returns which of the known names name is most likely meant to be, or
// false if it is like none of them. Capitals, spaces, hyphens and underscores
// do not count; two letters in three are right, or all but two; a beginning of
// three letters or more is near to what it begins.
func Nearest(name string, known []string) (string, bool) {
	name = Plain(name)
	best, least := "", min(len(name), max(3, len(name)/3+1))
	for _, other := range known {
		if d := far(name, Plain(other), least); d < least {
			best, least = other, d
		}
	}
	return best, best != ""
}

// Hint returns "; did you mean …?" with the known name nearest to name, or
// nothing if none is near.
func Hint(name string, known []string) string {
	if near, ok := Nearest(name, known); ok {
		return fmt.Sprintf("; did you mean %s?", near)
	}
	return ""
}

// Plain is how names are compared: MaxPool2d, max_pool2d and maxpool2d are one.
func Plain(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(name))
}

// far is 0 from a beginning to its whole, else the distance.
func far(name, other string, limit int) int {
	if len(name) > 2 && strings.HasPrefix(other, name) {
		return 0
	}
	return distance(name, other, limit)
}

// distance counts the bytes to insert, delete or replace to make a into b
// (Levenshtein, 1965), or returns some number of at least limit where it is no less.
func distance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	row := make([]int, len(b)+1) // row[j]: from what is read of a to b[:j]
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
