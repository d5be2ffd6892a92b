package nn

import (
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/spell"
)

// unknown says that there is no such thing, and which of the known it might mean.
func unknown(kind, name string, known []string) error {
	if near, ok := spell.Nearest(name, known); ok {
		return mistake(ErrConfig, "no such %s; did you mean %s?", kind, near)
	}
	slices.Sort(known)
	return mistake(ErrConfig, "no such %s; known are %s", kind, strings.Join(known, ", "))
}
