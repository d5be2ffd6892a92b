package views

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// randomIndex writes an expression for a view, and says what it selects in
// terms of single moves that other tests hold to lists.
func randomIndex(r *rand.Rand, v View) (string, View) {
	var parts []string
	w := v
	axis, left := 0, v.Rank() // of w that comes next, and how many of v's to go
	ellipsis := false
	for left > 0 || r.IntN(3) == 0 {
		switch choice := r.IntN(6); {
		case choice == 0:
			parts = append(parts, []string{"None", "newaxis"}[r.IntN(2)])
			w = must(w.Unsqueeze(axis))
			axis++
		case choice == 1 && !ellipsis:
			ellipsis = true
			skip := r.IntN(left + 1)
			parts = append(parts, "...")
			axis, left = axis+skip, left-skip
			// What follows must use up exactly the axes left.
			for left > 0 {
				part, next, used := randomItem(r, w, axis)
				parts, w, axis, left = append(parts, part), next, axis+used, left-1
			}
		case left > 0:
			part, next, used := randomItem(r, w, axis)
			parts, w, axis, left = append(parts, part), next, axis+used, left-1
		}
		if !ellipsis && r.IntN(8) == 0 {
			break // the axes not spoken for are kept
		}
	}
	text := strings.Join(parts, []string{",", ", ", " ,\t"}[r.IntN(3)])
	if text != "" && r.IntN(4) == 0 {
		text += ","
	}
	if r.IntN(2) == 0 {
		text = "[" + text + "]"
	}
	return text, w
}

// randomItem writes what selects of one axis, and how many axes that leaves of it.
func randomItem(r *rand.Rand, w View, axis int) (string, View, int) {
	size := w.Shape[axis]
	if size > 0 && r.IntN(3) == 0 {
		i := r.IntN(2*size) - size
		return fmt.Sprint(i), must(w.Select(axis, i)), 0
	}
	bound := func() (string, *int) {
		if r.IntN(3) == 0 {
			return "", nil
		}
		n := r.IntN(15) - 7
		if r.IntN(10) == 0 {
			n = []int{math.MinInt, math.MaxInt}[r.IntN(2)]
		}
		return fmt.Sprint(n), &n
	}
	a, start := bound()
	b, stop := bound()
	text, step := a+":"+b, 1
	switch r.IntN(3) {
	case 0:
		text += ":"
	case 1:
		if step = r.IntN(7) - 3; step == 0 {
			step = math.MinInt + 1
		}
		text += fmt.Sprintf(":%d", step)
	}
	var kept []int
	if step < -100 { // too long a way for sweep
		if kept = pythonRange(size, start, stop, -1); len(kept) > 1 {
			kept = kept[:1]
		}
	} else {
		kept = pythonRange(size, start, stop, step)
	}
	next := w.clone()
	next.Shape[axis] = len(kept)
	if len(kept) > 0 {
		next.Offset += kept[0] * w.Stride[axis]
		next.Stride[axis] *= step
	}
	return text, next, 1
}

func TestIndexSelectsWhatNumPyWould(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	for range 50_000 {
		v := randomView(r)
		text, want := randomIndex(r, v)
		index, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		got, err := index.Of(v)
		if err != nil || !listOf(got).equal(listOf(want)) {
			t.Fatalf("%q of %+v: %+v, %v; want %+v", text, v, got, err, want)
		}
		again, err := Parse(index.String())
		if err != nil || !reflect.DeepEqual(again, index) {
			t.Fatalf("%q prints as %v, which reads as %v, %v", text, index, again, err)
		}
	}
}

