package kernels

import (
	"fmt"

	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/views"
)

// MeanSquaredError is the mean of (x − y)². Its outputs are that single element and,
// optionally, its gradient 2(x − y)/n with respect to x, of x's shape.
var MeanSquaredError = define("mean squared error",
	func(c *Call, _ struct{}) error {
		if err := c.checkOperands(max(1, min(len(c.Out), 2)), 2); err != nil {
			return err
		}
		if c.Out[0].Len() != 1 {
			return fmt.Errorf("output is %v; want one element: %w", c.Out[0].Shape, views.ErrShape)
		}
		for _, dx := range c.Out[1:] {
			if err := oneShape(c.In[0], dx); err != nil {
				return err
			}
		}
		if err := oneShape(c.In...); err != nil {
			return err
		}
		return c.allFloats()
	},
	func(c *Call, _ struct{}) error {
		x, y, n := c.In[0], c.In[1], float64(c.In[0].Len())
		sum, diff := 0.0, zeros(x.Shape)
		referenceZip(func(x, y float64) float64 {
			sum += (x - y) * (x - y)
			return 2 * (x - y) / n
		}, diff, x, y)
		if len(c.Out) == 2 {
			convertElements(&c.Out[1], &diff)
		}
		store(&c.Out[0], c.Out[0].Offset, 0, []float64{sum / n})
		return nil
	},
	func(c *Call, _ struct{}) (bool, error) {
		x, y, dx := &c.In[0], &c.In[1], &c.Out[len(c.Out)-1]
		if len(c.Out) < 2 {
			dx = x
		}
		real, ok := native.ComputeTypeOf(x.Type)
		var g native.Grid
		n, fits := g.Flat(&x.View, &y.View, &dx.View)
		if !ok || !fits || n == 0 {
			return false, nil
		}
		var to []byte
		if len(c.Out) == 2 {
			to = at(&g, 2, dx)
		}
		return native.SquaredError(real, n, at(&g, 0, x), at(&g, 1, y), start(&c.Out[0]), to), nil
	})
