package main

import (
	"fmt"
	"strings"
)

// suggest returns ", did you mean …?" with the candidate nearest to name, or
// nothing if none is near.
func suggest(name string, candidates []string) string {
	best, least := "", len(name)/3+2
	for _, candidate := range candidates {
		if d := distance(strings.ToLower(name), strings.ToLower(candidate), least); d < least {
			best, least = candidate, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(", did you mean %s?", best)
}

// distance counts the letters to insert, delete or replace to make a into b
// (Levenshtein), or returns some number of at least limit where it is no less.
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