func TestParseNamesThePosition(t *testing.T) {
	for _, test := range []struct{ expr, want string }{
		{"[0:100", `position 6: the end where a comma or ']' should be`},
		{"0:1:0", `position 5: step 0`},
		{"1 2", `position 2: '2' where a comma or the end should be`},
		{"0,,1", `position 2: ',' where a number, a range, ... or None should be`},
		{"..., 3, ...", `position 8: a second ...; want at most one`},
		{"1:-", `position 3: the end where digits should be`},
		{"[1]]", `position 3: ']' after the index`},
		{"1.5", `position 1: '.' where a comma or the end should be`},
		{"[[0,1", `position 5: the end where a comma or ']' of the list should be`},
		{"[[[0,1]]]", `position 2: a list in a list; want lists of one axis`},
		{"[[0 1]]", `position 4: '1' where a comma or ']' of the list should be`},
		{"[@]", `position 2: ']' where the path of a mask should be`},
		{"[@'a]", `position 5: the end where '\'' should be`},
		{"[time=]", `position 6: ']' where a coordinate of time or a range should be`},
		{"[time==3]", `position 6: '=' where a coordinate of time or a range should be`},
		{"[time=1:2:0]", `position 11: step 0 of coordinates; want 1 or more`},
		{"[time=1, 0]", `position 11: names of dimensions beside positions; want either for all axes`},
		{"[time=1, time=2]", `position 16: dimension time twice`},
		{"ä", `position 0: 'ä' where a number, a range, ... or None should be`},
	} {
		_, err := Parse(test.expr)
		if want := fmt.Sprintf("index %q, %s: wrong shape", test.expr, test.want); err == nil || err.Error() != want || !errors.Is(err, ErrShape) {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
}

func TestIndexIsRefusedWhereItDoesNotFit(t *testing.T) {
	for _, test := range []struct{ expr, want string }{
		{"0, 0, 0", "index [0, 0, 0] has 3 axes, shape [2 3] has 2: wrong shape"},
		{"1, ..., 3", "index [1, ..., 3]: index 3 is outside axis 1 of size 3: wrong shape"},
		{"..., 5", "index [..., 5]: index 5 is outside axis 1 of size 3: wrong shape"},
		{"-3", "index [-3]: index -3 is outside axis 0 of size 2: wrong shape"},
		{"None, 2", "index [None, 2]: index 2 is outside axis 0 of size 2: wrong shape"},
	} {
		index, err := Parse(test.expr)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := index.Of(Of(2, 3)); err == nil || err.Error() != test.want || !errors.Is(err, ErrShape) {
			t.Errorf("%v\nwant %s", err, test.want)
		}
	}
}

// FuzzParse looks for expressions that panic, that print as something else, or
// that select elements a view does not have.
func FuzzParse(f *testing.F) {
	for _, expr := range []string{
		"", "[]", "[0:100, ::2, -1, ..., None]", "...", "1:2:3,", "-9223372036854775808::-9223372036854775808",
		"[[3, 1, -7], [0]]", "[@mask/valid, 0]", "[@'a, b'==\"x\"]", "[time=2001:2005, lat=52.5]", "[a='b]',c=::2]", "Nonesuch=3",
		"99999999999999999999", "[ +1 , newaxis ]", "Ellipsis", "::0", "[[", "1:-", "5:1:-1, -1:-9:-2",
	} {
		f.Add(expr)
	}
	f.Fuzz(func(t *testing.T, expr string) {
		index, err := Parse(expr)
		if err != nil {
			if !errors.Is(err, ErrShape) {
				t.Errorf("%v is no ErrShape", err)
			}
			return
		}
		if again, err := Parse(index.String()); err != nil || !reflect.DeepEqual(again, index) {
			t.Errorf("%q prints as %v, which reads as %v, %v", expr, index, again, err)
		}
		for _, v := range []View{Of(), Of(7), Of(5, 0, 4), Of(3, 4, 5, 2)} {
			s, err := index.Select(v, nil)
			if err != nil {
				continue
			}
			if s.Offsets == nil {
				s.Offsets = []int{0}
			}
			for _, offset := range s.Offsets {
				w := s.View
				if w.Offset += offset; !w.Within(v.Len()) {
					t.Errorf("%q of %+v: %+v reaches outside", expr, v, w)
				}
			}
		}
	})
}
