package kernels

import (
	"fmt"
	"unsafe"

	"github.com/h5dnn/h5dnn/kernels/launch"
	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
)

var (
	_ = onGPU(Copy, func(c *Call, _ struct{}) error { return c.launchCopy(&c.Out[0], &c.In[0]) })

	_ = onGPU(Fill, func(c *Call, options FillOptions) error {
		y := &c.Out[0]
		elem := options.of(y.Type)
		return c.gpu.EachGrid([]*storage.Array{y}, func(g *native.Axes, at launch.Addresses, n int64) error {
			packs := launch.Pack(g, launch.PackOf(y.Type), at, y)
			return launch.Start(c.gpu, launch.SizeEntry("fill", y), packs, &fillArgs{at[0], n, *(*[2]uint64)(unsafe.Pointer(&elem)), *g})
		})
	})

	_ = onGPU(Where, func(c *Call, _ struct{}) error {
		z, cond, x, y := &c.Out[0], &c.In[0], &c.In[1], &c.In[2]
		return c.gpu.EachGrid([]*storage.Array{z, cond, x, y}, func(g *native.Axes, at launch.Addresses, n int64) error {
			packs := launch.Pack(g, launch.PackOf(z.Type), at, z, cond, x, y)
			return launch.Start(c.gpu, launch.SizeEntry("where", z), packs, &whereArgs{at[0], at[1], at[2], at[3], n, *g})
		})
	})
)

// copyArgs, fillArgs and whereArgs are Copy, Fill and Where of copy.cu.
type copyArgs struct {
	z, x uint64
	n    int64
	g    native.Axes
}

type fillArgs struct {
	z       uint64
	n       int64
	element [2]uint64
	g       native.Axes
}

type whereArgs struct {
	z, cond, x, y uint64
	n             int64
	g             native.Axes
}

// launchCopy is y = x.
func (c *Call) launchCopy(y, x *storage.Array) error {
	return c.gpu.EachGrid([]*storage.Array{y, x}, func(g *native.Axes, at launch.Addresses, n int64) error {
		packs, size := launch.Pack(g, launch.PackOf(y.Type), at, y, x), y.Type.Size()
		if done, err := c.launchTransposed(launch.SizeEntry("transpose", y), g, at, size, size); done || err != nil {
			return err
		}
		args := copyArgs{at[0], at[1], n, *g}
		for g.Pack == 0 && args.halve(uint64(size)) {
			size, packs = 2*size, args.n
		}
		return launch.Start(c.gpu, fmt.Sprintf("copy_%d", size), packs, &args)
	})
}

// halve sees elements of a size, pairs of which are adjacent in both arrays and
// aligned, as half as many of twice the size; or it reports false.
func (a *copyArgs) halve(size uint64) bool {
	last := a.g.Rank - 1
	odd := a.g.Shape[last] | int64(a.z/size) | int64(a.x/size)
	for k := range 2 {
		for _, stride := range a.g.Stride[k][:last] {
			odd |= stride
		}
	}
	if size == 16 || odd&1 != 0 || a.g.Stride[0][last] != 1 || a.g.Stride[1][last] != 1 {
		return false
	}
	a.n /= 2
	a.g.Shape[last] /= 2
	for k := range 2 {
		for axis := range last {
			a.g.Stride[k][axis] /= 2
		}
	}
	return true
}
