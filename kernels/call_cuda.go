package kernels

// #include "loops.h"
import "C"

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"unsafe"

	"github.com/h5dnn/h5dnn/storage"
)

// arrays is how many outputs, and inputs, call.cuh has room for.
const arrays = 6

// callArgs and arrayArgs are Call and Array of device/call.cuh.
type callArgs struct {
	n          int64
	from, size [C.H5K_RANK]int64
	out, in    [arrays]arrayArgs
}

type arrayArgs struct {
	p             uint64
	kind, rank    int64
	shape, stride [C.H5K_RANK]int64
}

// launchSelf is the CUDA side of a kernel for which [onGPU] has no other: the entry of
// its name, for elements of the first input's type, or the first output's.
func (c *Call) launchSelf(name string, set any) error {
	first := &c.Out[0]
	if len(c.In) > 0 {
		first = &c.In[0]
	}
	settings, err := words(nil, reflect.ValueOf(set))
	if err != nil {
		return err
	}
	var args callArgs
	if err := args.describe(c); err != nil {
		return err
	}
	behind := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(settings))), 8*len(settings))
	return args.eachPart(func(part *callArgs) error {
		return launchBytes(c.gpu, entry(name, first.Type), part.n, slices.Concat(bytesOf(part), behind))
	})
}

// describe tells of c's operands, and of all of the first output.
func (a *callArgs) describe(c *Call) error {
	for i, list := range [2][]storage.Array{c.Out, c.In} {
		if len(list) > arrays {
			return fmt.Errorf("%d operands; GPUs are told of %d outputs and as many inputs: %w", len(list), arrays, storage.ErrDevice)
		}
		to := [2]*[arrays]arrayArgs{&a.out, &a.in}[i]
		for k := range list {
			x := &list[k]
			if x.Rank() > C.H5K_RANK {
				return fmt.Errorf("%v has more than %d axes; reshape it first: %w", x.Shape, C.H5K_RANK, storage.ErrDevice)
			}
			to[k] = arrayArgs{p: c.first(x), kind: int64(x.Type), rank: int64(x.Rank())}
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

// eachPart calls visit with windows that are small, which together are a's.
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

// words appends those that settings consist of, in their order, as an int64_t or a
// double is kept.
func words(to []uint64, set reflect.Value) (all []uint64, err error) {
	switch {
	case set.CanInt():
		return append(to, uint64(set.Int())), nil
	case set.CanUint():
		return append(to, set.Uint()), nil
	case set.CanFloat():
		return append(to, math.Float64bits(set.Float())), nil
	case set.Kind() == reflect.Bool:
		return append(to, map[bool]uint64{true: 1}[set.Bool()]), nil
	case set.Kind() == reflect.Struct:
		for i := 0; i < set.NumField() && err == nil; i++ {
			to, err = words(to, set.Field(i))
		}
		return to, err
	case set.Kind() == reflect.Array:
		for i := 0; i < set.Len() && err == nil; i++ {
			to, err = words(to, set.Index(i))
		}
		return to, err
	}
	return nil, fmt.Errorf("settings hold a %v; GPUs are told numbers: %w", set.Type(), storage.ErrDevice)
}
