package onnx

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Counted returns the names in counts with their numbers, such as Conv (20), the most frequent first.
func Counted(counts map[string]int) []string {
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(counts[b]-counts[a], strings.Compare(a, b))
	})
	for i, name := range names {
		names[i] = fmt.Sprintf("%s (%d)", name, counts[name])
	}
	return names
}

// Counts returns the number of nodes of each operator, the domain in front of those that are not ONNX's own. Functions
// are operators.
func (g *Graph) Counts() map[string]int {
	counts := map[string]int{}
	for _, n := range g.Nodes {
		counts[n.FullName()]++
	}
	return counts
}

// FullName returns the operator of a node, with its domain in front if that is not ONNX's own.
func (n Node) FullName() string {
	if n.Domain == "" {
		return n.Op
	}
	return n.Domain + "." + n.Op
}
