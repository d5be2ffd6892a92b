package convert

import (
	"github.com/h5dnn/h5dnn/inspect"
	"github.com/h5dnn/h5dnn/loss"
	"github.com/h5dnn/h5dnn/serialize"
)

// A Step writes one object, or leaves it out.
type Step struct {
	inspect.Object
	data    inspect.Selection // of datasets
	To      string            // the path it is written to
	LeftOut bool
	Lost    loss.List // the object, or parts of it
	Notes   []string  // what is changed
	renamed bool      // the format does not have the name of the entry
}

// writesData reports whether the step writes an array.
func (s *Step) writesData() bool { return s.Data != nil && !s.LeftOut }

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

// withAttrs returns the data of a step with those of its attributes that any format can have.
func (s *Step) withAttrs() serialize.Entry {
	e := s.data.Entry
	e.Attrs = nil
	for _, a := range s.Attrs {
		if value, err := a.Keep(); err == nil { // else it is lost
			if e.Attrs == nil {
				e.Attrs = map[string]any{}
			}
			e.Attrs[a.Name] = value
		}
	}
	return e
}

// sameAs returns the step among others of the same elements that has the same attributes, such as
// tied weights, or nil.
func (s *Step) sameAs(others []*Step) *Step {
	attrs := s.withAttrs().Attrs
	for _, other := range others {
		if serialize.SameAttrs(attrs, other.withAttrs().Attrs) {
			return other
		}
	}
	return nil
}
