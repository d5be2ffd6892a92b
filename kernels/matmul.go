package kernels

// #include "blas.h"
// #include "matmul.h"
// #cgo noescape h5k_product_f32
// #cgo nocallback h5k_product_f32
// #cgo noescape h5k_product_f64
// #cgo nocallback h5k_product_f64
import "C"

import (
	"fmt"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// MatMul is z = x·y: of (…,m,k) and (…,k,n) the product (…,m,n), whose leading
// axes are those of x and y, broadcast. Any strides will do; rows or columns
// of adjacent elements are multiplied where they lie, all else through a copy.
var MatMul = withHalves(define("matmul", checkMatMul,
	func(c *Call, _ struct{}) error {
		z, x, y := &c.Out[0], &c.In[0], &c.In[1]
		if z.Type == dtype.Float64 {
			plainMatMul[float64](z, x, y)
		} else {
			plainMatMul[float32](z, x, y)
		}
		return nil
	},
	func(c *Call, _ struct{}) (bool, error) {
		return fastMatMul(&c.Out[0], &c.In[0], &c.In[1])
	}))

func checkMatMul(c *Call, _ struct{}) error {
	if err := c.real(1, 2); err != nil {
		return err
	}
	z, x, y := &c.Out[0], &c.In[0], &c.In[1]
	if x.Rank() < 2 || y.Rank() < 2 || x.Shape[x.Rank()-1] != y.Shape[y.Rank()-2] {
		return fmt.Errorf("shapes %v and %v do not chain: %w", x.Shape, y.Shape, views.ErrShape)
	}
	if !leads(x.Shape, y.Shape, z.Shape) {
		return fmt.Errorf("%v and %v do not make %v: %w", x.Shape, y.Shape, z.Shape, views.ErrShape)
	}
	return nil
}

// leads reports whether z is the shape of the product of x and y, whose leading
// axes broadcast.
func leads(x, y, z []int) bool {
	rank := max(len(x), len(y))
	if len(z) != rank || z[rank-2] != x[len(x)-2] || z[rank-1] != y[len(y)-1] {
		return false
	}
	for axis := range rank - 2 {
		a, b := leadSize(x, rank, axis), leadSize(y, rank, axis)
		if a != b && a != 1 && b != 1 || z[axis] != a && a != 1 || z[axis] != b && b != 1 || z[axis] != a && z[axis] != b {
			return false
		}
	}
	return true
}

// leadSize returns the size of a shape along an axis of one of that rank.
func leadSize(shape []int, rank, axis int) int {
	if axis += len(shape) - rank; axis >= 0 {
		return shape[axis]
	}
	return 1
}

// real checks that there are so many operands, all floats of one type.
func (c *Call) real(outs, ins int) error {
	if err := c.holds(outs, ins); err != nil {
		return err
	}
	return c.allFloats()
}

// fastMatMul reports false if z is empty of work for a library, or has more
// leading axes than C takes.
func fastMatMul(z, x, y *storage.Array) (bool, error) {
	var p product
	if z.Len() == 0 || x.Len() == 0 || !p.of(z, x, y) {
		return z.Len() == 0, nil
	}
	if z.Type == dtype.Float64 && C.h5k_blas() == nil {
		gonumMatMul(z, x, y)
		return true, nil
	}
	return true, p.run(z, x, y)
}

// A product is z = x·y as C is told of it.
type product C.h5k_product

// of describes z = x·y to C, with as few batch axes as will do. It reports false
// if those are too many.
func (p *product) of(z, x, y *storage.Array) bool {
	p.m, p.k, p.n = C.int64_t(x.Shape[x.Rank()-2]), C.int64_t(x.Shape[x.Rank()-1]), C.int64_t(y.Shape[y.Rank()-1])
	for i := range 2 {
		p.x[i], p.y[i], p.z[i] = lastStride(x, i), lastStride(y, i), lastStride(z, i)
	}
	for axis, size := range z.Shape[:z.Rank()-2] {
		if size != 1 && !p.batchAxis(size, leadStride(x, z, axis), leadStride(y, z, axis), leadStride(z, z, axis)) {
			return false
		}
	}
	if p.axes == 1 && p.y_batch[0] == 0 && p.x_batch[0] == p.m*p.x[0] && p.z_batch[0] == p.m*p.z[0] {
		p.m, p.axes = p.m*p.batch[0], 0 // one y for all: x's matrices are one tall one
	}
	return true
}

// batchAxis appends an axis, or joins it to the last.
func (p *product) batchAxis(size int, x, y, z C.int64_t) bool {
	n := C.int64_t(size)
	if last := p.axes - 1; last >= 0 && p.x_batch[last] == n*x && p.y_batch[last] == n*y && p.z_batch[last] == n*z {
		p.batch[last] *= n
		p.x_batch[last], p.y_batch[last], p.z_batch[last] = x, y, z
		return true
	}
	if p.axes == C.H5K_BATCH_AXES {
		return false
	}
	p.batch[p.axes], p.x_batch[p.axes], p.y_batch[p.axes], p.z_batch[p.axes] = n, x, y, z
	p.axes++
	return true
}

// lastStride returns the stride of a's last but one axis, or its last.
func lastStride(a *storage.Array, i int) C.int64_t { return C.int64_t(a.Stride[a.Rank()-2+i]) }

// leadStride returns a's stride along axis of z: 0 where a has no such axis, or repeats.
func leadStride(a, z *storage.Array, axis int) C.int64_t {
	axis += a.Rank() - z.Rank()
	if axis < 0 || a.Shape[axis] == 1 {
		return 0
	}
	return C.int64_t(a.Stride[axis])
}

// run computes the product.
func (p *product) run(z, x, y *storage.Array) error {
	var status C.int
	switch {
	case z.Type == dtype.Float64:
		status = C.h5k_product_f64((*C.h5k_product)(p), (*C.double)(start(z)), (*C.double)(start(x)), (*C.double)(start(y)))
	case p.axes == 0 && planPays(p):
		return planProduct(p, z, x, y, nil, NoActivation)
	default:
		status = C.h5k_product_f32((*C.h5k_product)(p), (*C.float)(start(z)), (*C.float)(start(x)), (*C.float)(start(y)))
	}
	if status == 0 {
		return nil
	}
	return fmt.Errorf("product of %v and %v failed (status %d): %w", x.Shape, y.Shape, status, storage.ErrState)
}

// gonumMatMul is fastMatMul where there is no OpenBLAS: in Go, on tight copies.
func gonumMatMul(z, x, y *storage.Array) {
	zs, xs, ys := storage.Elements[float64](*z), storage.Elements[float64](*x), storage.Elements[float64](*y)
	eachMatrix(func(zv, xv, yv views.View) {
		product := tight(nil, zv)
		blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, tight(xs, xv), tight(ys, yv), 0, product)
		for i := range product.Rows {
			for j := range product.Cols {
				zs[zv.Offset+i*zv.Stride[0]+j*zv.Stride[1]] = product.Data[i*product.Cols+j]
			}
		}
	}, z, x, y)
}

