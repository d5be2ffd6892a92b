package storage

import (
	"fmt"
	"math"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/views"
)

// Index returns the part of a that a NumPy index expression selects, such as "[::2, 3:, -1]" or
// "[[3, 1, 7], 0]"; see [views.Parse]. Without lists it shares a's storage, and nothing is read.
// With lists it is a copy, as in NumPy, or, of an array in a file, one whose elements are read when
// they are needed. An expression that does not fit is an error of kind views.ErrShape.
func (a Array) Index(expr string) (Array, error) {
	x, err := views.Parse(expr)
	if err != nil {
		return Array{}, err
	}
	s, err := x.Select(a.View, nil)
	if err != nil {
		return Array{}, err
	}
	return a.Selected(s)
}

// Selected returns the elements of a that s selects, which was made for a's view; see [Array.Index].
func (a Array) Selected(s views.Selection) (Array, error) {
	if s.Offsets == nil {
		return a.With(s.View), nil
	}
	lazy := &selected{a, s}
	if err := lazy.check(); err != nil {
		return Array{}, err
	}
	shape := s.Size()
	if _, ok := a.Data.(Source); ok {
		return Array{lazy, a.Type, views.Of(shape...)}, nil
	}
	home := a.Data.Device()
	through := home
	if _, ok := home.(Peer); !ok {
		through = CPU // elsewhere, elements are not written with gaps between them
	}
	copied, err := Make(through, a.Type, shape...)
	if err == nil {
		err = lazy.write(copied.View, copied)
	}
	if err != nil {
		return Array{}, err
	}
	return copied.To(home)
}

// selected is the [Source] of elements that a view does not have. Only those that are read are read
// from the file, in the order in which it stores them.
type selected struct {
	from Array
	views.Selection
}

func (s *selected) Len() int       { return views.Of(s.Size()...).Len() * s.from.Type.Size() }
func (s *selected) Device() Device { return s.from.Data.Device() }

// check returns an error for a selection that reaches outside its array, or that is too large.
func (s *selected) check() error {
	if _, err := views.New(s.Size(), math.MaxInt/s.from.Type.Size()); err != nil {
		return err
	}
	lo, hi := s.View.Bounds()
	n := s.from.Data.Len() / s.from.Type.Size()
	for _, offset := range s.Offsets {
		if s.View.Len() > 0 && (lo+offset < 0 || hi+offset >= n) {
			return fmt.Errorf("a selection of %v reaches outside %d elements: %w", s.Size(), n, views.ErrShape)
		}
	}
	return nil
}

// ReadView implements [Source].
func (s *selected) ReadView(dst []byte, t dtype.Type, v views.View) error {
	n := v.Len() * t.Size()
	switch {
	case t != s.from.Type:
		return fmt.Errorf("elements of %v read as %v: %w", s.from.Type, t, dtype.ErrType)
	case !v.Within(s.Len()/t.Size()) || len(dst) < n:
		return fmt.Errorf("the view reaches outside %v: %w", s.Size(), views.ErrShape)
	}
	return s.write(v, Array{Wrap(dst[:n]), t, views.Of(v.Shape...)})
}

// write writes the elements of a view of the selected elements to dst, which has its shape.
func (s *selected) write(v views.View, dst Array) error {
	for part, box := range views.Boxes(v, dst.View, s.Size()) {
		for to, from := range s.Runs(box, part) {
			if err := s.from.With(from).CopyTo(dst.With(to)); err != nil {
				return err
			}
		}
	}
	return nil
}
