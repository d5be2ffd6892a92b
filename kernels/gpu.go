package kernels

// #include "loops.h"
import "C"

import (
	"fmt"
	"strings"
	"unsafe"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
)

// A GPU is a Runner that launches the code of package device on its own storages, one
// after another.
type GPU interface {
	Runner
	// Launch starts an entry, which takes one struct: the bytes args.
	Launch(entry string, blocks [3]uint32, threads uint32, args []byte) error
	// Address returns where a storage of this device lies.
	Address(s storage.Storage) uint64
	// Scratch lends memory to the work that use launches.
	Workspace(bytes int, use func(address uint64) error) error
	// Fault is the address of a [Fault], at first [NoFault]; with any other the device
	// fails when it is next waited for.
	FaultAddress() uint64
	// Counters is the address of so many uint32 as the constant says, which are 0 between
	// launches: by them blocks learn which of them is the last. What uses them is launched
	// within Scratch, which keeps such work of several streams apart.
	BlockCounters() uint64
}

// Counters is how many of them a GPU has.
const Counters = busy

// A Fault is what a kernel on a GPU cannot return as an error: that row Row, the
// first such row of the first such kernel, has a label that is none of so many classes; or,
// where Classes is −1 − n, that row Row to be taken is Label, which is none of n.
type Fault struct{ Row, Label, Classes int64 }

// NoFault is the state to begin with.
var NoFault = Fault{Row: 1<<63 - 1}

// Err returns the fault as an error, or nil.
func (f Fault) Err() error {
	if f == NoFault {
		return nil
	}
	if f.Classes < 0 {
		return badRow(int(f.Row), f.Label, int(-1-f.Classes))
	}
	return badLabel(int(f.Row), f.Label, int(f.Classes))
}

// onGPU gives k its CUDA side, which launches what computes c, in the place of
// [Call.launchSelf]. Settings and operands have been checked as for the CPU. It returns k.
func onGPU[S any](k *Kernel, run func(c *Call, set S) error) *Kernel {
	k.CUDA = func(g GPU, c *Call) error {
		on := *c
		on.gpu = g
		if err := k.check(&on); err != nil {
			return err
		}
		set, _ := c.Set.(S)
		err := c.Geometry.check()
		if c.Geometry != (Geometry{}) {
			on.gpu = shaped{g, c.Geometry}
		}
		if err == nil {
			err = run(&on, set)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", k.Name, err)
		}
		return nil
	}
	return k
}

// threads is how many of them a block has that is not small.
const threads = 256

// launch starts an entry whose threads share n pieces of work, whatever their number.
func launch[A any](g GPU, entry string, n int64, args *A) error {
	return launchBytes(g, entry, n, bytesOf(args))
}

func launchBytes(g GPU, entry string, n int64, args []byte) error {
	s, _ := g.(shaped)
	blocks, each := s.of(n)
	return g.Launch(entry, [3]uint32{uint32(blocks), 1, 1}, uint32(each), args)
}

// launchBlocks starts an entry of so many blocks of so many threads.
func launchBlocks[A any](g GPU, entry string, blocks [3]uint32, each uint32, args *A) error {
	return g.Launch(entry, blocks, each, bytesOf(args))
}

// bytesOf returns the bytes of args themselves.
func bytesOf[A any](args *A) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(args)), unsafe.Sizeof(*args))
}

// address returns where element at of a's storage lies; nil lies at 0, and an
// array without a storage is its own positions.
func (c *Call) address(a *storage.Array, at int) uint64 {
	if a == nil {
		return 0
	}
	if a.Data == nil {
		return uint64(at)
	}
	return c.gpu.Address(a.Data) + uint64(at*a.Type.Size())
}

// entry names the device code of a kernel for elements of type t, which the
// kernel's check has allowed. All integers but uint64 share theirs.
func entry(name string, t dtype.Type) string {
	kind, ok := kinds[t]
	if !ok {
		kind = "_i64"
	}
	return strings.ReplaceAll(name, " ", "_") + kind
}

var kinds = map[dtype.Type]string{
	dtype.Float16: "_f16", dtype.BFloat16: "_bf16", dtype.Float32: "_f32", dtype.Float64: "_f64", dtype.Uint64: "_u64",
}

// starts are the addresses of the first element of each operand.
type starts [C.H5K_OPERANDS]uint64

// eachGrid lays a grid over arrays and calls visit with it, or with parts of it
// that are small, and where its operands start.
func (c *Call) eachGrid(arrays []*storage.Array, visit func(g *C.h5k_grid, at starts, n int64) error) error {
	var g grid
	if !g.over(arrays...) {
		return manyAxes(arrays[0])
	}
	if g.empty {
		return nil
	}
	return c.eachPart(g, arrays, visit)
}

func (c *Call) eachPart(g grid, arrays []*storage.Array, visit func(g *C.h5k_grid, at starts, n int64) error) error {
	n := g.count()
	if n < most {
		var at starts
		for i, a := range arrays {
			at[i] = c.address(a, g.first[i])
		}
		divide(&g.C)
		return visit(&g.C, at, n)
	}
	axis := 0
	for g.C.shape[axis] == 1 {
		axis++
	}
	half, rest := g, g
	half.C.shape[axis] = C.int64_t(halved(int64(half.C.shape[axis])))
	rest.C.shape[axis] -= half.C.shape[axis]
	for i := range arrays {
		rest.first[i] += int(half.C.shape[axis] * rest.C.stride[i][axis])
	}
	if err := c.eachPart(half, arrays, visit); err != nil {
		return err
	}
	return c.eachPart(rest, arrays, visit)
}

// count returns how many elements g has.
func (g *grid) count() int64 { return count(&g.C) }

func count(g *C.h5k_grid) int64 {
	n := int64(1)
	for _, size := range g.shape[:g.rank] {
		n *= int64(size)
	}
	return n
}

// first returns where the first element of an array lies, which may be nil.
func (c *Call) first(a *storage.Array) uint64 {
	if a == nil {
		return 0
	}
	return c.address(a, a.Offset)
}

// most is more than the elements that threads of one launch share. It is a
// variable for tests to make it less.
var most int64 = 1 << 31

// stretch returns a from one place along an axis to another; nil, and what has no such axis, stays what it is.
func stretch(a *storage.Array, axis, from, to int) *storage.Array {
	if a == nil || axis < 0 {
		return a
	}
	v, err := a.View.Slice(axis, from, to, 1)
	must(err)
	part := a.With(v)
	return &part
}

// ceil returns how many pieces of a size cover n.
func ceil(n, size int) int { return (n + size - 1) / size }

// gpuAlong lays g over some axes of arrays; what C does not take is an error.
func (g *grid) gpuAlong(axes uint64, arrays ...*storage.Array) error {
	if arrays[0].Rank() > 64 || !g.along(axes, arrays...) {
		return manyAxes(arrays[0])
	}
	divide(&g.C)
	return nil
}

func manyAxes(a *storage.Array) error {
	return fmt.Errorf("%v has more than %d axes that cannot be joined; copy it first: %w", a.Shape, C.H5K_RANK, storage.ErrState)
}
