// Package coordinates finds the indices along an axis whose coordinates are in a range: numbers,
// strings, and times as NetCDF's CF conventions count them.
package coordinates

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/h5dnn/h5dnn/views"
)

// An Axis is the coordinates of a dimension: Ints, Floats or Texts.
type Axis struct {
	Ints            []int64
	Floats          []float64
	Single          bool // Floats have the precision of float32
	Texts           []string
	Units, Calendar string // of times, as in "days since 1900-01-01"; else ""
}

// Find returns the indices whose coordinates are in r, in the order of the file. Its ends are
// inclusive, and may be in either order. A single number is the nearest coordinate, no further
// beyond the last ones than half the distance of their neighbours; a single string is equal to one
// coordinate. A date is the period that it names: 2001-03 is all of that month.
func (a Axis) Find(r views.CoordinateRange) (indices []int, single bool, err error) {
	switch {
	case a.Texts != nil:
		indices, err = a.findTexts(r)
		single = r.Single
	case strings.Contains(a.Units, " since "):
		indices, err = a.findTimes(r)
	case r.Single:
		indices, err = a.nearest(r.Start)
		single = true
	default:
		indices, err = a.findNumbers(r)
	}
	if err != nil {
		return nil, false, fmt.Errorf("%v: %w", r, err)
	}
	return indices, single, nil
}

// where returns the indices of the values between lo and hi.
func where[T cmp.Ordered](values []T, lo, hi T) []int {
	var all []int
	for k, x := range values {
		if lo <= x && x <= hi {
			all = append(all, k)
		}
	}
	return all
}

func (a Axis) findTexts(r views.CoordinateRange) ([]int, error) {
	lo, hi := r.Start, r.Stop
	switch {
	case r.Single:
		found := where(a.Texts, lo, lo)
		if len(found) != 1 {
			return nil, fmt.Errorf("%d coordinates are %q; want one: %w", len(found), lo, views.ErrShape)
		}
		return found, nil
	case hi == "": // no bound
		hi = slices.Max(append(slices.Clone(a.Texts), lo))
	case lo > hi:
		lo, hi = hi, lo
	}
	return where(a.Texts, lo, hi), nil
}

// findNumbers returns the numbers between two others.
func (a Axis) findNumbers(r views.CoordinateRange) ([]int, error) {
	lo, err := a.number(r.Start, math.Inf(-1))
	if err != nil {
		return nil, err
	}
	hi, err := a.number(r.Stop, math.Inf(1))
	if err != nil {
		return nil, err
	}
	if lo.float > hi.float || lo.float == hi.float && lo.floor > hi.floor {
		lo, hi = hi, lo
	}
	if a.Ints != nil {
		return where(a.Ints, lo.ceil, hi.floor), nil
	}
	return where(a.Floats, lo.float, hi.float), nil
}

// A number is a number, and the integers next to it.
type number struct {
	float       float64
	floor, ceil int64
}

// number reads a number; otherwise is the number of "".
func (a Axis) number(text string, otherwise float64) (number, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return number{a.round(float64(n)), n, n}, nil
	}
	x, err := otherwise, error(nil)
	if text != "" {
		if x, err = strconv.ParseFloat(text, 64); err != nil || math.IsNaN(x) {
			return number{}, fmt.Errorf("%q is no number, as the coordinates are: %w", text, views.ErrShape)
		}
	}
	return number{a.round(x), clamped(math.Floor(x)), clamped(math.Ceil(x))}, nil
}

// round rounds x to the precision of the coordinates, as NumPy does to compare with them.
func (a Axis) round(x float64) float64 {
	if a.Single {
		return float64(float32(x))
	}
	return x
}

// clamped returns the int64 nearest to x.
func clamped(x float64) int64 {
	switch {
	case x >= math.MaxInt64:
		return math.MaxInt64
	case x <= math.MinInt64:
		return math.MinInt64
	}
	return int64(x)
}

// nearest returns the index of the coordinate that is nearest to a number; of two, the second.
func (a Axis) nearest(text string) ([]int, error) {
	want, err := a.number(text, 0)
	if err != nil {
		return nil, err
	}
	if want.floor == want.ceil {
		if k := slices.Index(a.Ints, want.floor); k >= 0 {
			return []int{k}, nil
		}
	}
	values := slices.Clone(a.Floats)
	for _, x := range a.Ints {
		values = append(values, float64(x))
	}
	at := -1
	for k, x := range values {
		if !math.IsNaN(x) && (at < 0 || math.Abs(x-want.float) <= math.Abs(values[at]-want.float)) {
			at = k
		}
	}
	if at < 0 {
		return nil, fmt.Errorf("there are no coordinates: %w", views.ErrShape)
	}
	least, most, step := extent(values, values[at])
	if beyond := max(least-want.float, want.float-most); beyond > step/2 {
		return nil, fmt.Errorf("the coordinates are %v to %v, and the nearest is %v away: %w", least, most, beyond, views.ErrShape)
	}
	return []int{at}, nil
}

// extent returns the extremes of values, and how far the nearest other one is from x.
func extent(values []float64, x float64) (least, most, step float64) {
	least, most, step = x, x, math.Inf(1)
	for _, y := range values {
		if math.IsNaN(y) {
			continue
		}
		least, most = min(least, y), max(most, y)
		if x != y {
			step = min(step, math.Abs(x-y))
		}
	}
	if math.IsInf(step, 1) {
		step = 0 // there is one coordinate
	}
	return least, most, step
}
