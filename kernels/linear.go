package kernels

import (
	"fmt"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// LinearOptions are the options of Linear.
type LinearOptions struct {
	Act  Activation
	Mask *ReLUMask // of y, written by a GPU's library if Act is ReLUActivation; nil for none
}

// Linear is y = act(z) for z = x·wᵀ + b, y (N,out), x (N,in), w (out,in) and b (out),
// which is optional. Out y and, if wanted, z. Its options are LinearOptions. Strides are as in MatMul.
var Linear = withHalfFloats(define("linear", checkLinear,
	func(c *Call, options LinearOptions) error {
		if l := linearOf(c, options); l.y.Type == dtype.Float64 {
			referenceLinear[float64](l)
		} else {
			referenceLinear[float32](l)
		}
		return nil
	},
	func(c *Call, options LinearOptions) (bool, error) { return linearOf(c, options).optimized() }), func(c *Call) division {
	d := byFirst(1)(c)
	d.least = 256
	return d
})

func checkLinear(c *Call, options LinearOptions) error {
	if err := c.real(min(max(len(c.Out), 1), 2), min(max(len(c.In), 2), 3)); err != nil {
		return err
	}
	if err := options.Act.check(); err != nil {
		return err
	}
	if err := oneShape(c.Out...); err != nil {
		return err
	}
	y, x, w := &c.Out[0], &c.In[0], &c.In[1]
	if x.Rank() != 2 || w.Rank() != 2 || y.Rank() != 2 || x.Shape[1] != w.Shape[1] || y.Shape[0] != x.Shape[0] || y.Shape[1] != w.Shape[0] {
		return fmt.Errorf("x %v and w %v do not make y %v; want (N,in), (out,in), (N,out): %w", x.Shape, w.Shape, y.Shape, views.ErrShape)
	}
	if b := third(c.In); b != nil && (b.Rank() != 1 || b.Shape[0] != y.Shape[1]) {
		return fmt.Errorf("bias is %v; want [%d]: %w", b.Shape, y.Shape[1], views.ErrShape)
	}
	return options.Mask.check(c, y)
}

// A linear is a checked call; b is nil without a bias, and z is y unless both are outputs.
type linear struct {
	y, z, x, w, b *storage.Array
	act           Activation
	bf16          bool // lets operands be rounded
}

func linearOf(c *Call, options LinearOptions) linear {
	return linear{y: &c.Out[0], z: &c.Out[len(c.Out)-1], x: &c.In[0], w: &c.In[1], b: third(c.In), act: options.Act, bf16: c.BF16}
}

func (l linear) wT() *storage.Array {
	w := l.w.With(views.View{Offset: l.w.Offset, Shape: []int{l.w.Shape[1], l.w.Shape[0]}, Stride: []int{l.w.Stride[1], l.w.Stride[0]}})
	return &w
}

func (l linear) optimized() (bool, error) {
	if l.y.Len() == 0 || l.x.Len() == 0 {
		return l.y.Len() == 0, nil
	}
	if l.y.Type == dtype.Float64 && !native.HasBLAS() {
		gonumMatMul(l.z, l.x, l.wT())
		return true, l.finish()
	}
	p := l.product()
	bf16 := l.bf16 && l.y.Type == dtype.Float32 && roundingPays(&p)
	if l.y.Type == dtype.Float32 && (bf16 || fusionPays(&p)) && (l.b == nil || l.b.Stride[0] == 1 || l.b.Len() == 1) {
		if l.z == l.y {
			return true, planProduct(&p, l.y, l.x, l.w, l.b, l.act, bf16)
		}
		if done, err := l.inBlocks(&p, bf16); done || err != nil {
			return true, err
		}
		if err := planProduct(&p, l.z, l.x, l.w, l.b, NoActivation, bf16); err != nil {
			return true, err
		}
		return true, l.act.apply(l.y, l.z)
	}
	if err := multiply(&p, l.z, l.x, l.w, bf16); err != nil {
		return true, err
	}
	return true, l.finish()
}

// inBlocks computes z in blocks of rows, and y from each while it is in a cache. It returns false where
// that is not faster.
func (l linear) inBlocks(p *native.Product, bf16 bool) (bool, error) {
	blocks := cacheBlocks(int(p.M), int(4*p.N))
	if blocks == 1 || p.M < reorderRows || l.act == NoActivation || !hasStrides(l.y, rowMajor(l.y.Shape)) || !hasStrides(l.z, rowMajor(l.z.Shape)) {
		return false, nil
	}
	part := *p
	part.M /= int64(blocks)
	q := productProblem(&part, l.b, bf16)
	q.Reordered = native.ReordersW
	on := native.Blocks{Count: blocks, XStep: part.M * p.X[0], YStep: part.M * p.Z[0], Act: activationOps[l.act]}
	return true, q.RunBlocks(on, fromFirst[float32](l.x), fromFirst[float32](l.w), fromFirst[float32](l.b), fromFirst[float32](l.z), fromFirst[float32](l.y))
}

// reorderRows is the number of rows from which on a product gains by a copy of the weights in oneDNN's layout.
const reorderRows = 1024

// finish adds the bias, if there is one, to z and sets y to act(z).
func (l linear) finish() error {
	if l.b == nil {
		return l.act.apply(l.y, l.z)
	}
	c := &Call{Out: []storage.Array{*l.y}, In: []storage.Array{*l.z, *l.b}, Options: ActOptions{Act: l.act}}
	if l.y != l.z {
		c.Out = append(c.Out, *l.z)
	}
	return CPU.Run(BiasAct, c)
}

// referenceLinear is the product, then bias and activation.
func referenceLinear[T dtype.Float](l linear) {
	referenceMatMul[T](l.z, l.x, l.wT())
	addBias[T](l)
}

func addBias[T dtype.Float](l linear) {
	ys, y, zs := storage.Elements[T](*l.y), l.y, storage.Elements[T](*l.z)
	for j := range y.Shape[1] {
		var b T
		if l.b != nil {
			b = storage.Elements[T](*l.b)[l.b.Offset+j*l.b.Stride[0]]
		}
		for i := range y.Shape[0] {
			z := &zs[l.z.Offset+i*l.z.Stride[0]+j*l.z.Stride[1]]
			*z += b
			ys[y.Offset+i*y.Stride[0]+j*y.Stride[1]] = T(l.act.of(float64(*z)))
		}
	}
}

// product describes x·wᵀ.
func (l linear) product() (p native.Product) {
	p.M, p.K, p.N = int64(l.x.Shape[0]), int64(l.x.Shape[1]), int64(l.w.Shape[0])
	for i := range 2 {
		p.X[i], p.Y[1-i], p.Z[i] = lastStride(l.x, i), lastStride(l.w, i), lastStride(l.z, i)
	}
	return p
}

// fusionPays reports whether oneDNN should compute a product with bias and activation.
//
// Measured on an AVX-512 Xeon: a primitive is slow to multiply few rows, and
// saves the pass over y that bias and activation take; with many rows sgemm is
// a twelfth faster, which outweighs that pass where k is large.
func fusionPays(p *native.Product) bool {
	return p.M >= 8 && (p.M <= 256 || p.K < 1024) && fitsOneDNN(p)
}

// planPays reports whether oneDNN should compute a product alone.
func planPays(p *native.Product) bool {
	return p.M >= 8 && p.M <= 256 && p.K >= 256 && p.X[1] == 1 && fitsOneDNN(p)
}

// roundingPays reports whether a product gains by operands of bfloat16 on processors that multiply these, where the conversion takes
// some 0.1 ns an element and a multiplication 0.009 ns less than in float32. It is the same for all processors and numbers of threads.
func roundingPays(p *native.Product) bool {
	const least = 32
	return p.Axes == 0 && p.M >= least && p.N >= least && p.K >= least && float64(p.M)*float64(p.N)*float64(p.K) >= leastRounded && fitsOneDNN(p)
}

// leastRounded is the number of multiplications that are worth converting operands: 0.1 ms of two threads. Tests change it.
var leastRounded = float64(1 << 24)

// fitsOneDNN reports whether oneDNN takes the product's matrices without copies.
func fitsOneDNN(p *native.Product) bool {
	rows := func(s [2]int64, m, n int64) bool { return s[1] == 1 && s[0] >= n }
	cols := func(s [2]int64, m, n int64) bool { return s[0] == 1 && s[1] >= m }
	return (rows(p.X, p.M, p.K) || cols(p.X, p.M, p.K)) && (rows(p.Y, p.K, p.N) || cols(p.Y, p.K, p.N)) && rows(p.Z, p.M, p.N)
}

// planProduct computes the product with bias and activation by oneDNN.
func planProduct(p *native.Product, z, x, y, b *storage.Array, act Activation, bf16 bool) error {
	q := productProblem(p, b, bf16)
	q.Activation = int32(act)
	if err := q.Run(fromFirst[float32](x), fromFirst[float32](y), fromFirst[float32](b), fromFirst[float32](z)); err != nil {
		return fmt.Errorf("product of %v and %v: %w", x.Shape, y.Shape, err)
	}
	return nil
}

// productProblem describes the product, plus a bias unless b is nil, to oneDNN, of operands rounded to bfloat16 if bf16 is set.
func productProblem(p *native.Product, b *storage.Array, bf16 bool) native.Problem {
	q := native.Problem{Op: native.ProductOp, Rank: 2}
	if b != nil {
		q.Bias = 1
	}
	if bf16 {
		q.BF16 = 1
	}
	q.X, q.W, q.Y = [5]int64{p.M, p.K}, [5]int64{p.K, p.N}, [5]int64{p.M, p.N}
	copy(q.XStride[:], p.X[:])
	copy(q.WStride[:], p.Y[:])
	copy(q.YStride[:], p.Z[:])
	return q
}

// cacheBlocks returns the number of equal blocks of n rows, with the given bytes per row, that are small enough
// for the activation to find them in a cache, or else 1.
func cacheBlocks(n, bytes int) int {
	most := native.Threads() * blockBytes / bytes
	for count := 2; count <= n && n/count > most/2; count++ {
		if n%count == 0 && n/count <= most {
			return count
		}
	}
	return 1
}

// blockBytes is the size of a thread's share of a block. On an EPYC whose processors have 1 MiB of cache each and 32 MiB
// together, 1 to 4 MiB were alike.
const blockBytes = 2 << 20
