// Package launch starts device code on GPUs: it describes operands to it, packs its
// arguments, chooses blocks and threads, and splits work that is too large for one launch.
//
// What a kernel computes, and with which entry of package device, belongs to package kernels.
package launch

import (
	"fmt"
	"unsafe"

	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A GPU is a device that launches entries of package device on its own storages, one after another.
type GPU interface {
	storage.Device
	// Launch starts an entry, which takes one struct: the bytes args.
	Launch(entry string, blocks [3]uint32, threads uint32, args []byte) error
	// Address returns the address of a storage of this device.
	Address(s storage.Storage) uint64
	// Workspace allocates memory for the launches of use, and frees it after them.
	Workspace(bytes int, use func(address uint64) error) error
	// FaultAddress is the address of three int64 by which device code reports an error that a launch
	// cannot return; package kernels says what they mean.
	FaultAddress() uint64
	// BlockCounters is the address of [Counters] uint32 that are 0 between launches: blocks find
	// out with them which of them is the last. Launches that use them run within Workspace,
	// which keeps them apart from other streams' counters.
	BlockCounters() uint64
}

// Counters is the number of counters of a GPU.
const Counters = FullOccupancy

// A Target is a GPU and the geometry of the launches on it.
type Target struct {
	GPU
	Geometry
}

// StorageDevice returns the device whose storages g computes on: g itself, unless it is only a
// way to launch on one, such as a stream.
func StorageDevice(g GPU) storage.Device {
	if way, ok := g.(interface{ StorageDevice() storage.Device }); ok {
		return way.StorageDevice()
	}
	return g
}

// Threads is the number of threads of a full block.
const Threads = 256

// FullOccupancy is the number of blocks that keeps a large GPU busy.
const FullOccupancy = 512

// MaxX is the largest number of blocks that share any number of rows: with more, 32 bits
// would not count the threads.
const MaxX = 1 << 22

// MaxY is the largest number of blocks of a launch along its second and third axis.
const MaxY = 1<<16 - 1

// Start launches an entry whose threads share n units of work.
func Start[A any](t Target, entry string, n int64, args *A) error {
	return t.start(entry, n, Bytes(args))
}

func (t Target) start(entry string, n int64, args []byte) error {
	blocks, each := t.Divide(n)
	return t.Launch(entry, [3]uint32{uint32(blocks), 1, 1}, uint32(each), args)
}

// Blocks launches an entry with a grid of blocks, each with the given number of threads.
func Blocks[A any](t Target, entry string, blocks [3]uint32, threads uint32, args *A) error {
	return t.Launch(entry, blocks, threads, Bytes(args))
}

// Bytes returns the bytes of args, without copying them.
func Bytes[A any](args *A) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(args)), unsafe.Sizeof(*args))
}

// At returns the address of the element at a position of a's storage. A nil array has
// address 0; the address of an element of an array without a storage is its position.
func (t Target) At(a *storage.Array, position int) uint64 {
	if a == nil {
		return 0
	}
	if a.Data == nil {
		return uint64(position)
	}
	return t.Address(a.Data) + uint64(position*a.Type.Size())
}

// First returns the address of an array's first element; of nil it is 0.
func (t Target) First(a *storage.Array) uint64 {
	if a == nil {
		return 0
	}
	return t.At(a, a.Offset)
}

// Addresses are the addresses of each operand's first element.
type Addresses [native.Operands]uint64

// EachGrid calls visit with a grid of the elements of arrays, or with parts of it that are small
// enough for a launch, with the addresses of the operands, and with the number of elements.
func (t Target) EachGrid(arrays []*storage.Array, visit func(g *native.Axes, at Addresses, n int64) error) error {
	var g native.Grid
	if !over(&g, ^uint64(0), arrays) {
		return manyAxes(arrays[0])
	}
	if g.Empty {
		return nil
	}
	return t.eachPart(g, arrays, visit)
}

func (t Target) eachPart(g native.Grid, arrays []*storage.Array, visit func(g *native.Axes, at Addresses, n int64) error) error {
	n := g.Count()
	if n < Limit() {
		var at Addresses
		for i, a := range arrays {
			at[i] = t.At(a, g.First[i])
		}
		Divide(&g.Axes)
		return visit(&g.Axes, at, n)
	}
	axis := 0
	for g.Shape[axis] == 1 {
		axis++
	}
	half, rest := g, g
	half.Shape[axis] = Halve(half.Shape[axis])
	rest.Shape[axis] -= half.Shape[axis]
	for i := range arrays {
		rest.First[i] += int(half.Shape[axis] * rest.Stride[i][axis])
	}
	if err := t.eachPart(half, arrays, visit); err != nil {
		return err
	}
	return t.eachPart(rest, arrays, visit)
}

// most is one more than the number of elements that the threads of one launch share.
// Tests make it smaller.
var most int64 = 1 << 31

// Limit is one more than the number of elements that the threads of one launch share.
func Limit() int64 { return most }

// Halve returns about half of n, rounded so that the other half can be packed.
func Halve(n int64) int64 {
	half := n / 2
	if half > packBytes {
		half &^= packBytes - 1
	}
	return half
}

// Slice returns the part of a from one position along an axis to another; a itself if it
// is nil or axis is negative.
func Slice(a *storage.Array, axis, from, to int) *storage.Array {
	if a == nil || axis < 0 {
		return a
	}
	part := a.With(a.View.Narrow(axis, from, to))
	return &part
}

// Ceil returns n divided by size, rounded up.
func Ceil(n, size int) int { return (n + size - 1) / size }

// Grid returns a grid of the axes of arrays whose bits are set.
func Grid(axes uint64, arrays ...*storage.Array) (g native.Grid, err error) {
	if arrays[0].Rank() > 64 || !over(&g, axes, arrays) {
		return g, manyAxes(arrays[0])
	}
	Divide(&g.Axes)
	return g, nil
}

func over(g *native.Grid, axes uint64, arrays []*storage.Array) bool {
	var vs [native.Operands]*views.View
	for i, a := range arrays {
		vs[i] = &a.View
	}
	return g.Along(axes, vs[:len(arrays)]...)
}

func manyAxes(a *storage.Array) error {
	return fmt.Errorf("%v has more than %d axes that cannot be merged; copy it first: %w", a.Shape, native.Rank, storage.ErrState)
}
