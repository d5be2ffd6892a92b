package views

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/internal/pythontest"
)

// listed returns the positions of a selection's elements, in row-major order.
func (s Selection) listed() []int {
	shape := s.Size()
	var all []int
	for position := range Of(shape...).Len() {
		at := coordinatesOf(position, Of(shape...))
		v := s.View
		if s.Offsets != nil {
			v.Offset += s.Offsets[at[s.Axis]]
			at = slices.Delete(at, s.Axis, s.Axis+1)
		}
		for axis, i := range at {
			v.Offset += i * v.Stride[axis]
		}
		all = append(all, v.Offset)
	}
	return all
}

// randomLists returns an index expression with lists for a shape.
func randomLists(r *rand.Rand, shape []int) string {
	n := 1 + r.IntN(3) // of each list
	list := func(size int) string {
		text := make([]string, []int{n, n, 1}[r.IntN(3)])
		for k := range text {
			text[k] = fmt.Sprint(r.IntN(2*size) - size)
		}
		return "[" + strings.Join(text, ", ") + "]"
	}
	var parts []string
	ellipsis := false
	for axis := 0; axis < len(shape); axis++ {
		switch r.IntN(7) {
		case 0:
			parts = append(parts, fmt.Sprint(r.IntN(2*shape[axis])-shape[axis]))
		case 1:
			parts = append(parts, fmt.Sprintf("%d:%d:%d", r.IntN(3), r.IntN(6), 1+r.IntN(2)))
		case 2:
			parts = append(parts, "None")
			axis--
		case 3:
			if !ellipsis {
				ellipsis = true
				axis = max(axis, len(shape)-r.IntN(3)) - 1 // of any number of axes
				parts = append(parts, "...")
				continue
			}
			parts = append(parts, "::-1")
		default:
			parts = append(parts, list(shape[axis]))
		}
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// TestListsInKnownPlaces has NumPy's results for x = np.arange(24).reshape(2, 3, 4).
func TestListsInKnownPlaces(t *testing.T) {
	for _, c := range []struct {
		expr        string
		size, first []int
	}{
		{"[[1, 0, -1]]", []int{3, 3, 4}, []int{12, 13, 14}},
		{"[:, [2, 2, 0], 1]", []int{2, 3}, []int{9, 9, 1}},
		{"[0, :, [3, 1]]", []int{2, 3}, []int{3, 7, 11}},
		{"[0, ..., [3, 1]]", []int{2, 3}, []int{3, 7, 11}},
		{"[None, 0, :, [3, 1]]", []int{2, 1, 3}, []int{3, 7, 11}},
		{"[..., [3, 1]]", []int{2, 3, 2}, []int{3, 1, 7}},
		{"[[0, 1], [2, 1]]", []int{2, 4}, []int{8, 9, 10}},
		{"[[1], None, [2, 1, 0], ::2]", []int{3, 1, 2}, []int{20, 22, 16}},
		{"[[], 0]", []int{0, 4}, nil},
	} {
		x, err := Parse(c.expr)
		if err != nil {
			t.Fatal(err)
		}
		s, err := x.Select(Of(2, 3, 4), nil)
		if got := s.listed(); err != nil || !slices.Equal(s.Size(), c.size) || !slices.Equal(got[:min(3, len(got))], c.first) {
			t.Errorf("%s: %v %v, %v; want %v %v", c.expr, s.Size(), got, err, c.size, c.first)
		}
	}
	for expr, want := range map[string]string{
		"[[0, 2]]":            "index [[0, 2]]: index 2 is outside axis 0 of size 2: wrong shape",
		"[[0, 1], [0, 1, 2]]": "index [[0, 1], [0, 1, 2]]: lists of 2 and 3 elements; want equally many, or one: wrong shape",
		"[@mask]":             "index [@mask]: masks and lists by path need a file: wrong shape",
		"[time=3]":            "index [time=3]: names of dimensions need a file: wrong shape",
		"[0, 0, 0, [1]]":      "index [0, 0, 0, [1]]: 4 axes, shape [2 3 4] has 3: wrong shape",
	} {
		x, err := Parse(expr)
		if err == nil {
			_, err = x.Select(Of(2, 3, 4), nil)
		}
		if err == nil || err.Error() != want {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
}

// TestListsSelectWhatNumPyDoes compares random expressions with NumPy.
func TestListsSelectWhatNumPyDoes(t *testing.T) {
	shape := []int{3, 4, 2, 5}
	r := rand.New(rand.NewPCG(31, 32))
	var exprs []string
	for len(exprs) < 3000 {
		if text := randomLists(r, shape); strings.Contains(text[1:], "[") {
			exprs = append(exprs, text)
		}
	}
	script := `
import sys, numpy as np
x = np.arange(120).reshape(3, 4, 2, 5)
for line in sys.argv[1].split(";"):
    try:
        y = eval("x" + line)
        print(list(y.shape), [int(k) for k in y.ravel()])
    except IndexError:
        print("error")
`
	out := pythontest.Run(t, []string{"numpy"}, script, strings.Join(exprs, ";"))
	for k, want := range strings.Split(strings.TrimSpace(out), "\n") {
		got := "error"
		x, err := Parse(exprs[k])
		if err != nil {
			t.Fatal(err)
		}
		if s, err := x.Select(Of(shape...), nil); err == nil {
			text := func(list []int) string { return strings.Join(strings.Fields(fmt.Sprint(list)), ", ") }
			got = text(s.Size()) + " " + text(s.listed())
		}
		if got != want {
			t.Fatalf("%s: %s\nwant %s", exprs[k], got, want)
		}
	}
}
