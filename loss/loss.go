// Package loss counts what a copy of a file lacks, in the same words for every command.
package loss

import (
	"fmt"
	"slices"
	"strings"
)

// A Kind is a kind of thing that a copy may lack.
type Kind int

// The kinds, in the order of a summary.
const (
	Array     Kind = iota // a dataset with its elements
	Null                  // a dataset without a value (null dataspace)
	Value                 // an element, or part of one
	Attribute             //
	Link                  // a soft, external or user-defined link
	Group                 //
	Type                  // a committed datatype, or the names of an enum
	Property              // a property of storage: room to grow, a fill value
)

var nouns = [...]string{"array", "null dataset", "value", "attribute", "link", "group", "type", "property"}

func (k Kind) String() string { return nouns[k] }

// MarshalText returns the name of the kind.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// An Item is what is lost of one object for one reason.
type Item struct {
	Path   string `json:"path"`
	Kind   Kind   `json:"kind"`
	Count  int    `json:"count"`
	Reason string `json:"reason"`
	// Inherent is set if the format of the copy has no place for it, such as
	// attributes in .npz. A lost array is inherent only if it is no part of what was asked
	// for, such as the state of an optimizer.
	Inherent bool `json:"inherent"`
}

// Text says what is lost and why, without the path.
func (i Item) Text() string { return fmt.Sprintf("%s lost: %s", count(i.Count, i.Kind), i.Reason) }

func (i Item) String() string { return i.Path + ": " + i.Text() }

// A List is all that is lost. The zero value is a complete copy.
type List []Item

// Add adds an item.
func (l *List) Add(path string, kind Kind, n int, format string, args ...any) {
	l.add(Item{Path: path, Kind: kind, Count: n, Reason: fmt.Sprintf(format, args...)})
}

// AddInherent adds an item that the format of the copy has no place for.
func (l *List) AddInherent(path string, kind Kind, n int, format string, args ...any) {
	l.add(Item{Path: path, Kind: kind, Count: n, Reason: fmt.Sprintf(format, args...), Inherent: kind != Array})
}

func (l *List) add(i Item) {
	if i.Count > 0 {
		*l = append(*l, i)
	}
}

// Avoidable reports whether an array, or anything that the format of the copy could
// have held, is lost.
func (l List) Avoidable() bool {
	return slices.ContainsFunc(l, func(i Item) bool { return !i.Inherent })
}

// Of returns the items of one object.
func (l List) Of(path string) List {
	var some List
	for _, i := range l {
		if i.Path == path {
			some = append(some, i)
		}
	}
	return some
}

// Summary returns the total of every kind: "lost: 2 arrays, 5 attributes", or
// "nothing lost".
func (l List) Summary() string {
	var totals [len(nouns)]int
	for _, i := range l {
		totals[i.Kind] += i.Count
	}
	var parts []string
	for k, n := range totals {
		if n > 0 {
			parts = append(parts, count(n, Kind(k)))
		}
	}
	if parts == nil {
		return "nothing lost"
	}
	return "lost: " + strings.Join(parts, ", ")
}

// count returns a number of things in words: 1 array, 2 properties.
func count(n int, k Kind) string {
	noun := k.String()
	switch {
	case n == 1:
	case k == Property:
		noun = "properties"
	default:
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
