package kernels

import (
	"fmt"
	"math"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// LayerNormOptions are the options of LayerNorm.
type LayerNormOptions struct{ Epsilon float64 }

// LayerNorm is, for each row of x (N, C), with the mean and the variance of the row
// (Ba et al., arXiv:1607.06450),
//
//	y = gamma·(x − mean)·invstd + beta,  invstd = 1/√(variance + Epsilon)
//
// In x and, if there are any, gamma (C) and beta (C); Out y, mean (N) and invstd (N), which are
// float32 if x is of 16-bit floats.
var LayerNorm = withHalfFloats(define("layer norm",
	func(c *Call, _ LayerNormOptions) error {
		ins := 1
		if len(c.In) > 1 {
			ins = 3
		}
		if err := c.checkOperands(3, ins); err != nil {
			return err
		}
		return checkRows(c, c.In[0], []storage.Array{c.Out[0]}, c.Out[1:], c.In[1:])
	},
	func(c *Call, options LayerNormOptions) error {
		x, y := &c.In[0], &c.Out[0]
		var row, gamma, beta []float64
		if len(c.In) > 1 {
			gamma, beta = vectorLine(&c.In[1]).read(nil), vectorLine(&c.In[2]).read(nil)
		}
		for r := range x.Shape[0] {
			row = rowLine(x, r).read(row)
			mean, variance := moments(row)
			inverse := 1 / math.Sqrt(variance+options.Epsilon)
			for i := range row {
				row[i] = (row[i] - mean) * inverse
				if gamma != nil {
					row[i] = row[i]*gamma[i] + beta[i]
				}
			}
			rowLine(y, r).write(row)
			setNumber(&c.Out[1], r, mean)
			setNumber(&c.Out[2], r, inverse)
		}
		return nil
	},
	func(c *Call, options LayerNormOptions) (bool, error) {
		x, y := &c.In[0], &c.Out[0]
		real, ok := native.ComputeTypeOf(x.Type)
		if !ok || x.Len() == 0 || !adjacentRows(x, y) || !adjacentVectors(c.Out[1:], c.In[1:]) {
			return x.Len() == 0 && x.Shape[0] == 0, nil
		}
		var gamma, beta []byte
		if len(c.In) > 1 {
			gamma, beta = start(&c.In[1]), start(&c.In[2])
		}
		rows := native.Rows{N: x.Shape[0], Cols: x.Shape[1], Step: [3]int{x.Stride[0], y.Stride[0]}}
		rows.LayerNorm(real, options.Epsilon, start(x), gamma, beta, start(y), start(&c.Out[1]), start(&c.Out[2]))
		return true, nil
	}), byFirst(1))

// LayerNormGrad is the gradients of LayerNorm: with X = (x − mean)·invstd, g = dy·gamma, and means over a row,
//
//	dx = invstd·(g − mean(g) − X·mean(g·X)),  dgamma = Σ dy·X,  dbeta = Σ dy
//
// In x, dy, mean, invstd and, if there is one, gamma; Out dx and, with gamma, dgamma and dbeta.
var LayerNormGrad = withHalfFloats(define("layer norm grad",
	func(c *Call, _ struct{}) error {
		outs, ins := 1, 4
		if len(c.In) > 4 {
			outs, ins = 3, 5
		}
		if err := c.checkOperands(outs, ins); err != nil {
			return err
		}
		return checkRows(c, c.In[0], []storage.Array{c.In[1], c.Out[0]}, c.In[2:4], append(c.Out[1:len(c.Out):len(c.Out)], c.In[4:]...))
	},
	func(c *Call, _ struct{}) error {
		x, dy, n := &c.In[0], &c.In[1], c.In[0].Shape[1]
		var row, grad, gamma []float64
		dgamma, dbeta := make([]float64, n), make([]float64, n)
		if len(c.In) > 4 {
			gamma = vectorLine(&c.In[4]).read(nil)
		}
		for r := range x.Shape[0] {
			row, grad = rowLine(x, r).read(row), rowLine(dy, r).read(grad)
			mean, inverse := channel(&c.In[2], r), channel(&c.In[3], r)
			s, t := 0.0, 0.0
			for i := range row {
				row[i] = (row[i] - mean) * inverse
				dgamma[i] += grad[i] * row[i]
				dbeta[i] += grad[i]
				if gamma != nil {
					grad[i] *= gamma[i]
				}
				s, t = s+grad[i], t+grad[i]*row[i]
			}
			for i := range row {
				row[i] = inverse * (grad[i] - s/float64(n) - row[i]*t/float64(n))
			}
			rowLine(&c.Out[0], r).write(row)
		}
		if gamma != nil {
			vectorLine(&c.Out[1]).write(dgamma)
			vectorLine(&c.Out[2]).write(dbeta)
		}
		return nil
	},
	func(c *Call, _ struct{}) (bool, error) {
		x, dy, dx := &c.In[0], &c.In[1], &c.Out[0]
		real, ok := native.ComputeTypeOf(x.Type)
		if !ok || x.Len() == 0 || !adjacentRows(x, dy, dx) || !adjacentVectors(c.In[2:], c.Out[1:]) {
			return false, nil
		}
		var gamma, dgamma, dbeta []byte
		if len(c.In) > 4 {
			gamma, dgamma, dbeta = start(&c.In[4]), start(&c.Out[1]), start(&c.Out[2])
		}
		rows := native.Rows{N: x.Shape[0], Cols: x.Shape[1], Step: [3]int{x.Stride[0], dy.Stride[0], dx.Stride[0]}}
		return rows.LayerNormGrad(real, start(x), start(dy), start(&c.In[2]), start(&c.In[3]), gamma, start(dx), dgamma, dbeta), nil
	}), func(c *Call) division {
	d := byFirst(4)(c)
	for i := range d.out[1:] {
		d.out[1+i] = summed
	}
	return d
})

// checkRows checks that x is a matrix of floats, others are like it, and that there is a statistic for each
// row and a parameter for each column.
func checkRows(c *Call, x storage.Array, others, statistics, parameters []storage.Array) error {
	if x.Rank() != 2 {
		return fmt.Errorf("%v; want (N, C): %w", x.Shape, views.ErrShape)
	}
	matrices := append([]storage.Array{x}, others...)
	if err := allFloats(matrices...); err != nil {
		return err
	}
	if err := oneShape(matrices...); err != nil {
		return err
	}
	number := x.Type
	if isHalf(number) {
		number = dtype.Float32
	}
	for _, list := range []struct {
		arrays []storage.Array
		n      int
		t      dtype.Type
	}{{statistics, x.Shape[0], number}, {parameters, x.Shape[1], x.Type}} {
		for i := range list.arrays {
			if a := &list.arrays[i]; a.Rank() != 1 || a.Shape[0] != list.n {
				return fmt.Errorf("an operand is %v; beside %v it should be [%d]: %w", a.Shape, x.Shape, list.n, views.ErrShape)
			}
		}
		if err := oneType(list.t, list.arrays...); err != nil {
			return err
		}
	}
	return nil
}

// moments returns the mean and the variance of x.
func moments(x []float64) (mean, variance float64) {
	for _, x := range x {
		mean += x
	}
	mean /= float64(len(x))
	for _, x := range x {
		variance += (x - mean) * (x - mean)
	}
	return mean, variance / float64(len(x))
}

// rowLine and vectorLine are the elements of a row of a matrix, and of a vector.
func rowLine(a *storage.Array, row int) line {
	return line{a, a.Offset + row*a.Stride[0], a.Stride[1], a.Shape[1]}
}

func vectorLine(a *storage.Array) line { return line{a, a.Offset, a.Stride[0], a.Shape[0]} }

// adjacentRows reports whether the elements of each row are adjacent.
func adjacentRows(matrices ...*storage.Array) bool {
	for _, a := range matrices {
		if a.Stride[1] != 1 && a.Shape[1] != 1 {
			return false
		}
	}
	return true
}

// adjacentVectors reports whether the elements of all vectors are adjacent.
func adjacentVectors(lists ...[]storage.Array) bool {
	for _, list := range lists {
		for i := range list {
			if !adjacent(&list[i]) {
				return false
			}
		}
	}
	return true
}