// tight returns the matrix v of elems as gonum takes it; of zeros without elems.
func tight(elems []float64, v views.View) blas64.General {
	g := blas64.General{Rows: v.Shape[0], Cols: v.Shape[1], Stride: max(1, v.Shape[1]), Data: make([]float64, v.Len())}
	for i := range g.Rows {
		for j := 0; j < g.Cols && elems != nil; j++ {
			g.Data[i*g.Cols+j] = elems[v.Offset+i*v.Stride[0]+j*v.Stride[1]]
		}
	}
	return g
}

// eachMatrix visits the matrices of z, and those of x and y that broadcast to them.
func eachMatrix(visit func(z, x, y views.View), z, x, y *storage.Array) {
	lead := z.Shape[:z.Rank()-2]
	at := make([]int, len(lead))
	for range views.Of(lead...).Len() {
		visit(matrixAt(z, z, at), matrixAt(x, z, at), matrixAt(y, z, at))
		for axis := len(at) - 1; axis >= 0; axis-- {
			if at[axis]++; at[axis] < lead[axis] {
				break
			}
			at[axis] = 0
		}
	}
}

// matrixAt returns a's matrix at a position among z's leading axes.
func matrixAt(a, z *storage.Array, at []int) views.View {
	m := views.View{Offset: a.Offset, Shape: a.Shape[a.Rank()-2:], Stride: a.Stride[a.Rank()-2:]}
	for axis, i := range at {
		m.Offset += i * int(leadStride(a, z, axis))
	}
	return m
}

func plainMatMul[T dtype.Float](z, x, y *storage.Array) {
	zs, xs, ys := storage.Elements[T](*z), storage.Elements[T](*x), storage.Elements[T](*y)
	eachMatrix(func(z, x, y views.View) {
		for i := range z.Shape[0] {
			for j := range z.Shape[1] {
				var sum T
				for k := range x.Shape[1] {
					sum += xs[x.Offset+i*x.Stride[0]+k*x.Stride[1]] * ys[y.Offset+k*y.Stride[0]+j*y.Stride[1]]
				}
				zs[z.Offset+i*z.Stride[0]+j*z.Stride[1]] = sum
			}
		}
	}, z, x, y)
}
