package main

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// TestAlike divides names into groups that differ in one number.
func TestAlike(t *testing.T) {
	for _, c := range []struct {
		names, keys string // separated by spaces; the keys repeat
		want        string
	}{
		{"d0 d1 d2 d3", "k", "[[0 1 2 3]]"},
		{"d0 d1 d2", "k", "[[0] [1] [2]]"}, // few
		{"d0 d1 d2 d3 e", "k", "[[0 1 2 3] [4]]"},
		{"d0 d1 x d2 d3 d10", "k", "[[0 1 3 4 5] [2]]"},
		{"d0 d1 d2 d3 d4", "k k other k k", "[[0 1 3 4] [2]]"},                             // of another type
		{"a0b0 a1b0 a2b0 a3b0 a0b1", "k", "[[0 1 2 3] [4]]"},                               // one number, not two
		{"l0.w l0.b l1.w l1.b l2.w l2.b l3.w l3.b", "k", "[[0 2 4 6] [1 3 5 7]]"},          // interleaved
		{"a0b0 a0b1 a0b2 a0b3 a0b4 a1b0 a2b0 a3b0", "k", "[[0 1 2 3 4] [5] [6] [7]]"},      // the larger group
		{"a0b0 a1b0 a2b0 a3b0 a4b0 a0b1 a0b2 a0b3", "k", "[[0 1 2 3 4] [5] [6] [7]]"},      // the larger group comes first
		{"demo_007 demo_008 demo_009 demo_010 demo", "k", "[[0 1 2 3] [4]]"},               // leading zeros
		{"x x x x", "k", "[[0] [1] [2] [3]]"},                                              // without a number
		{"2020-01-01 2020-01-02 2020-01-03 2020-01-04 2020-02-01", "k", "[[0 1 2 3] [4]]"}, // of three numbers
		{"", "k", "[[0]]"},
	} {
		names, keys := strings.Split(c.names, " "), strings.Split(c.keys, " ")
		got := fmt.Sprint(alike(names, func(i int) string { return keys[i%len(keys)] }))
		if got != c.want {
			t.Errorf("%q: got %s, want %s", c.names, got, c.want)
		}
	}
	if got := span([]string{"d10", "d9", "d2"}); got != "d2 … d10" {
		t.Errorf("the span is %q", got)
	}
	if got := starOf([]string{"/data/demo_0/cam_1", "/data/demo_12/cam_1"}); got != "/data/demo_*/cam_1" {
		t.Errorf("the star is in %q", got)
	}
}

// TestValueCounts compares the counts of strings with a map's, within its limit.
func TestValueCounts(t *testing.T) {
	c := &valueCounts{counts: map[string]int{}, texts: true}
	for k := range 3 * maxDistinct {
		c.add(fmt.Sprint("v", k%(maxDistinct+10)), 1)
	}
	c.add("", 2)
	c.add("größer als alle", 1)
	if len(c.counts) != maxDistinct || c.empty != 2 || c.longest != "größer als alle" || c.total != 3*maxDistinct+3 {
		t.Errorf("%d distinct, %d empty, longest %q, %d in all", len(c.counts), c.empty, c.longest, c.total)
	}
	sum := c.others
	for _, n := range c.counts {
		sum += n
	}
	if sum != c.total {
		t.Errorf("%d of %d are counted", sum, c.total)
	}
	c = &valueCounts{counts: map[string]int{"a": 3, "": 1, "b\x1b": 7}, total: 11, empty: 1, longest: "b\x1b", texts: true}
	want := []string{"3 distinct  empty 1  longest 2  of 11", `most frequent: "b\x1b" 7  "a" 3  ""`}
	if got := c.lines(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestTypesAreCountedWhereTheyAreCut: the members of a compound that do not fit a line are
// counted, and listed where the dataset is named.
func TestTypesAreCountedWhereTheyAreCut(t *testing.T) {
	t.Chdir("../../testdata")
	for args, want := range map[string]string{
		"inspect lab.h5:/types":            "of 4 members",
		"inspect lab.h5:/types/nested":     "\n  at: compound{x: float32, y: float64}\n  color: enum{A: 0, B: 1}\n  v: int16[2]\n  name: string\n",
		"inspect lab.h5:/types/committed":  "datatype compound{a: int32, b: float32}",
		"inspect tour.h5:/others/compound": "compound{x: float32, y: float64, name: S4} (2,)",
	} {
		if got := output(t, "h5dnn "+args); !strings.Contains(got, want) {
			t.Errorf("%s prints %q, want %q", args, got, want)
		}
	}
}
