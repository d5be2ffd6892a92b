package views

import "slices"

// Overlap reports whether two views of one storage have an element in common.
//
// The answer is exact if it is found within a few thousand trials, as for slices,
// transposes, flips and windows of ordinary arrays. Otherwise it is true, so a result
// of false is always right.
func Overlap(a, b View) bool {
	if a.Len() == 0 || b.Len() == 0 {
		return false
	}
	aLo, aHi := a.Bounds()
	bLo, bHi := b.Bounds()
	if aHi < bLo || bHi < aLo {
		return false
	}
	// From each end, elements are reached by steps forward: a position of a is
	// aLo + Σ c·x, one of b is bHi − Σ c·x. They are equal if both sums
	// add up to the distance.
	terms := append(a.terms(), b.terms()...)
	slices.SortFunc(terms, func(s, t term) int { return t.step - s.step })
	s := sumSearch{terms: terms, budget: 10_000}
	s.reach, s.gcd = make([]int, len(terms)+1), make([]int, len(terms)+1)
	for i := len(terms) - 1; i >= 0; i-- {
		s.reach[i] = s.reach[i+1] + terms[i].step*terms[i].most
		s.gcd[i] = gcd(s.gcd[i+1], terms[i].step)
	}
	return s.fills(0, bHi-aLo)
}

// A term contributes step·x for some x from 0 to most.
type term struct{ step, most int }

func (v View) terms() []term {
	var all []term
	for axis, size := range v.Shape {
		if size > 1 && v.Stride[axis] != 0 {
			all = append(all, term{abs(v.Stride[axis]), size - 1})
		}
	}
	return all
}

// A sumSearch looks for values with which the terms, largest step first, sum to a
// distance.
type sumSearch struct {
	terms  []term
	reach  []int // the largest sum of terms i, i+1, …
	gcd    []int // the greatest common divisor of all their sums
	budget int
}

// fills reports whether terms i, i+1, … can sum to distance, or the budget is spent.
func (s *sumSearch) fills(i, distance int) bool {
	if s.budget--; s.budget < 0 {
		return true
	}
	if distance == 0 {
		return true
	}
	if distance < 0 || distance > s.reach[i] || distance%s.gcd[i] != 0 {
		return false
	}
	t := s.terms[i]
	least := max(0, (distance-s.reach[i+1]+t.step-1)/t.step)
	for x := min(t.most, distance/t.step); x >= least; x-- {
		if s.fills(i+1, distance-x*t.step) {
			return true
		}
	}
	return false
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
