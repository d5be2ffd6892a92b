package nn

import "encoding/json"

// A Pair is something down and across an image. In configurations a single
// number stands for both.
type Pair [2]int

// Both returns the pair that is n down and across.
func Both(n int) Pair { return Pair{n, n} }

// UnmarshalJSON reads n or [n, m].
func (p *Pair) UnmarshalJSON(text []byte) error {
	var n int
	if json.Unmarshal(text, &n) == nil {
		*p = Both(n)
		return nil
	}
	var both []int
	if err := json.Unmarshal(text, &both); err != nil || len(both) != 2 {
		return mistake(ErrConfig, "want a number or a pair of numbers")
	}
	*p = Pair(both)
	return nil
}

// or returns p, or other where p is zero.
func (p Pair) or(other Pair) Pair {
	if p == (Pair{}) {
		return other
	}
	return p
}

// A Not is a switch that is on unless it is set, and written as its opposite:
// NoBias is "bias": false.
type Not bool

// MarshalJSON writes the opposite.
func (n Not) MarshalJSON() ([]byte, error) { return json.Marshal(!bool(n)) }

// UnmarshalJSON reads the opposite.
func (n *Not) UnmarshalJSON(text []byte) error {
	var on bool
	err := json.Unmarshal(text, &on)
	*n = Not(!on)
	return err
}
