package kernels

import (
	"fmt"
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// GatherOptions are the options of Gather.
type GatherOptions struct{ Axis int }

// Gather is y = x at the index along Axis, for every element type: y[i, j] = x[index[i, j], j] for axis 0. Its inputs
// are x, of y's shape but for its size along Axis, and index, of int64 and of y's shape. An index that is the same all
// along the other axes, by strides of 0, selects rows, which are copied at the speed of memory.
var Gather = define("gather",
	func(c *Call, options GatherOptions) error {
		if err := c.checkOperands(1, 2); err != nil {
			return err
		}
		return checkIndexed(&c.In[0], &c.Out[0], &c.In[1], options.Axis)
	},
	func(c *Call, options GatherOptions) error {
		return referenceGather(&c.Out[0], &c.In[0], &c.In[1], options.Axis)
	},
	func(c *Call, options GatherOptions) (bool, error) {
		return optimizedGather(&c.Out[0], &c.In[0], &c.In[1], options.Axis)
	})

func referenceGather(y, x, index *storage.Array, axis int) error {
	size, to, from := y.Type.Size(), y.Data.(storage.Host).Bytes(), x.Data.(storage.Host).Bytes()
	return eachIndexed(x, y, index, axis, func(x, y int) { copy(to[y*size:(y+1)*size], from[x*size:]) })
}

func optimizedGather(y, x, index *storage.Array, axis int) (bool, error) {
	xs := indexedView(x, axis, index)
	var g native.Grid
	if !g.Over(&y.View, &xs.View, &index.View) {
		return false, nil
	}
	if g.Empty || native.Gather(y.Type.Size(), &g, x.Stride[axis], x.Shape[axis], at(&g, 0, y), at(&g, 1, &xs), at(&g, 2, index)) {
		return true, nil
	}
	return false, checkIndex(index, x.Shape[axis])
}

// A ScatterReduce says how Scatter joins an element of x with the element of y at its index.
type ScatterReduce int

// The ways to join elements. The largest and the smallest are NaN if one is NaN.
const (
	ScatterPut ScatterReduce = iota // x replaces y
	ScatterAdd
	ScatterMul
	ScatterMax
	ScatterMin
)

// scatterEntries are the names of the device code.
var scatterEntries = [...]string{ScatterAdd: "scatter add", ScatterMul: "scatter mul", ScatterMax: "scatter max", ScatterMin: "scatter min"}

// ScatterOptions are the options of Scatter.
type ScatterOptions struct {
	Axis   int
	Reduce ScatterReduce
}

// Scatter changes y at the index along Axis to x, or by x: y[index[i, j], j] = x[i, j] for axis 0. Its inputs are x, of
// y's shape but for its size along Axis, and index, of int64 and of x's shape. Where several elements of x have one
// index they are joined in their order, or the last is kept, on every device. Only ScatterPut takes all types of elements.
var Scatter = define("scatter",
	func(c *Call, options ScatterOptions) error {
		if err := c.checkOperands(1, 2); err != nil {
			return err
		}
		if options.Reduce < 0 || int(options.Reduce) >= len(scatterEntries) {
			return fmt.Errorf("no reduction %d: %w", options.Reduce, storage.ErrState)
		}
		if options.Reduce != ScatterPut && computeTypeOf(c.Out[0].Type) == dtype.Invalid {
			return notDefined(c.Out[0].Type)
		}
		return checkIndexed(&c.Out[0], &c.In[0], &c.In[1], options.Axis)
	},
	func(c *Call, options ScatterOptions) error {
		if options.Reduce == ScatterPut {
			size, to, from := c.Out[0].Type.Size(), c.Out[0].Data.(storage.Host).Bytes(), c.In[0].Data.(storage.Host).Bytes()
			return eachIndexed(&c.Out[0], &c.In[0], &c.In[1], options.Axis, func(y, x int) { copy(to[y*size:(y+1)*size], from[x*size:]) })
		}
		return instance(c.Out[0].Type, referenceScatter[float64], referenceScatter[int64], referenceScatter[uint64])(c, options)
	},
	func(c *Call, options ScatterOptions) (bool, error) {
		y, x, index := indexedView(&c.Out[0], options.Axis, &c.In[1]), &c.In[0], &c.In[1]
		n, step := c.Out[0].Shape[options.Axis], c.Out[0].Stride[options.Axis]
		order := views.Of(x.Shape...)
		_, real := native.ComputeTypeOf(y.Type)
		var g native.Grid
		add := options.Reduce == ScatterAdd
		if options.Reduce > ScatterAdd || add && !real && !y.Type.IsInt() || !g.Over(&order, &y.View, &x.View, &index.View) {
			return false, nil
		}
		if g.Empty || native.Scatter(add, y.Type, &g, step, n, at(&g, 1, &y), at(&g, 2, x), at(&g, 3, index)) {
			return true, nil
		}
		return false, checkIndex(index, n)
	})

func referenceScatter[W computeType](c *Call, options ScatterOptions) error {
	return eachIndexed(&c.Out[0], &c.In[0], &c.In[1], options.Axis, func(y, x int) {
		var joined, term [1]W
		load(joined[:], &c.Out[0], y, 0)
		load(term[:], &c.In[0], x, 0)
		switch options.Reduce {
		case ScatterAdd:
			joined[0] += term[0]
		case ScatterMul:
			joined[0] *= term[0]
		case ScatterMax:
			joined[0] = max(joined[0], term[0])
		case ScatterMin:
			joined[0] = min(joined[0], term[0])
		}
		store(&c.Out[0], y, 0, joined[:])
	})
}

// eachIndexed calls visit with the position in a, at the index along axis, and in b, of each element of b in row-major
// order.
func eachIndexed(a, b, index *storage.Array, axis int, visit func(a, b int)) error {
	if err := checkIndex(index, a.Shape[axis]); err != nil {
		return err
	}
	elems, step := storage.Elements[int64](*index), a.Stride[axis]
	views.Walk(func(at, by []int, n int) {
		for i := range n {
			visit(at[1]+i*by[1]+int(elems[at[3]+i*by[3]])*step, at[2]+i*by[2])
		}
	}, views.Of(index.Shape...), indexedView(a, axis, index).View, b.View, index.View)
	return nil
}

// checkIndex returns an error that names the first index that is not in [0, n).
func checkIndex(index *storage.Array, n int) (err error) {
	elems, distinct := storage.Elements[int64](*index), index.View
	for axis, stride := range index.Stride {
		if stride == 0 && distinct.Len() > 0 {
			distinct = distinct.Narrow(axis, 0, 1)
		}
	}
	k := 0
	for at := range distinct.Positions() {
		if i := elems[at]; i < 0 || i >= int64(n) {
			return badRow(k, i, n)
		}
		k++
	}
	return nil
}

// checkIndexed checks that x and index have the shape of y, but for x's size along axis, and x y's type.
func checkIndexed(x, y, index *storage.Array, axis int) error {
	if err := hasAxis(x, axis); err != nil {
		return err
	}
	if index.Type != dtype.Int64 {
		return fmt.Errorf("index of %v; want int64: %w", index.Type, dtype.ErrType)
	}
	if x.Rank() != y.Rank() || !slices.Equal(index.Shape, y.Shape) || !slices.Equal(onlyAt(axis, x.Shape), onlyAt(axis, y.Shape)) {
		return fmt.Errorf("%v and %v by an index of %v along axis %d: %w", x.Shape, y.Shape, index.Shape, axis, views.ErrShape)
	}
	if x.Shape[axis] == 0 && y.Len() > 0 {
		return fmt.Errorf("axis %d of %v has no elements to index: %w", axis, x.Shape, views.ErrShape)
	}
	return oneType(x.Type, *y)
}

// indexedView returns element 0 of an axis of a at every index, by a stride of 0.
func indexedView(a *storage.Array, axis int, index *storage.Array) storage.Array {
	v := views.View{Offset: a.Offset, Shape: index.Shape, Stride: slices.Clone(a.Stride)}
	v.Stride[axis] = 0
	return a.With(v)
}

// rowIndex returns the index of the rows to take, for each element of the output.
func (c *Call) rowIndex() *storage.Array {
	rows := &c.In[1]
	index := rows.With(views.View{Offset: rows.Offset, Shape: c.Out[0].Shape, Stride: make([]int, c.Out[0].Rank())})
	index.Stride[0] = rows.Stride[0]
	return &index
}

// GatherCast is y[i] = Scale·x[rows[i]] + Offset, of bytes x and floats y: Gather and the
// normalization of images in one pass.
var GatherCast = define("take cast",
	func(c *Call, _ ScaleOffsetOptions) error {
		if err := c.takes(); err != nil {
			return err
		}
		if err := allFloats(c.Out[0]); err != nil {
			return err
		}
		return oneType(dtype.Uint8, c.In[0])
	},
	func(c *Call, options ScaleOffsetOptions) error {
		options = options.withDefault()
		bytes := zeros(c.Out[0].Shape)
		taken := bytes
		taken.Type, taken.Data = dtype.Uint8, storage.From(make([]uint8, taken.Len()), taken.Len()).Data
		if err := referenceGather(&taken, &c.In[0], c.rowIndex(), 0); err != nil {
			return err
		}
		convertElements(&bytes, &taken)
		referenceMap(func(x float64) float64 { return x*options.Scale + options.Offset }, c.Out[0], bytes)
		return nil
	}, nil)

// takes checks the shapes, and that rows are int64.
func (c *Call) takes() error {
	if err := c.checkOperands(1, 2); err != nil {
		return err
	}
	y, x, rows := &c.Out[0], &c.In[0], &c.In[1]
	if rows.Type != dtype.Int64 {
		return fmt.Errorf("rows of %v; want int64: %w", rows.Type, dtype.ErrType)
	}
	if x.Rank() == 0 || rows.Rank() != 1 || y.Rank() != x.Rank() || y.Shape[0] != rows.Shape[0] || !slices.Equal(y.Shape[1:], x.Shape[1:]) {
		return fmt.Errorf("%v of %v at %v; want (n, …), (N, …) and (n): %w", y.Shape, x.Shape, rows.Shape, views.ErrShape)
	}
	return nil
}

func badRow(i int, row int64, n int) error {
	return fmt.Errorf("index %d is %d; want 0 to %d: %w", i, row, n-1, views.ErrShape)
}
