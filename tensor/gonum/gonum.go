// Package gonum gives gonum's matrices and vectors the methods of tensors, and tensors the methods of gonum's, without
// a copy: both see the same memory.
package gonum

import (
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// FromDense returns the matrix m as a constant of float64 that shares its memory.
func FromDense(m *mat.Dense) *tensor.Tensor {
	raw := m.RawMatrix()
	v := views.View{Shape: []int{raw.Rows, raw.Cols}, Stride: []int{raw.Stride, 1}}
	return tensor.FromArray(storage.From(raw.Data, len(raw.Data)).With(v))
}

// FromVecDense returns the vector v as a constant of float64, of one axis, that shares its memory.
func FromVecDense(v *mat.VecDense) *tensor.Tensor {
	raw := v.RawVector()
	return tensor.FromArray(storage.From(raw.Data, len(raw.Data)).With(views.View{Shape: []int{raw.N}, Stride: []int{raw.Inc}}))
}

// Dense returns x, a matrix of float64 in host memory whose rows have adjacent elements, as a matrix that shares its
// memory. What is written to it reaches x, unseen by gradients. It fails for others by panics with *tensor.Error, as
// methods of tensors do.
func Dense(x *tensor.Tensor) *mat.Dense {
	a := elements("dense", x, 2)
	rows, cols, stride := a.Shape[0], a.Shape[1], a.Stride[0]
	if rows == 1 {
		stride = cols
	}
	if a.Stride[1] != 1 && cols > 1 || stride < cols {
		tensor.Fail("dense", tensor.ErrShape, "%v with strides %v; make it Contiguous first", a.Shape, a.Stride)
	}
	m := new(mat.Dense)
	m.SetRawMatrix(blas64.General{Rows: rows, Cols: cols, Stride: stride, Data: from(a)[:(rows-1)*stride+cols]})
	return m
}

// VecDense returns x, of one axis of float64 in host memory, as a vector that shares its memory, as [Dense] does.
func VecDense(x *tensor.Tensor) *mat.VecDense {
	a := elements("vec dense", x, 1)
	inc := a.Stride[0]
	if a.Shape[0] == 1 {
		inc = 1
	}
	if inc < 1 {
		tensor.Fail("vec dense", tensor.ErrShape, "%v with strides %v; make it Contiguous first", a.Shape, a.Stride)
	}
	v := new(mat.VecDense)
	v.SetRawVector(blas64.Vector{N: a.Shape[0], Inc: inc, Data: from(a)[:(a.Shape[0]-1)*inc+1]})
	return v
}

// elements returns the array of x, which gonum can see.
func elements(act string, x *tensor.Tensor, rank int) storage.Array {
	switch {
	case x.Rank() != rank || x.Len() == 0:
		tensor.Fail(act, tensor.ErrShape, "of %v; want %d axes, and elements, which matrices of gonum have", x.Shape(), rank)
	case x.DType() != dtype.Float64:
		tensor.Fail(act, tensor.ErrType, "of %v; Cast it to float64 first", x.DType())
	case x.Device() != storage.CPU || x.IsLazy():
		tensor.Fail(act, tensor.ErrDevice, "of a tensor on %v; move it by CPU first", x.Device())
	}
	return x.Array()
}

// from returns the memory of a from its first element on.
func from(a storage.Array) []float64 { return storage.Elements[float64](a)[a.Offset:] }
