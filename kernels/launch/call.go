package launch

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"unsafe"

	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
)

// operands is the largest number of outputs, and of inputs, in call.cuh.
const operands = 6

// callArgs and arrayArgs are Call and Array of device/call.cuh.
type callArgs struct {
	n            int64
	from, size   [native.Rank]int64
	next, length [native.Rank]Divisor
	out, in      [operands]arrayArgs
}

type arrayArgs struct {
	p             uint64
	kind, rank    int64
	shape, stride [native.Rank]int64
}

// LaunchElementwise launches the entry of a kernel's own name, for elements of the first input's type,
// or the first output's. Its arguments are all operands and the kernel's options, a struct of numbers.
func (t Target) LaunchElementwise(name string, out, in []storage.Array, options any) error {
	return t.launchParts(name, out, in, options, t.start)
}

// LaunchBlocks is LaunchElementwise for an entry that has a block of [Threads] threads for each element of
// the first output.
func (t Target) LaunchBlocks(name string, out, in []storage.Array, options any) error {
	return t.launchParts(name, out, in, options, func(entry string, n int64, args []byte) error {
		return t.Launch(entry, [3]uint32{uint32(min(n, MaxX)), 1, 1}, Threads, args)
	})
}

func (t Target) launchParts(name string, out, in []storage.Array, options any, start func(entry string, n int64, args []byte) error) error {
	first := &out[0]
	if len(in) > 0 {
		first = &in[0]
	}
	numbers, err := words(nil, reflect.ValueOf(options))
	if err != nil {
		return err
	}
	var args callArgs
	if err := args.describe(t, out, in); err != nil {
		return err
	}
	behind := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(numbers))), 8*len(numbers))
	return args.eachPart(func(part *callArgs) error {
		return start(Entry(name, first.Type), part.n, slices.Concat(Bytes(part), behind))
	})
}

// describe sets the operands, and the window to all of the first output.
func (a *callArgs) describe(t Target, out, in []storage.Array) error {
	for i, list := range [2][]storage.Array{out, in} {
		if len(list) > operands {
			return fmt.Errorf("%d operands; GPUs take %d outputs and as many inputs: %w", len(list), operands, storage.ErrDevice)
		}
		to := [2]*[operands]arrayArgs{&a.out, &a.in}[i]
		for k := range list {
			x := &list[k]
			if x.Rank() > native.Rank {
				return fmt.Errorf("%v has more than %d axes; reshape it first: %w", x.Shape, native.Rank, storage.ErrDevice)
			}
			to[k] = arrayArgs{p: t.First(x), kind: int64(x.Type.Number()), rank: int64(x.Rank())}
			for axis := range x.Shape {
				to[k].shape[axis], to[k].stride[axis] = int64(x.Shape[axis]), int64(x.Stride[axis])
			}
		}
	}
	for axis := range a.size {
		a.size[axis] = 1
	}
	copy(a.size[:], a.out[0].shape[:a.out[0].rank])
	return nil
}

// eachPart calls visit with windows small enough for a launch, which together are a's.
func (a callArgs) eachPart(visit func(part *callArgs) error) error {
	longest := 0
	a.n = 1
	for axis, size := range a.size {
		if a.n *= size; size > a.size[longest] {
			longest = axis
		}
	}
	if a.n == 0 {
		return nil
	}
	if a.n < most {
		a.order()
		return visit(&a)
	}
	rest := a
	a.size[longest] /= 2
	rest.from[longest] += a.size[longest]
	rest.size[longest] -= a.size[longest]
	if err := a.eachPart(visit); err != nil {
		return err
	}
	return rest.eachPart(visit)
}

// order numbers the elements of the window in the order of the first output's memory.
func (a *callArgs) order() {
	axes := make([]int, len(a.size))
	for axis := range axes {
		axes[axis] = axis
	}
	stride := a.out[0].stride
	slices.SortStableFunc(axes, func(i, j int) int { return cmp.Compare(max(stride[j], -stride[j]), max(stride[i], -stride[i])) })
	next := int64(1)
	for _, axis := range slices.Backward(axes) {
		a.next[axis], a.length[axis] = DivideBy(next), DivideBy(a.size[axis])
		next *= a.size[axis]
	}
}

// words appends the numbers that options consist of, in their order, as int64_t or double.
func words(to []uint64, options reflect.Value) (all []uint64, err error) {
	switch {
	case options.CanInt():
		return append(to, uint64(options.Int())), nil
	case options.CanUint():
		return append(to, options.Uint()), nil
	case options.CanFloat():
		return append(to, math.Float64bits(options.Float())), nil
	case options.Kind() == reflect.Bool:
		return append(to, map[bool]uint64{true: 1}[options.Bool()]), nil
	case options.Kind() == reflect.Struct:
		for i := 0; i < options.NumField() && err == nil; i++ {
			to, err = words(to, options.Field(i))
		}
		return to, err
	case options.Kind() == reflect.Array:
		for i := 0; i < options.Len() && err == nil; i++ {
			to, err = words(to, options.Index(i))
		}
		return to, err
	}
	return nil, fmt.Errorf("options hold a %v; GPUs take numbers: %w", options.Type(), storage.ErrDevice)
}
