package kernels

// #include "loops.h"
import "C"

import (
	"fmt"
	"unsafe"

	"github.com/h5dnn/h5dnn/storage"
)

var (
	_ = onGPU(Copy, func(c *Call, _ struct{}) error { return c.launchCopy(&c.Out[0], &c.In[0]) })

	_ = onGPU(Fill, func(c *Call, set FillSet) error {
		y := &c.Out[0]
		elem := set.of(y.Type)
		return c.eachGrid([]*storage.Array{y}, func(g *C.h5k_grid, at starts, n int64) error {
			packs := pack(g, atOnce(y.Type), at, y)
			return launch(c.gpu, sizeEntry("fill", y), packs, &fillArgs{at[0], n, *(*[2]uint64)(unsafe.Pointer(&elem)), *g})
		})
	})

	_ = onGPU(Where, func(c *Call, _ struct{}) error {
		z, cond, x, y := &c.Out[0], &c.In[0], &c.In[1], &c.In[2]
		return c.eachGrid([]*storage.Array{z, cond, x, y}, func(g *C.h5k_grid, at starts, n int64) error {
			packs := pack(g, atOnce(z.Type), at, z, cond, x, y)
			return launch(c.gpu, sizeEntry("where", z), packs, &whereArgs{at[0], at[1], at[2], at[3], n, *g})
		})
	})
)

// copyArgs, fillArgs and whereArgs are Copy, Fill and Where of copy.cu.
type copyArgs struct {
	z, x uint64
	n    int64
	g    C.h5k_grid
}

type fillArgs struct {
	z       uint64
	n       int64
	element [2]uint64
	g       C.h5k_grid
}

type whereArgs struct {
	z, cond, x, y uint64
	n             int64
	g             C.h5k_grid
}

// launchCopy is y = x.
func (c *Call) launchCopy(y, x *storage.Array) error {
	return c.eachGrid([]*storage.Array{y, x}, func(g *C.h5k_grid, at starts, n int64) error {
		packs, size := pack(g, atOnce(y.Type), at, y, x), y.Type.Size()
		args := copyArgs{at[0], at[1], n, *g}
		for g.pack == 0 && args.halve(uint64(size)) {
			size, packs = 2*size, args.n
		}
		return launch(c.gpu, fmt.Sprintf("copy_%d", size), packs, &args)
	})
}

// halve sees elements of a size, pairs of which are adjacent in both arrays and
// aligned, as half as many of twice the size; or it reports false.
func (a *copyArgs) halve(size uint64) bool {
	last := a.g.rank - 1
	odd := int64(a.g.shape[last]) | int64(a.z/size) | int64(a.x/size)
	for k := range 2 {
		for _, stride := range a.g.stride[k][:last] {
			odd |= int64(stride)
		}
	}
	if size == 16 || odd&1 != 0 || a.g.stride[0][last] != 1 || a.g.stride[1][last] != 1 {
		return false
	}
	a.n /= 2
	a.g.shape[last] /= 2
	for k := range 2 {
		for axis := range last {
			a.g.stride[k][axis] /= 2
		}
	}
	return true
}

// sizeEntry names the entry for elements of a's size.
func sizeEntry(name string, a *storage.Array) string {
	return fmt.Sprintf("%s_%d", name, a.Type.Size())
}
