package kernels

import (
	"fmt"
	"slices"
	"sort"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// SearchSortedOptions are the options of SearchSorted.
type SearchSortedOptions struct{ Right bool }

// SearchSorted is the number of elements of a line of x, which are in ascending order, that are less than v; with Right, that are
// not greater. In x and v, of one type, whose shapes differ in the last axis at most, or x has that axis only. Out has the shape of v
// and is of int64. NaN is the largest element.
var SearchSorted = hostOnly(define("searchsorted",
	func(c *Call, _ SearchSortedOptions) error {
		if err := c.checkOperands(1, 2); err != nil {
			return err
		}
		y, x, v := &c.Out[0], &c.In[0], &c.In[1]
		if err := oneShape(*y, *v); err != nil {
			return err
		}
		if x.Rank() != 1 && (x.Rank() != v.Rank() || !slices.Equal(x.Shape[:x.Rank()-1], v.Shape[:x.Rank()-1])) {
			return fmt.Errorf("values of %v among lines of %v: %w", v.Shape, x.Shape, views.ErrShape)
		}
		if computeTypeOf(x.Type) == dtype.Invalid {
			return notDefined(x.Type)
		}
		if err := oneType(dtype.Int64, *y); err != nil {
			return err
		}
		return oneType(x.Type, *v)
	},
	func(c *Call, options SearchSortedOptions) error {
		instance(c.In[0].Type, referenceSearch[float64], referenceSearch[int64], referenceSearch[uint64])(c, options.Right)
		return nil
	}, nil))

func referenceSearch[W computeType](c *Call, right bool) {
	y, x, v := &c.Out[0], &c.In[0], &c.In[1]
	if x.Rank() == 1 && v.Rank() != 1 {
		line := views.Of(v.Len())
		flat := storage.From(make([]int64, v.Len()), v.Len())
		values, err := storage.Make(storage.CPU, v.Type, v.Shape...)
		must(err)
		referenceCopy(&values, v)
		referenceSearch[W](&Call{Out: []storage.Array{flat}, In: []storage.Array{*x, values.With(line)}}, right)
		setElements(y, storage.Elements[int64](flat))
		return
	}
	var xs, vs []W
	found := make([]int64, v.Shape[v.Rank()-1])
	eachLine(v.Rank()-1, func(l []line) {
		xs, vs = read(l[1], xs), read(l[2], vs)
		for i, value := range vs {
			found[i] = int64(sort.Search(len(xs), func(k int) bool {
				order := compareNaNLast(xs[k], value)
				return order > 0 || order == 0 && !right
			}))
		}
		for i := 0; i < len(found); i += block {
			store(l[0].Array, l[0].at+i*l[0].step, l[0].step, found[i:min(i+block, len(found))])
		}
	}, y, x, v)
}

// BinCount is the number of elements of x that are i, or the sum of their weights, for each element i of y. In x, of int64, and perhaps weights, of
// the shape of x and the type of y; y is of int64 without weights. Elements that y has no place for are an error.
var BinCount = hostOnly(define("bincount",
	func(c *Call, _ struct{}) error {
		if err := c.checkOperands(1, len(c.In)); err != nil {
			return err
		}
		if len(c.In) < 1 || len(c.In) > 2 || c.Out[0].Rank() != 1 {
			return fmt.Errorf("%d inputs to %v; want 1 or 2 to one axis: %w", len(c.In), c.Out[0].Shape, views.ErrShape)
		}
		if err := oneType(dtype.Int64, c.In[0]); err != nil {
			return err
		}
		if len(c.In) == 1 {
			return oneType(dtype.Int64, c.Out[0])
		}
		if err := oneShape(c.In[0], c.In[1]); err != nil {
			return err
		}
		return allFloats(c.Out[0], c.In[1])
	},
	func(c *Call, _ struct{}) error {
		y, x := &c.Out[0], &c.In[0]
		sums, counts := make([]float64, y.Len()), make([]int64, y.Len())
		var bad error
		var at [block]int64
		var weight [block]float64
		arrays := []storage.Array{*x, c.In[len(c.In)-1]}
		blocks(func(from, step []int, n int) {
			load(at[:n], x, from[0], step[0])
			if len(c.In) > 1 {
				load(weight[:n], &c.In[1], from[1], step[1])
			}
			for i, k := range at[:n] {
				if k < 0 || k >= int64(len(counts)) {
					bad = fmt.Errorf("element %d, which is not from 0 to %d: %w", k, len(counts)-1, views.ErrShape)
					return
				}
				counts[k]++
				sums[k] += weight[i]
			}
		}, arrays...)
		if bad != nil {
			return bad
		}
		if len(c.In) > 1 {
			setElements(y, sums)
		} else {
			setElements(y, counts)
		}
		return nil
	}, nil))
