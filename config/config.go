// Package config decodes configurations from YAML and JSON strictly: unknown names
// and values of the wrong type are errors that give the position and suggest the
// name that may have been meant.
//
// It does not know what is configured. Settings are structs with JSON names.
package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/internal/errkind"
	"github.com/h5dnn/h5dnn/spell"
)

// ErrInvalid is the kind of error, for errors.Is, of a setting that does not exist
// or cannot have the value given.
var ErrInvalid = errors.New("invalid setting")

// An Error is an error at some place in a configuration.
type Error struct {
	Path []any // names of settings and Items of lists, from the outside in
	Err  error
}

// An Item is an element of a list, in a Path.
type Item struct {
	Kind  string // what the list is of, such as "layer"
	Index int    // from 0
}

func (i Item) String() string { return fmt.Sprintf("%s %d", i.Kind, i.Index) }

func (e *Error) Error() string {
	var b strings.Builder
	for _, step := range e.Path {
		fmt.Fprintf(&b, "%v: ", step)
	}
	return b.String() + e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// At puts path in front of the path of err, which becomes an *Error.
func At(err error, path ...any) error {
	var inner *Error
	if errors.As(err, &inner) {
		return &Error{slices.Concat(path, inner.Path), inner.Err}
	}
	return &Error{path, err}
}

// Errorf returns an error of kind ErrInvalid with the formatted message.
func Errorf(format string, args ...any) error { return errkind.Errorf(ErrInvalid, format, args...) }

// Unknown returns the error that no thing of that kind has the name. It has what stands for names of other
// programs, suggests the nearest of the known names, or lists them if none is near.
func Unknown(kind, name string, known []string) error {
	if want := Elsewhere(kind, name, known); want != "" {
		return Errorf("no such %s; want %s", kind, want)
	}
	if near, ok := spell.Nearest(name, known); ok {
		return Errorf("no such %s; did you mean %s?", kind, near)
	}
	return Errorf("no such %s; known are %s", kind, strings.Join(slices.Sorted(slices.Values(known)), ", "))
}
