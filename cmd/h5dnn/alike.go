package main

import (
	"regexp"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/storage/hdf5"
)

// fewestAlike is the least number of alike names that are shown as one.
const fewestAlike = 4

var digits = regexp.MustCompile(`[0-9]+`)

// alike divides names into groups, in the order of their first names. The names of a group
// differ in one number, the same one, and have the same key; a group has one name, or at
// least fewestAlike.
func alike(names []string, key func(i int) string) (groups [][]int) {
	patterns := make([][]string, len(names)) // of each name, with a star for one of its numbers
	members := map[string][]int{}
	for i, name := range names {
		for _, at := range digits.FindAllStringIndex(name, -1) {
			p := name[:at[0]] + "*" + name[at[1]:] + "\x00" + key(i)
			patterns[i] = append(patterns[i], p)
			members[p] = append(members[p], i)
		}
	}
	grouped := make([]bool, len(names))
	for i := range names {
		if grouped[i] {
			continue
		}
		group := []int{i}
		for _, p := range patterns[i] {
			free := slices.DeleteFunc(members[p], func(k int) bool { return grouped[k] })
			if members[p] = free; len(free) >= max(fewestAlike, len(group)+1) {
				group = slices.Clone(free)
			}
		}
		for _, k := range group {
			grouped[k] = true
		}
		groups = append(groups, group)
	}
	return groups
}

// span returns the first and the last of alike names, in the order of their numbers:
// "demo_0 … demo_23".
func span(names []string) string {
	return slices.MinFunc(names, hdf5.CompareNames) + " … " + slices.MaxFunc(names, hdf5.CompareNames)
}

// starOf returns alike names with a star for the number in which they differ.
func starOf(names []string) string {
	for _, at := range digits.FindAllStringIndex(names[0], -1) {
		before, after := names[0][:at[0]], names[0][at[1]:]
		if !slices.ContainsFunc(names, func(name string) bool {
			return len(name) < len(before)+len(after) || !strings.HasPrefix(name, before) || !strings.HasSuffix(name, after)
		}) {
			return before + "*" + after
		}
	}
	return names[0]
}
