package convert

import (
	"strings"

	"github.com/h5dnn/h5dnn/inspect"
	"github.com/h5dnn/h5dnn/loss"
	"github.com/h5dnn/h5dnn/serialize"
)

// A Step writes one object, or leaves it out. Its Data is empty in a plan with Select, Transform or Save.
type Step struct {
	inspect.Object
	To      string    // the path it is written to
	Lost    loss.List // the object, or parts of it
	Notes   []string  // what is changed
	LeftOut bool
	renamed bool            // the format does not have the name of the entry
	listed  bool            // data has its name in the file, which may begin or end with a slash as paths do not
	data    serialize.Entry // of datasets
}

// writesData reports whether the step writes an array.
func (s *Step) writesData() bool { return s.Data != nil && !s.LeftOut }

// Bytes returns the size of the numbers that the step writes.
func (s *Step) Bytes() int {
	if s.data.Numbers() {
		return s.data.Array.NBytes()
	}
	return 0
}

// source returns the name of an array in the input.
func (s *Step) source() string {
	if s.listed {
		return s.data.Name
	}
	return strings.TrimPrefix(s.Path, "/")
}

// kind returns the kind of loss that the object is when it is left out.
func (s *Step) kind() loss.Kind {
	switch {
	case s.Data != nil && s.Data.Shape == nil:
		return loss.Null
	case s.Data != nil:
		return loss.Array
	case s.Kind == "group":
		return loss.Group
	case s.Kind == "datatype":
		return loss.Type
	}
	return loss.Link
}

// leaveOut records that the object is not written. Anything but an array has no place in
// the format.
func (s *Step) leaveOut(format string, args ...any) {
	s.LeftOut = true
	s.Lost.AddInherent(s.Path, s.kind(), 1, format, args...)
}

// kept returns the value of an attribute as any format can have it.
func kept(a inspect.Attr) (any, error) { return a.Keep() }

// withAttrs returns the data of a step with the attributes that keep returns without an error.
func (s *Step) withAttrs(keep func(inspect.Attr) (any, error)) serialize.Entry {
	e := s.data
	e.Attrs = nil
	for _, a := range s.Attrs {
		if value, err := keep(a); err == nil { // else it is lost
			if e.Attrs == nil {
				e.Attrs = map[string]any{}
			}
			e.Attrs[a.Name] = value
		}
	}
	return e
}
