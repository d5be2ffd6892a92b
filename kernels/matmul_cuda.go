package kernels

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels/launch"
	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
)

var (
	_ = onGPU(MatMul, func(c *Call, _ struct{}) error {
		z, x, y := &c.Out[0], &c.In[0], &c.In[1]
		if z.Len() == 0 {
			return nil
		}
		p, ok := productOf(z, x, y)
		if !ok {
			return fmt.Errorf("%v has more than %d leading axes that cannot be joined; copy it first: %w", z.Shape, native.BatchAxes, storage.ErrState)
		}
		if done, err := c.tryLibrary(&p, z, x, y, epilogue{}); done || err != nil {
			return err
		}
		return c.launchProduct(&p, z, x, y, nil, z, NoActivation)
	})

	_ = onGPU(LinearGradW, func(c *Call, _ struct{}) error {
		product, sum := c.linearGrads()
		db, z, x, y := &c.Out[1], &product.Out[0], &product.In[0], &product.In[1]
		if p, ok := productOf(z, x, y); ok && z.Len() > 0 && adjacent(db) {
			if done, err := c.tryLibrary(&p, z, x, y, epilogue{rowSums: db}); done || err != nil {
				return err
			}
		}
		return cmp.Or(c.launch(MatMul, product), c.launch(Sum, sum))
	})

	_ = onGPU(LinearGradX, func(c *Call, options LinearGradXOptions) error {
		product, act := c.linearGradX(options)
		z, x, y := &product.Out[0], &product.In[0], &product.In[1]
		if m := options.Mask; m != nil && m.Written && options.Act == ReLUActivation {
			if p, ok := productOf(z, x, y); ok && z.Len() > 0 {
				if done, err := c.tryLibrary(&p, z, x, y, epilogue{mask: m}); done || err != nil {
					return err
				}
			}
		}
		return cmp.Or(c.launch(MatMul, product), c.launch(ActGrad, act))
	})

	_ = onGPU(Linear, func(c *Call, options LinearOptions) error {
		l := linearOf(c, options)
		if l.y.Len() == 0 {
			return nil
		}
		p, e := l.product(), epilogue{bias: l.b, act: l.act, activated: l.y}
		if m := options.Mask; m != nil && l.act == ReLUActivation && l.y == l.z {
			e.mask = m
			if done, err := c.tryLibrary(&p, l.z, l.x, l.wT(), e); done || err != nil {
				m.Written = done
				return err
			}
			e.mask = nil
		}
		if done, err := c.tryLibrary(&p, l.z, l.x, l.wT(), e); done || err != nil {
			return err
		}
		return c.launchProduct(&p, l.z, l.x, l.w, l.b, l.y, l.act)
	})
)

// afterStore reports whether tiles apply a to what they have stored to z, for y, which may be z. A relu in its place is
// applied before.
func (a Activation) afterStore(y, z *storage.Array) bool {
	return y != z || a != NoActivation && a != ReLUActivation
}

// activate sets y = act(z); y may be z.
func (c *Call) activate(y, z *storage.Array, act Activation) error {
	if act == NoActivation {
		if y == z {
			return nil
		}
		return c.launchCopy(y, z)
	}
	on := Call{Out: []storage.Array{*y}, In: []storage.Array{*z}, gpu: c.gpu}
	return on.launchLoop(act.String(), 0, 0)
}

// An epilogue is what a library computes with a product: a bias and an activation, the sums of x's rows, or the gradient of
// a ReLU.
type epilogue struct {
	bias, rowSums *storage.Array // nil for none
	act           Activation
	activated     *storage.Array // act of the product and the bias; nil if it takes their place
	mask          *ReLUMask      // written if act is a ReLU, and else read for its gradient; nil for none
}

