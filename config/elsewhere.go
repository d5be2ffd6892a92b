package config

import (
	"cmp"
	"maps"
	"slices"

	"github.com/h5dnn/h5dnn/spell"
)

// An Other is what stands for a name that other programs use.
type Other struct {
	Name string // the name here, where it is known
	Text string // what to write where Name is not known; "" if nothing does
}

var elsewhere = map[string]map[string][]Other{} // by kind and plain name

// RegisterElsewhere adds names of one kind that other programs use, for the errors of Unknown.
func RegisterElsewhere(kind string, names map[string]Other) bool {
	if elsewhere[kind] == nil {
		elsewhere[kind] = map[string][]Other{}
	}
	for name, other := range names {
		plain := spell.Plain(name)
		elsewhere[kind][plain] = append(elsewhere[kind][plain], other)
	}
	return true
}

// Elsewhere returns what stands for a name of that kind where known are the names, or "".
func Elsewhere(kind, name string, known []string) (want string) {
	for _, other := range elsewhere[kind][spell.Plain(name)] {
		if other.Name != "" && slices.Contains(known, other.Name) {
			return other.Name
		}
		want = cmp.Or(want, other.Text)
	}
	return want
}

// ElsewhereNames lists the names of a kind that are registered, with what stands for them.
func ElsewhereNames(kind string) map[string][]Other { return maps.Clone(elsewhere[kind]) }
