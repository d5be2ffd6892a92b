package kernels

import (
	"fmt"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// MatMul is z = x·y: of (…,m,k) and (…,k,n) the product (…,m,n), whose leading
// axes are those of x and y, broadcast. Strides are arbitrary: matrices whose rows or columns
// are contiguous are multiplied in place, others are copied first.
var MatMul = withHalfFloats(define("matmul", checkMatMul,
	func(c *Call, _ struct{}) error {
		z, x, y := &c.Out[0], &c.In[0], &c.In[1]
		if z.Type == dtype.Float64 {
			referenceMatMul[float64](z, x, y)
		} else {
			referenceMatMul[float32](z, x, y)
		}
		return nil
	},
	func(c *Call, _ struct{}) (bool, error) {
		return optimizedMatMul(&c.Out[0], &c.In[0], &c.In[1], c.BF16)
	}), divideMatMul)

// divideMatMul divides the first axis of z with several indices that is not its last.
func divideMatMul(c *Call) division {
	z, d := &c.Out[0], c.inOnePart()
	for axis, n := range z.Shape[:z.Rank()-1] {
		if n < 2 {
			continue
		}
		d.out[0] = axis
		if axis == z.Rank()-2 {
			d.in[0], d.least = c.In[0].Rank()-2, 256 // rows: fewer would read y from memory again for little work
			break
		}
		for i := range c.In {
			if own := axis + c.In[i].Rank() - z.Rank(); own >= 0 && c.In[i].Shape[own] == n {
				d.in[i] = own
			}
		}
		break
	}
	return d
}

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

// real checks the number of operands, all floats of one type.
func (c *Call) real(outs, ins int) error {
	if err := c.checkOperands(outs, ins); err != nil {
		return err
	}
	return c.allFloats()
}

// optimizedMatMul reports false if z is empty of work for a library, or has more
// leading axes than C takes.
func optimizedMatMul(z, x, y *storage.Array, bf16 bool) (bool, error) {
	if z.Len() == 0 || x.Len() == 0 {
		return z.Len() == 0, nil
	}
	p, ok := productOf(z, x, y)
	if !ok {
		return false, nil
	}
	if z.Type == dtype.Float64 && !native.HasBLAS() {
		gonumMatMul(z, x, y)
		return true, nil
	}
	return true, multiply(&p, z, x, y, bf16)
}

// productOf describes z = x·y with as few batch axes as possible. It reports false if
// those are too many.
func productOf(z, x, y *storage.Array) (p native.Product, ok bool) {
	p.M, p.K, p.N = int64(x.Shape[x.Rank()-2]), int64(x.Shape[x.Rank()-1]), int64(y.Shape[y.Rank()-1])
	for i := range 2 {
		p.X[i], p.Y[i], p.Z[i] = lastStride(x, i), lastStride(y, i), lastStride(z, i)
	}
	for axis, size := range z.Shape[:z.Rank()-2] {
		if size != 1 && !addBatchAxis(&p, int64(size), leadStride(x, z, axis), leadStride(y, z, axis), leadStride(z, z, axis)) {
			return p, false
		}
	}
	if p.Axes == 1 && p.YBatch[0] == 0 && p.XBatch[0] == p.M*p.X[0] && p.ZBatch[0] == p.M*p.Z[0] {
		p.M, p.Axes = p.M*p.Batch[0], 0 // one y for all: x's matrices are one tall one
	}
	return p, true
}

// addBatchAxis appends an axis, or merges it with the last.
func addBatchAxis(p *native.Product, n, x, y, z int64) bool {
	if last := p.Axes - 1; last >= 0 && p.XBatch[last] == n*x && p.YBatch[last] == n*y && p.ZBatch[last] == n*z {
		p.Batch[last] *= n
		p.XBatch[last], p.YBatch[last], p.ZBatch[last] = x, y, z
		return true
	}
	if p.Axes == native.BatchAxes {
		return false
	}
	p.Batch[p.Axes], p.XBatch[p.Axes], p.YBatch[p.Axes], p.ZBatch[p.Axes] = n, x, y, z
	p.Axes++
	return true
}

// lastStride returns the stride of a's last but one axis, or its last.
func lastStride(a *storage.Array, i int) int64 { return int64(a.Stride[a.Rank()-2+i]) }

// leadStride returns a's stride along axis of z: 0 where a has no such axis, or repeats.
func leadStride(a, z *storage.Array, axis int) int64 {
	axis += a.Rank() - z.Rank()
	if axis < 0 || a.Shape[axis] == 1 {
		return 0
	}
	return int64(a.Stride[axis])
}

// multiply computes the product p of x and y.
func multiply(p *native.Product, z, x, y *storage.Array, bf16 bool) (err error) {
	switch {
	case z.Type == dtype.Float64:
		err = p.MultiplyF64(fromFirst[float64](z), fromFirst[float64](x), fromFirst[float64](y))
	case bf16 && roundingPays(p):
		return planProduct(p, z, x, y, nil, NoActivation, true)
	case p.Axes == 0 && planPays(p):
		return planProduct(p, z, x, y, nil, NoActivation, false)
	default:
		err = p.MultiplyF32(fromFirst[float32](z), fromFirst[float32](x), fromFirst[float32](y))
	}
	if err != nil {
		return fmt.Errorf("%v and %v: %w", x.Shape, y.Shape, err)
	}
	return nil
}

// gonumMatMul is optimizedMatMul without OpenBLAS: in Go, on contiguous copies.
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

// tight returns a contiguous copy of the matrix v of elems for gonum; zeros if elems is nil.
func tight(elems []float64, v views.View) blas64.General {
	g := blas64.General{Rows: v.Shape[0], Cols: v.Shape[1], Stride: max(1, v.Shape[1]), Data: make([]float64, v.Len())}
	for i := range g.Rows {
		for j := 0; j < g.Cols && elems != nil; j++ {
			g.Data[i*g.Cols+j] = elems[v.Offset+i*v.Stride[0]+j*v.Stride[1]]
		}
	}
	return g
}

// eachMatrix visits the matrices of z, with the matrices of x and y that broadcast to them.
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

func referenceMatMul[T dtype.Float](z, x, y *storage.Array) {
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
