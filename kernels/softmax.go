package kernels

import (
	"math"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
)

// SoftmaxOptions are the options of the softmax family.
type SoftmaxOptions struct{ Axis int }

// Softmax is y = eˣ/Σeˣ along Axis.
var Softmax = lineKernel("softmax", native.Softmax, 1, func(l [][]float64) {
	y, x := l[0], l[1]
	top, sum := largest(x), 0.0
	for i := range x {
		y[i] = math.Exp(x[i] - top)
		sum += y[i]
	}
	for i := range y {
		y[i] /= sum
	}
})

// LogSoftmax is y = x − ln Σeˣ along Axis.
var LogSoftmax = lineKernel("log softmax", native.LogSoftmax, 1, func(l [][]float64) {
	y, x := l[0], l[1]
	top, sum := largest(x), 0.0
	for i := range x {
		sum += math.Exp(x[i] - top)
	}
	for i := range x {
		y[i] = x[i] - top - math.Log(sum)
	}
})

// SoftmaxGrad is dx = y·(dy − Σ y·dy) along Axis, for y = softmax(x); its
// inputs are y and dy.
var SoftmaxGrad = lineKernel("softmax grad", native.SoftmaxGrad, 2, func(l [][]float64) {
	dx, y, dy := l[0], l[1], l[2]
	sum := 0.0
	for i := range y {
		sum += y[i] * dy[i]
	}
	for i := range y {
		dx[i] = y[i] * (dy[i] - sum)
	}
})

// LogSoftmaxGrad is dx = dy − e^y·Σ dy along Axis, for y = log softmax(x); its
// inputs are y and dy.
var LogSoftmaxGrad = lineKernel("log softmax grad", native.LogSoftmaxGrad, 2, func(l [][]float64) {
	dx, y, dy := l[0], l[1], l[2]
	sum := 0.0
	for i := range dy {
		sum += dy[i]
	}
	for i := range dy {
		dx[i] = dy[i] - math.Exp(y[i])*sum
	}
})

// largest returns the largest x, or NaN.
func largest(x []float64) float64 {
	top := math.Inf(-1)
	for _, x := range x {
		top = max(top, x)
	}
	return top
}

// lineKernel is a kernel that computes the output's lines along an axis from those of its
// inputs, all floats of one shape. f is given the lines, the output's first; op is the same
// in C.
func lineKernel(name string, op native.RowOp, ins int, f func(l [][]float64)) *Kernel {
	return updatesInPlace(define(name,
		func(c *Call, options SoftmaxOptions) error {
			if err := c.checkAlike(ins, dtype.Invalid); err != nil {
				return err
			}
			if err := allFloats(c.In...); err != nil {
				return err
			}
			return hasAxis(&c.Out[0], options.Axis)
		},
		func(c *Call, options SoftmaxOptions) error {
			arrays := []*storage.Array{&c.Out[0]}
			for i := range c.In {
				arrays = append(arrays, &c.In[i])
			}
			elems := make([][]float64, len(arrays))
			eachLine(options.Axis, func(l []line) {
				for k := range l {
					elems[k] = l[k].read(elems[k])
				}
				f(elems)
				l[0].write(elems[0])
			}, arrays...)
			return nil
		},
		func(c *Call, options SoftmaxOptions) (bool, error) {
			return nativeLines(op, options.Axis, &c.Out[0], &c.In[0], &c.In[ins-1]), nil
		}))
}
