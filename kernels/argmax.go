package kernels

import (
	"fmt"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// ArgMax is where along the one axis that y lacks, having size 1 there, the
// largest element of x lies, as int64: the first of several; the first NaN, if there is one.
var ArgMax = define("argmax", checkArgMax,
	func(c *Call, _ struct{}) error {
		y, x := &c.Out[0], &c.In[0]
		axis := reducedAxis(y, x)
		if axis < 0 { // every element is the only one
			setElements(y, make([]int64, y.Len()))
			return nil
		}
		switch computeTypeOf(x.Type) {
		case dtype.Float64:
			referenceArgMax[float64](axis, y, x)
		case dtype.Int64:
			referenceArgMax[int64](axis, y, x)
		case dtype.Uint64:
			referenceArgMax[uint64](axis, y, x)
		}
		return nil
	},
	func(c *Call, _ struct{}) (bool, error) {
		y, x := &c.Out[0], &c.In[0]
		axis := reducedAxis(y, x)
		return axis >= 0 && nativeLines(native.ArgMax, axis, y, x, x), nil
	})

func referenceArgMax[W computeType](axis int, y, x *storage.Array) {
	var buf []W
	eachLine(axis, func(l []line) {
		buf = read(l[1], buf)
		store(l[0].Array, l[0].at, 0, []int64{int64(argmax(buf))})
	}, y, x)
}

// argmax returns the index of the first NaN, or else of the first largest element.
func argmax[W computeType](x []W) int {
	best := 0
	for i := range x {
		if x[i] != x[i] {
			return i
		}
		if x[i] > x[best] {
			best = i
		}
	}
	return best
}

func checkArgMax(c *Call, _ struct{}) error {
	if err := c.reduces(); err != nil {
		return err
	}
	y, x := &c.Out[0], &c.In[0]
	reduced := 0
	for axis, size := range x.Shape {
		if y.Shape[axis] != size {
			reduced++
		}
	}
	if reduced > 1 {
		return fmt.Errorf("%v becomes %v along %d axes; want one: %w", x.Shape, y.Shape, reduced, views.ErrShape)
	}
	if x.Len() == 0 && y.Len() > 0 {
		return fmt.Errorf("%v has no largest element: %w", x.Shape, views.ErrShape)
	}
	return oneType(dtype.Int64, *y)
}

// reducedAxis returns the axis along which y has size 1 and x has not, or -1.
func reducedAxis(y, x *storage.Array) int {
	for axis, size := range x.Shape {
		if y.Shape[axis] != size {
			return axis
		}
	}
	return -1
}
