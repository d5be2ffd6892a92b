package kernels

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// SortOptions are the options of Sort.
type SortOptions struct {
	Axis       int
	Descending bool
}

// Sort is the elements of x along Axis in ascending or descending order, and their indices, of int64: of equal elements, the one with
// the smaller index is first. NaN is the largest element. Out y and index, which are shorter than x along Axis if only the
// first elements are wanted.
var Sort = hostOnly(define("sort",
	func(c *Call, options SortOptions) error {
		if err := c.checkOperands(2, 1); err != nil {
			return err
		}
		y, index, x := &c.Out[0], &c.Out[1], &c.In[0]
		if err := hasAxis(x, options.Axis); err != nil {
			return err
		}
		if computeTypeOf(x.Type) == dtype.Invalid {
			return notDefined(x.Type)
		}
		if k := options.Axis; len(y.Shape) != len(x.Shape) || y.Shape[k] > x.Shape[k] || !slices.Equal(y.Shape[:k], x.Shape[:k]) || !slices.Equal(y.Shape[k+1:], x.Shape[k+1:]) {
			return fmt.Errorf("%v does not become %v along axis %d: %w", x.Shape, y.Shape, k, views.ErrShape)
		}
		if err := oneShape(*y, *index); err != nil {
			return err
		}
		if err := oneType(dtype.Int64, *index); err != nil {
			return err
		}
		return oneType(x.Type, *y)
	},
	func(c *Call, options SortOptions) error {
		instance(c.In[0].Type, referenceSort[float64], referenceSort[int64], referenceSort[uint64])(c, options)
		return nil
	},
	func(c *Call, options SortOptions) (bool, error) {
		z, index, x := &c.Out[0], &c.Out[1], &c.In[0]
		var kept native.Grid
		if z.Rank() > 64 || x.Len() == 0 || z.Len() == 0 || x.Shape[options.Axis] >= 1<<32 {
			return z.Len() == 0, nil
		}
		if !kept.Along(^(uint64(1) << options.Axis), &z.View, &x.View, &index.View) {
			return false, nil
		}
		order := native.OrderOf(x.Type, options.Descending)
		order.N, order.K = int64(x.Shape[options.Axis]), int64(z.Shape[options.Axis])
		for i, a := range []*storage.Array{z, x, index} {
			order.Step[i] = int64(a.Stride[options.Axis])
		}
		return order.Run(&kept, at(&kept, 0, z), at(&kept, 1, x), at(&kept, 2, index)), nil
	}))

func referenceSort[W computeType](c *Call, options SortOptions) {
	var buf []W
	eachLine(options.Axis, func(l []line) {
		buf = read(l[2], buf)
		index := make([]int64, len(buf))
		for i := range index {
			index[i] = int64(i)
		}
		slices.SortStableFunc(index, func(i, j int64) int {
			order := compareNaNLast(buf[i], buf[j])
			if options.Descending {
				order = -order
			}
			return order
		})
		for i, from := range index[:l[0].n] {
			store(l[0].Array, l[0].at+i*l[0].step, 0, buf[from:from+1])
		}
		for i := range l[1].n {
			store(l[1].Array, l[1].at+i*l[1].step, 0, index[i:i+1])
		}
	}, &c.Out[0], &c.Out[1], &c.In[0])
}

// compareNaNLast orders numbers with NaN as the largest.
func compareNaNLast[W computeType](a, b W) int {
	switch {
	case a != a && b != b:
		return 0
	case a != a:
		return 1
	case b != b:
		return -1
	}
	return cmp.Compare(a, b)
}
