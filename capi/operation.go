package main

// #include "exports.h"
import "C"

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/h5dnn/h5dnn/capi/dlpack"
	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/tensor/byname"
	"github.com/h5dnn/h5dnn/views"
)

//export h5dnn_operations
func h5dnn_operations(out **C.char) C.h5dnn_status {
	return call(func() error { return putJSON(out, byname.Operations()) })
}

//export h5dnn_threads
func h5dnn_threads(n C.int32_t) C.h5dnn_status {
	return call(func() error {
		if n < 1 {
			return fmt.Errorf("threads: %d; want 1 or more: %w", n, storage.ErrState)
		}
		native.SetThreads(int(n))
		return nil
	})
}

//export h5dnn_infer
func h5dnn_infer(name, settings *C.text, n C.int32_t, in C.operands, space C.int32_t, results *C.DLTensor, m *C.int32_t) C.h5dnn_status {
	return call(func() error {
		b := lent{op: C.GoString(name)}
		c, err := b.bind(settings, b.tensors("operand", n, in, meta))
		if err != nil {
			return err
		}
		specs, err := c.Infer()
		if err != nil {
			return err
		}
		if len(specs) > int(space) || results == nil {
			return fmt.Errorf("%s: %d results; there is space for %d: %w", b.op, len(specs), max(space, 0), storage.ErrState)
		}
		for i, s := range specs {
			if err := dlpack.SetShape(unsafe.Add(unsafe.Pointer(results), i*C.sizeof_DLTensor), s.Type, s.Shape); err != nil {
				return fmt.Errorf("%s: %w", b.op, err)
			}
		}
		return put(m, C.int32_t(len(specs)))
	})
}

//export h5dnn_call
func h5dnn_call(name, settings *C.text, n C.int32_t, in C.operands, m C.int32_t, out C.operands) C.h5dnn_status {
	return callOn(anyOnGPU(n, in), func() error {
		b := lent{op: C.GoString(name)}
		operands, results := b.tensors("operand", n, in, b.share), b.tensors("output", m, out, b.share)
		b.checkOutputs(results)
		c, err := b.bind(settings, operands)
		if err != nil {
			return err
		}
		for i, y := range results {
			if y == nil {
				return fmt.Errorf("%s: output %d is NULL: %w", b.op, i, storage.ErrState)
			}
		}
		if err := c.Into(results...); err != nil {
			return err
		}
		return b.sync()
	})
}

//export h5dnn_vjp
func h5dnn_vjp(name, settings *C.text, n C.int32_t, in C.operands, m C.int32_t, incoming C.operands, out C.operands) C.h5dnn_status {
	return callOn(anyOnGPU(n, in), func() error {
		b := lent{op: C.GoString(name)}
		operands, gradients, results := b.tensors("operand", n, in, b.share), b.tensors("incoming gradient", m, incoming, b.share), b.tensors("output", n, out, b.share)
		b.checkOutputs(results)
		c, err := b.bind(settings, operands)
		if err != nil {
			return err
		}
		if err := c.VJP(gradients, results); err != nil {
			return err
		}
		return b.sync()
	})
}

// lent is the memory that C lends for a call, and the first error of looking at it.
type lent struct {
	op      string
	storage []storage.Storage
	err     error
}

// tensors returns n tensors that C describes, nil where it gives NULL.
func (b *lent) tensors(what string, n C.int32_t, list C.operands, as func(*C.memory) (*tensor.Tensor, error)) []*tensor.Tensor {
	if n < 0 || n > 0 && list == nil {
		b.fail(fmt.Errorf("%d of %s at %p: %w", n, what, list, storage.ErrState))
		return nil
	}
	all := make([]*tensor.Tensor, n)
	for i, d := range unsafe.Slice(list, n) {
		if d == nil {
			continue
		}
		x, err := as(d)
		if err != nil {
			b.fail(fmt.Errorf("%s %d: %w", what, i, err))
		}
		all[i] = x
	}
	return all
}

func (b *lent) fail(err error) {
	if b.err == nil {
		b.err = fmt.Errorf("%s: %w", b.op, err)
	}
}

// bind returns the call of the operation, unless something failed before.
func (b *lent) bind(settings *C.text, operands []*tensor.Tensor) (*byname.Call, error) {
	if b.err != nil {
		return nil, b.err
	}
	return byname.Bind(b.op, []byte(C.GoString(settings)), operands...)
}

// meta returns a tensor of the type and the shape of d, whose memory is not looked at.
func meta(d *C.memory) (*tensor.Tensor, error) {
	t, shape, err := dlpack.ShapeOf(unsafe.Pointer(d))
	if err != nil {
		return nil, err
	}
	var x *tensor.Tensor
	err = tensor.Try(func() { x = tensor.NewMeta(t, shape...) })
	return x, err
}

// share returns a tensor that shares the memory of d, which it uses as one storage if it has seen it before.
func (b *lent) share(d *C.memory) (*tensor.Tensor, error) {
	a, err := dlpack.Borrow(unsafe.Pointer(d))
	if err != nil {
		return nil, err
	}
	known := slices.IndexFunc(b.storage, func(s storage.Storage) bool { return sameMemory(s, a.Data) })
	if known >= 0 {
		a.Data = b.storage[known]
	} else {
		b.storage = append(b.storage, a.Data)
	}
	return tensor.FromArray(a), nil
}

func sameMemory(s, t storage.Storage) bool {
	x, ok1 := s.(storage.Host)
	y, ok2 := t.(storage.Host)
	return ok1 && ok2 && x.Len() == y.Len() && unsafe.SliceData(x.Bytes()) == unsafe.SliceData(y.Bytes())
}

// checkOutputs fails for outputs with elements that share memory.
func (b *lent) checkOutputs(out []*tensor.Tensor) {
	for i, y := range out {
		if y != nil && y.Array().View.MayOverlapItself() {
			b.fail(fmt.Errorf("output %d may have elements that share memory: shape %v, strides %v: %w", i, y.Shape(), y.Strides(), views.ErrShape))
		}
	}
}

// sync waits for the devices of the memory.
func (b *lent) sync() error {
	for _, s := range b.storage {
		if err := s.Device().Sync(); err != nil {
			return err
		}
	}
	return nil
}

func anyOnGPU(n C.int32_t, list C.operands) bool {
	if n <= 0 || list == nil {
		return false
	}
	for _, d := range unsafe.Slice(list, n) {
		if onGPU(d) {
			return true
		}
	}
	return false
}
