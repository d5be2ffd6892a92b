package kernels

import (
	"fmt"
	"math"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// Reductions combine many elements into one. Their output has the input's rank, and size 1
// along the reduced axes. The line of a name in native/reductions.h is the optimized loop.

// Sum is y = Σ x along the axes where y has size 1; an empty sum is 0. Floats are added in
// float64, or in short blocks of float32 whose sums are added in float64. Sums of integers and bools may
// also be int64.
var Sum = define("sum", checkSum, referenceSum,
	nativeReduction("sum"))

// Mean is the mean of floats x along the axes where y has size 1; an empty mean is NaN.
var Mean = define("mean", checkMean,
	func(c *Call, _ struct{}) error {
		y, x := &c.Out[0], &c.In[0]
		sums := reduce(0, add[float64], x, y.Shape)
		for i := range sums {
			sums[i] /= float64(x.Len()) / float64(y.Len())
		}
		setElements(y, sums)
		return nil
	},
	func(c *Call, _ struct{}) (bool, error) {
		y, x := &c.Out[0], &c.In[0]
		return nativeReduce(sumLine, y, x, nil, float64(x.Len())/float64(y.Len())), nil
	})

var sumLine, _ = native.FindReduction("sum")

// Max is the largest x along the axes where y has size 1; NaN if one is NaN.
var Max = define("max", checkExtreme,
	func(c *Call, _ struct{}) error {
		referenceReduce(c, math.Inf(-1), math.MinInt64, 0, maximum[float64], maximum[int64], maximum[uint64])
		return nil
	},
	nativeReduction("max"))

// Min is the smallest x along the axes where y has size 1; NaN if one is NaN.
var Min = define("min", checkExtreme,
	func(c *Call, _ struct{}) error {
		referenceReduce(c, math.Inf(1), math.MaxInt64, math.MaxUint64, minimum[float64], minimum[int64], minimum[uint64])
		return nil
	},
	nativeReduction("min"))

// Squares is y = Σ (x − m)² of floats along the axes where y has size 1. In x and m, of y's shape, or x alone: then m is 0.
// Squares of float32 are rounded before they are added as by Sum.
var Squares = define("squares",
	func(c *Call, _ struct{}) error {
		if err := c.checkOperands(1, len(c.In)); err != nil {
			return err
		}
		if len(c.In) < 1 || len(c.In) > 2 {
			return fmt.Errorf("%d inputs; want 1 or 2: %w", len(c.In), views.ErrShape)
		}
		if err := checkReduced(&c.Out[0], &c.In[0]); err != nil {
			return err
		}
		if len(c.In) > 1 {
			if err := oneShape(c.Out[0], c.In[1]); err != nil {
				return err
			}
		}
		return c.allFloats()
	},
	func(c *Call, _ struct{}) error {
		y, x := &c.Out[0], &c.In[0]
		square := zeros(x.Shape)
		referenceMap(func(x float64) float64 { return x }, square, *x)
		if len(c.In) > 1 {
			referenceZip(func(x, m float64) float64 { return x - m }, square, square, broadcastTo(&c.In[1], x.Shape))
		}
		setElements(y, reduce(0, func(sum, x float64) float64 { return sum + x*x }, &square, y.Shape))
		return nil
	},
	nativeReduction("squares"))

func referenceSum(c *Call, _ struct{}) error {
	referenceReduce(c, 0, 0, 0, add[float64], add[int64], add[uint64])
	return nil
}

// referenceReduce joins the elements of each compute type, beginning with the start of it.
func referenceReduce(c *Call, float float64, signed int64, unsigned uint64, floats func(a, b float64) float64, ints func(a, b int64) int64, uints func(a, b uint64) uint64) {
	y, x := &c.Out[0], &c.In[0]
	switch computeTypeOf(x.Type) {
	case dtype.Float64:
		setElements(y, reduce(float, floats, x, y.Shape))
	case dtype.Int64:
		setElements(y, reduce(signed, ints, x, y.Shape))
	case dtype.Uint64:
		setElements(y, reduce(unsigned, uints, x, y.Shape))
	}
}

// reduces checks that the output is the input with some axes of size 1.
func (c *Call) reduces() error {
	if err := c.checkOperands(1, 1); err != nil {
		return err
	}
	return checkReduced(&c.Out[0], &c.In[0])
}

func checkReduced(y, x *storage.Array) error {
	fits := len(x.Shape) == len(y.Shape)
	for axis := 0; fits && axis < len(x.Shape); axis++ {
		fits = y.Shape[axis] == x.Shape[axis] || y.Shape[axis] == 1
	}
	if !fits {
		return fmt.Errorf("%v does not become %v; reduced axes keep size 1: %w", x.Shape, y.Shape, views.ErrShape)
	}
	if computeTypeOf(x.Type) == dtype.Invalid {
		return notDefined(x.Type)
	}
	return nil
}

func checkSum(c *Call, _ struct{}) error {
	if err := c.reduces(); err != nil {
		return err
	}
	if x := c.In[0].Type; c.Out[0].Type == dtype.Int64 && computeTypeOf(x) == dtype.Int64 {
		return nil
	}
	return oneType(c.In[0].Type, c.Out...)
}

func checkMean(c *Call, _ struct{}) error {
	if err := c.reduces(); err != nil {
		return err
	}
	if !c.In[0].Type.IsFloat() {
		return notDefined(c.In[0].Type)
	}
	return oneType(c.In[0].Type, c.Out...)
}

func checkExtreme(c *Call, _ struct{}) error {
	if err := c.reduces(); err != nil {
		return err
	}
	if c.In[0].Len() == 0 && c.Out[0].Len() > 0 {
		return fmt.Errorf("%v has no largest or smallest element: %w", c.In[0].Shape, views.ErrShape)
	}
	return oneType(c.In[0].Type, c.Out...)
}

// reduce returns, in row-major order of shape, what f makes of start and the
// elements of x that share a place in shape.
func reduce[W computeType](start W, f func(sum, x W) W, x *storage.Array, shape []int) []W {
	sums := storage.From(make([]W, views.Of(shape...).Len()), shape...)
	all := storage.Elements[W](sums)
	for i := range all {
		all[i] = start
	}
	var xs [block]W
	broadcast, _ := sums.Broadcast(x.Shape...)
	blocks(func(at, step []int, n int) {
		load(xs[:n], x, at[0], step[0])
		for i, x := range xs[:n] {
			sum := &all[at[1]+i*step[1]]
			*sum = f(*sum, x)
		}
	}, *x, sums.With(broadcast))
	return all
}

// setElements writes elems, which are in row-major order, to y.
func setElements[W computeType](y *storage.Array, elems []W) {
	x := storage.From(elems, y.Shape...)
	convertElements(y, &x)
}

// nativeReduction is the line of that name of reductions.h as an implementation.
func nativeReduction(name string) func(c *Call, _ struct{}) (bool, error) {
	op, ok := native.FindReduction(name)
	if !ok {
		panic("kernels: reductions.h has no line " + name)
	}
	return func(c *Call, _ struct{}) (bool, error) {
		var m *storage.Array
		if len(c.In) > 1 {
			m = &c.In[1]
		}
		return nativeReduce(op, &c.Out[0], &c.In[0], m, 1), nil
	}
}

// nativeReduce is a reduction of x with m, unless that is nil, divided by divisor, in C.
func nativeReduce(op native.Reduction, y, x, m *storage.Array, divisor float64) bool {
	if !op.Takes(x.Type) || x.Len() == 0 || x.Rank() > 64 {
		return false
	}
	stays, goes := axesOf(y, x)
	var kept, over native.Grid
	var third []byte
	if m == nil {
		if !kept.Along(stays, &x.View, &y.View) {
			return false
		}
	} else {
		if !kept.Along(stays, &x.View, &y.View, &m.View) {
			return false
		}
		third = at(&kept, 2, m)
	}
	if !over.Along(goes, &x.View) {
		return false
	}
	kept.First[0] += over.First[0] - x.Offset // where both walks start
	return op.Run(x.Type, y.Type, &kept, &over, at(&kept, 0, x), at(&kept, 1, y), third, divisor)
}

// axesOf returns the axes of x that y keeps, and those that it reduces.
func axesOf(y, x *storage.Array) (kept, reduced uint64) {
	for axis, size := range x.Shape {
		if y.Shape[axis] == size {
			kept |= 1 << axis
		} else {
			reduced |= 1 << axis
		}
	}
	return kept, reduced
}