// tryLibrary computes z = x·y and e with the GPU's library, and returns false if that does not take it.
func (c *Call) tryLibrary(p *native.Product, z, x, y *storage.Array, e epilogue) (bool, error) {
	library, ok := launch.Library[launch.Multiplier](c.gpu)
	switch {
	case !ok || p.Axes > 2 || p.K == 0 || !adjacent(e.bias):
		return false, nil
	case p.Axes == 2:
		return c.tryLibraryTwice(p, z, x, y, e)
	case e.activated == nil:
		e.activated = z
	}
	q := launch.Product{
		Type: z.Type, M: int(p.M), N: int(p.N), K: int(p.K), Batches: 1,
		X:    launch.Matrix{Address: c.gpu.First(x), Down: int(p.X[0]), Across: int(p.X[1]), Batch: int(p.XBatch[0])},
		Y:    launch.Matrix{Address: c.gpu.First(y), Down: int(p.Y[0]), Across: int(p.Y[1]), Batch: int(p.YBatch[0])},
		Z:    launch.Matrix{Address: c.gpu.First(z), Down: int(p.Z[0]), Across: int(p.Z[1]), Batch: int(p.ZBatch[0])},
		Bias: c.gpu.First(e.bias), Relu: e.act == ReLUActivation && e.activated == z && z.Type != dtype.Float64, RowSums: c.gpu.First(e.rowSums),
	}
	if e.mask != nil {
		q.Mask = c.gpu.First(&e.mask.Bits)
	}
	if p.Axes == 1 {
		q.Batches = int(p.Batch[0])
	}
	done, err := library.Multiply(q)
	if !done || err != nil || q.Relu {
		return done, err
	}
	return true, c.activate(e.activated, z, e.act)
}

// tryLibraryTwice is tryLibrary of a product with two batch axes that cannot be joined, such as those of the heads of attention (B, T, H, D) -> (B,
// H, T, D): a call for each index of the shorter one.
func (c *Call) tryLibraryTwice(p *native.Product, z, x, y *storage.Array, e epilogue) (done bool, err error) {
	outer, inner := 0, 1
	if p.Batch[1] < p.Batch[0] {
		outer, inner = 1, 0
	}
	part := *p
	part.Axes, part.Batch[0], part.XBatch[0], part.YBatch[0], part.ZBatch[0] = 1, p.Batch[inner], p.XBatch[inner], p.YBatch[inner], p.ZBatch[inner]
	for i := range p.Batch[outer] {
		at := func(a *storage.Array, step int64) *storage.Array {
			v := a.View
			v.Offset += int(i * step)
			moved := a.With(v)
			return &moved
		}
		done, err = c.tryLibrary(&part, at(z, p.ZBatch[outer]), at(x, p.XBatch[outer]), at(y, p.YBatch[outer]), e)
		if !done || err != nil {
			return false, err // tiles compute all of z then
		}
	}
	return done, nil
}

// adjacent reports whether the elements of a vector, if there is one, are contiguous.
func adjacent(a *storage.Array) bool { return a == nil || a.Stride[0] == 1 || a.Shape[0] == 1 }

// productArgs is Product of matmul.cu.
type productArgs struct {
	z, x, y, bias       uint64
	part, activated     uint64
	biasStep, act       int64
	e                   launch.Extent
	batches             int64
	xStep, yStep, zStep [2]int64
	activatedStep       [2]int64
	axes                int64
	batch, xBatch       [native.BatchAxes]int64
	yBatch, zBatch      [native.BatchAxes]int64
}

// A matrices is a tiled matrix product, of m by n elements, each a sum of k.
type matrices struct {
	productArgs
	t       dtype.Type
	m, n, k int64
}

// launchProduct is z = x·y, or with a bias, and activated = act(z), which may be z.
func (c *Call) launchProduct(p *native.Product, z, x, y, bias, activated *storage.Array, act Activation) error {
	args := productArgs{z: c.gpu.First(z), x: c.gpu.First(x), y: c.gpu.First(y), bias: c.gpu.First(bias), axes: p.Axes}
	if bias != nil {
		args.biasStep = int64(bias.Stride[0])
	}
	args.act = int64(act)
	if act.afterStore(activated, z) {
		args.activated, args.activatedStep = c.gpu.First(activated), [2]int64{lastStride(activated, 0), lastStride(activated, 1)}
	}
	args.xStep, args.yStep, args.zStep = p.X, p.Y, p.Z
	args.batch, args.xBatch, args.yBatch, args.zBatch = p.Batch, p.XBatch, p.YBatch, p.ZBatch
	return c.gpu.Tiles(z.Type, &matrices{args, z.Type, p.M, p.N, p.K})
}

