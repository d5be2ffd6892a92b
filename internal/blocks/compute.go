package blocks

import (
	"fmt"
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// Compute returns an array of a type and shape whose elements are computed when they are read:
// fill writes those of a box to dst, host memory of that type, of the box's shape and of any
// strides. It may be called by several goroutines. Nothing is kept.
func Compute(t dtype.Type, shape []int, fill func(dst storage.Array, b views.Box) error) storage.Array {
	return storage.Array{Data: &computed{slices.Clone(shape), t, fill}, Type: t, View: views.Of(shape...)}
}

type computed struct {
	shape []int
	typ   dtype.Type
	fill  func(dst storage.Array, b views.Box) error
}

func (c *computed) Len() int               { return views.Of(c.shape...).Len() * c.typ.Size() }
func (c *computed) Device() storage.Device { return storage.File("computed") }

func (c *computed) ReadView(dst []byte, t dtype.Type, v views.View) error {
	n := v.Len() * c.typ.Size()
	switch {
	case t != c.typ:
		return fmt.Errorf("elements of %v read as %v: %w", c.typ, t, dtype.ErrType)
	case !v.Within(c.Len()/c.typ.Size()) || len(dst) < n:
		return fmt.Errorf("the view reaches outside %v: %w", c.shape, views.ErrShape)
	}
	return c.write(v, storage.Array{Data: storage.Wrap(dst[:n]), Type: t, View: views.Of(v.Shape...)})
}

func (c *computed) write(v views.View, dst storage.Array) error {
	for part, box := range views.Boxes(v, dst.View, c.shape) {
		if err := c.fill(dst.With(part), box); err != nil {
			return err
		}
	}
	return nil
}

// Copy writes the elements of a to dst, host memory of a's shape and of any strides, as
// [storage.Array.CopyTo] does. What is computed is written in place.
func Copy(a, dst storage.Array) error {
	c, ok := a.Data.(*computed)
	if !ok || a.Type != dst.Type || a.Type != c.typ || !slices.Equal(a.Shape, dst.Shape) || !a.Within(c.Len()/c.typ.Size()) {
		return a.CopyTo(dst)
	}
	return c.write(a.View, dst)
}
