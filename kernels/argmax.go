package kernels

import (
	"fmt"
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// ArgMax is the index, as int64, of the largest element of x along the one axis where y has
// size 1: of the first of several; of the first NaN, if there is one.
var ArgMax = define("argmax", checkArgMax,
	func(c *Call, _ struct{}) error {
		y, x := &c.Out[0], &c.In[0]
		axis := reducedAxis(y, x)
		if axis < 0 { // every element is the only one
			setElements(y, make([]int64, y.Len()))
			return nil
		}
		instance(x.Type, referenceArgMax[float64], referenceArgMax[int64], referenceArgMax[uint64])(axis, y, x)
		return nil
	},
	func(c *Call, _ struct{}) (bool, error) {
		y, x := &c.Out[0], &c.In[0]
		axis := reducedAxis(y, x)
		return axis >= 0 && nativeLines(native.ArgMax, axis, y, x, x), nil
	})

// MaxIndex is the largest element of x along the one axis where y has size 1, and its index as of
// ArgMax; NaN if there is one. Out y and index, of y's shape.
var MaxIndex = define("max with index",
	func(c *Call, _ struct{}) error {
		if err := c.checkOperands(2, 1); err != nil {
			return err
		}
		y, index, x := &c.Out[0], &c.Out[1], &c.In[0]
		if err := checkOneAxis(index, x); err != nil {
			return err
		}
		if err := oneShape(*index, *y); err != nil {
			return err
		}
		if err := oneType(dtype.Int64, *index); err != nil {
			return err
		}
		return oneType(x.Type, *y)
	},
	func(c *Call, _ struct{}) error {
		y, index, x := &c.Out[0], &c.Out[1], &c.In[0]
		axis := reducedAxis(y, x)
		if axis < 0 {
			referenceCopy(y, x)
			setElements(index, make([]int64, y.Len()))
			return nil
		}
		instance(x.Type, referenceMaxIndex[float64], referenceMaxIndex[int64], referenceMaxIndex[uint64])(axis, y, index, x)
		return nil
	},
	func(c *Call, _ struct{}) (bool, error) {
		y, index, x := &c.Out[0], &c.Out[1], &c.In[0]
		axis := reducedAxis(y, x)
		return axis >= 0 && nativeLines(native.MaxIndex, axis, y, x, index), nil
	})

func referenceMaxIndex[W computeType](axis int, y, index, x *storage.Array) {
	var buf []W
	eachLine(axis, func(l []line) {
		buf = read(l[2], buf)
		at := argmax(buf)
		store(l[0].Array, l[0].at, 0, buf[at:at+1])
		store(l[1].Array, l[1].at, 0, []int64{int64(at)})
	}, y, index, x)
}

// onlyAt returns shape with size 1 along axis.
func onlyAt(axis int, shape []int) []int {
	shape = slices.Clone(shape)
	shape[axis] = 1
	return shape
}

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
	if err := c.checkOperands(1, 1); err != nil {
		return err
	}
	if err := checkOneAxis(&c.Out[0], &c.In[0]); err != nil {
		return err
	}
	return oneType(dtype.Int64, c.Out[0])
}

// checkOneAxis checks that y has the shape of x but for a size of 1 along at most one axis.
func checkOneAxis(y, x *storage.Array) error {
	if err := checkReduced(y, x); err != nil {
		return err
	}
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
	return nil
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