func (p *matrices) Size() [4]int {
	batches := 1
	for _, n := range p.batch[:p.axes] {
		batches *= int(n)
	}
	return [4]int{batches, int(p.m), int(p.n), int(p.k)}
}

func (p *matrices) SplitTile(side int) (first, rest launch.Tiled) {
	a, b := *p, *p
	half, _ := a.side(side)
	left, step := b.side(side)
	*half = launch.Halve(*half)
	*left -= *half
	for i, address := range []*uint64{&b.x, &b.y, &b.z, &b.bias, &b.activated} {
		if *address != 0 {
			*address += uint64(*half * step[i] * int64(p.t.Size()))
		}
	}
	return &a, &b
}

// side returns the length of p along a side, and the steps of x, y, z, the bias and the result of the activation there; of
// batches, along the first axis that has several.
func (p *matrices) side(side int) (n *int64, step [5]int64) {
	switch side {
	case launch.RowSide:
		return &p.m, [5]int64{p.xStep[0], 0, p.zStep[0], 0, p.activatedStep[0]}
	case launch.ColumnSide:
		return &p.n, [5]int64{0, p.yStep[1], p.zStep[1], p.biasStep, p.activatedStep[1]}
	case launch.SumSide:
		return &p.k, [5]int64{p.xStep[1], p.yStep[0]}
	}
	axis := slices.IndexFunc(p.batch[:p.axes], func(n int64) bool { return n > 1 })
	return &p.batch[axis], [5]int64{p.xBatch[axis], p.yBatch[axis], p.zBatch[axis]}
}

func (p *matrices) Extent() launch.Extent {
	e := launch.ExtentOf(p.Size())
	e.XOrder = p.memoryOrder(p.t, p.x, int(p.m), int(p.k), p.xStep, p.xBatch)
	e.YOrder = p.memoryOrder(p.t, p.y, int(p.n), int(p.k), [2]int64{p.yStep[1], p.yStep[0]}, p.yBatch)
	if p.Size()[launch.BatchSide] == 1 {
		e.Split(1)
	}
	return e
}

func (p *matrices) Tiles(e launch.Extent, part uint64) (string, []byte) {
	args := p.productArgs
	args.e, args.part, args.batches = e, part, int64(p.Size()[launch.BatchSide])
	return "product", launch.Bytes(&args)
}

func (p *matrices) Sums(e launch.Extent, part uint64) (string, []byte) { return p.Tiles(e, part) }

func (*matrices) Even() bool { return true }

// memoryOrder returns the order of a factor's elements in memory: of that many rows, or columns of y, and that
// many along the sum, step apart.
func (a *productArgs) memoryOrder(t dtype.Type, address uint64, rows, deep int, step [2]int64, batch [native.BatchAxes]int64) uint32 {
	near, far, run := step[1], step[0], deep
	how := uint32(0)
	if magnitude(int(step[0])) < magnitude(int(step[1])) {
		near, far, run, how = step[0], step[1], rows, launch.Transposed
	}
	if near == 1 && loadsVec4(t, address, run, append(batch[:a.axes:a.axes], far)...) {
		how |= launch.Vec4
	}
	return how
}

// loadsVec4 reports whether runs of elements, steps apart, are multiples of four elements, or of eight
// 16-bit floats, and aligned to 16 bytes.
func loadsVec4(t dtype.Type, address uint64, run int, steps ...int64) bool {
	n := max(4, 16/t.Size())
	for _, step := range append(steps, int64(run)) {
		if step%int64(n) != 0 {
			return false
		}
	}
	return address%uint64(n*t.Size()) == 0
}
