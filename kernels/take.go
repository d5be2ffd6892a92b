package kernels

import (
	"fmt"
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// Take is y[i] = x[rows[i]] for x (N, …), rows (n) of int64 and y (n, …), of
// any type of elements.
var Take = define("take",
	func(c *Call, _ struct{}) error {
		if err := c.takes(); err != nil {
			return err
		}
		return oneType(c.Out[0].Type, c.In[0])
	},
	func(c *Call, _ struct{}) error { return referenceGather(&c.Out[0], &c.In[0], c.rowIndex(), 0) },
	func(c *Call, _ struct{}) (bool, error) { return optimizedGather(&c.Out[0], &c.In[0], c.rowIndex(), 0) })

// rowIndex returns the index of the rows to take, for each element of the output.
func (c *Call) rowIndex() *storage.Array {
	rows := &c.In[1]
	index := rows.With(views.View{Offset: rows.Offset, Shape: c.Out[0].Shape, Stride: make([]int, c.Out[0].Rank())})
	index.Stride[0] = rows.Stride[0]
	return &index
}

// GatherCast is y[i] = Scale·x[rows[i]] + Offset, of bytes x and floats y: Take and the
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
