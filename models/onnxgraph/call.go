package onnxgraph

import (
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize/onnx"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// A call is the evaluation of a node.
type call struct {
	*node
	in     []*tensor.Tensor // nil where the node leaves an input out
	device storage.Device   // of the operands that are computed
	dry    bool             // shapes are asked for, not elements
}

// fail ends the evaluation with an error.
func (c *call) fail(kind error, format string, args ...any) { tensor.Fail(c.op, kind, format, args...) }

// has reports whether the node has input i.
func (c *call) has(i int) bool { return i < len(c.in) && c.in[i] != nil }

// x returns input i, on the device of the others.
func (c *call) x(i int) *tensor.Tensor {
	if !c.has(i) {
		c.fail(views.ErrShape, "input %d is missing", i)
	}
	x := c.in[i]
	if c.dry {
		return tensor.NewMeta(x.DType(), x.Shape()...)
	}
	if c.device != tensor.Meta && x.Device() != c.device && !x.IsMeta() {
		x = x.To(c.device)
	}
	return x
}

// optional returns input i, or nil.
func (c *call) optional(i int) *tensor.Tensor {
	if !c.has(i) {
		return nil
	}
	return c.x(i)
}

// isConstant reports whether input i is left out or has elements in host memory.
func (c *call) isConstant(i int) bool { return !c.has(i) || c.in[i].Device() == storage.CPU }

// all returns all inputs.
func (c *call) all() []*tensor.Tensor {
	xs := make([]*tensor.Tensor, len(c.in))
	for i := range c.in {
		xs[i] = c.x(i)
	}
	return xs
}

// values returns the elements of input i, which are integers or numbers.
func (c *call) values(i int) []float64 {
	if !c.has(i) {
		c.fail(views.ErrShape, "input %d is missing", i)
	}
	if c.in[i].IsMeta() {
		c.fail(storage.ErrState, "input %d determines a shape and is computed from the elements of the data, which shapes alone do not say", i)
	}
	return tensor.Values[float64](c.in[i].CPU().Cast(dtype.Float64))
}

// list returns the elements of input i as integers. A size beyond those of an int32 is cut to it.
func (c *call) list(i int) []int {
	if !c.has(i) {
		c.fail(views.ErrShape, "input %d is missing", i)
	}
	if c.in[i].IsMeta() {
		c.fail(storage.ErrState, "input %d determines a shape and is computed from the elements of the data, which shapes alone do not say", i)
	}
	elements := tensor.Values[int64](c.in[i].CPU().Cast(dtype.Int64))
	list := make([]int, len(elements))
	for k, n := range elements {
		list[k] = int(min(max(n, -maxSize), maxSize))
	}
	return list
}

// maxSize bounds the sizes and positions that models name.
const maxSize = 1<<31 - 1

// scalar returns the one element of input i.
func (c *call) scalar(i int) float64 {
	v := c.values(i)
	if len(v) != 1 {
		c.fail(views.ErrShape, "input %d has %d elements; want one", i, len(v))
	}
	return v[0]
}

// attribute returns the attribute of a name, and whether there is one.
func (c *call) attribute(name string) (onnx.Attribute, bool) {
	a, ok := c.attributes[name]
	return a, ok
}

func (n *node) integer(name string, otherwise int) int {
	if a, ok := n.attributes[name]; ok && len(a.Ints) > 0 {
		return int(a.Ints[0])
	}
	return otherwise
}

func (n *node) number(name string, otherwise float64) float64 {
	if a, ok := n.attributes[name]; ok && len(a.Floats) > 0 {
		return float64(a.Floats[0])
	}
	return otherwise
}

func (n *node) text(name, otherwise string) string {
	if a, ok := n.attributes[name]; ok && len(a.Strings) > 0 {
		return a.Strings[0]
	}
	return otherwise
}

// integers returns a list of integers, nil without the attribute.
func (n *node) integers(name string) []int {
	a, ok := n.attributes[name]
	if !ok {
		return nil
	}
	list := make([]int, len(a.Ints))
	for i, x := range a.Ints {
		list[i] = int(min(max(x, -maxSize), maxSize))
	}
	return list
}

// axis returns the axis that an attribute names, from 0 on.
func (c *call) axis(name string, otherwise, rank int) int {
	return c.plainAxis(c.integer(name, otherwise), rank)
}

func (c *call) plainAxis(axis, rank int) int {
	if axis < -rank || axis >= rank {
		c.fail(views.ErrShape, "axis %d of %d axes", axis, rank)
	}
	if axis < 0 {
		axis += rank
	}
	return axis
}

// axes returns the axes that an attribute, or in later opsets input i, names; nil without.
func (c *call) axes(i, rank int) []int {
	list := c.integers("axes")
	if list == nil && c.has(i) {
		list = c.list(i)
	}
	for k, axis := range list {
		list[k] = c.plainAxis(axis, rank)
	}
	return list
}

// elements returns a tensor on the device of the inputs.
func (c *call) elements(x *tensor.Tensor) *tensor.Tensor {
	if c.device == storage.CPU || c.device == tensor.Meta {
		return x
	}
	return x.To(c.device)
}

// outputs reports whether the node has output i.
func (n *node) outputs(i int) bool { return i < len(n.out) && n.out[i] >= 0 }

// padded appends nil to a list up to the number of outputs.
func (n *node) padded(list ...*tensor.Tensor) []*tensor.Tensor {
	for len(list) < len(n.out) {
		list = append(list, nil)
	}
	return list
}

// rest returns the axes from first on.
func rest(first, rank int) []int {
	var axes []int
	for axis := first; axis < rank; axis++ {
		axes = append(axes, axis)
	}
	return axes
}

func product(sizes []int) int {
	n := 1
	for _, size := range sizes {
		n *= size
	}
	return n
}

func sorted(list []int) []int {
	list = slices.Clone(list)
	slices.Sort(list)
	return list
}
