package main

import (
	"fmt"
	"path/filepath"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/tensors"
)

// tensorRows are single operations: a new result each call, as each library makes it. Here that is the memory of a
// step, which the next step takes again; two rows have new memory of Go.
var tensorRows = append(pointwiseRows(), []row{
	{name: "add of 2^10, outside of a step", bar: 0.9, prepare: outside(1<<10, func(x, y *tensor.Tensor) { x.Add(y) })},
	{name: "add of 2^20, outside of a step", bar: 0.9, prepare: outside(1<<20, func(x, y *tensor.Tensor) { x.Add(y) })},
	{name: "add of 2^24 with out=", bar: 1.0, prepare: addInto(1 << 24)},
	{name: "sum over the last axis, (4096,1024)", bar: 0.9, prepare: matrix(func(x *tensor.Tensor) { x.Sum(1) })},
	{name: "sum over the first axis, (4096,1024)", bar: 0.9, prepare: matrix(func(x *tensor.Tensor) { x.Sum(0) })},
	{name: "mean over the last axis, (4096,1024)", bar: 0.9, prepare: matrix(func(x *tensor.Tensor) { x.Mean(1) })},
	{name: "mean over the first axis, (4096,1024)", bar: 0.9, prepare: matrix(func(x *tensor.Tensor) { x.Mean(0) })},
	{name: "var over the last axis, (4096,1024)", bar: 0.8, prepare: matrix(func(x *tensor.Tensor) { x.Var(1) })},
	{name: "layer norm, (4096,1024)", bar: 0.8, prepare: matrix(func(x *tensor.Tensor) { tensor.LayerNorm(x, []int{1024}, nil, nil, 0) })},
	{name: "softmax, (4096,1024)", bar: 0.8, prepare: matrix(func(x *tensor.Tensor) { x.Softmax(1) })},
	{name: "argmax over the last axis, (4096,1024)", bar: 0.4, prepare: matrix(func(x *tensor.Tensor) { x.ArgMax(1) })},
	{name: "max with index over the last axis, (4096,1024)", bar: 0.4, prepare: matrix(func(x *tensor.Tensor) { x.MaxWithIndex(1) })},
	{name: "cumsum over the last axis, (4096,1024)", bar: 0.9, prepare: matrix(func(x *tensor.Tensor) { x.CumSum(1) })},
	{name: "sort, stable, of 4096 rows of 1024", bar: 1.0, prepare: matrix(func(x *tensor.Tensor) { x.Sort(1, false) })},
	{name: "topk 10 of 4096 rows of 1024", bar: 1.0, prepare: matrix(func(x *tensor.Tensor) { x.TopK(10, 1, true) })},
	{name: "transposed and broadcast add, (4096,1024)", bar: 0.8, prepare: pair([]int{1024, 4096}, []int{1024}, func(x, y *tensor.Tensor) { x.T().Add(y) })},
	{name: "transposed copy, 4096x4096", bar: 0.5, prepare: pair([]int{4096, 4096}, []int{1}, func(x, _ *tensor.Tensor) { x.T().Contiguous() })},
	{name: "gather of 10^6 rows of 64", bar: 0.9, prepare: rowsAt(func(x, index *tensor.Tensor) { x.IndexSelect(0, index) })},
	{name: "scatter-add of 10^6 rows of 64", bar: 0.9, prepare: rowsAt(func(x, index *tensor.Tensor) { tensor.ZerosLike(x).IndexAdd(0, index, x) })},
	{name: "matmul 64", bar: 1.0, prepare: pair([]int{64, 64}, []int{64, 64}, multiply)},
	{name: "matmul 512", bar: 1.0, prepare: pair([]int{512, 512}, []int{512, 512}, multiply)},
	{name: "matmul 2048", bar: 1.0, prepare: pair([]int{2048, 2048}, []int{2048, 2048}, multiply)},
	{name: "batched matmul 64x(128x64x128)", bar: 1.0, prepare: pair([]int{64, 128, 64}, []int{64, 64, 128}, multiply)},
	{name: "einsum bhqd,bhkd->bhqk, (8,8,128,64)", bar: 1.0, prepare: pair([]int{8, 8, 128, 64}, []int{8, 8, 128, 64}, scores)},
	{name: "forward and backward of 20 elementwise operations, 2^16", bar: 0.5, prepare: chain},
	{name: "mean and std per channel of 12 GiB in a file; NumPy in blocks by h5py", bar: 0.5, most: 256 << 20, prepare: removing("float12g.h5", channelMoments("float12g.h5"))},
}...)

func pointwiseRows() (rows []row) {
	functions := []struct {
		name string
		f    func(x, y *tensor.Tensor)
	}{
		{"add", func(x, y *tensor.Tensor) { x.Add(y) }},
		{"mul", func(x, y *tensor.Tensor) { x.Mul(y) }},
		{"relu", func(x, _ *tensor.Tensor) { x.ReLU() }},
		{"exp", func(x, _ *tensor.Tensor) { x.Exp() }},
		{"tanh", func(x, _ *tensor.Tensor) { x.Tanh() }},
		{"sigmoid", func(x, _ *tensor.Tensor) { x.Sigmoid() }},
		{"gelu", func(x, _ *tensor.Tensor) { x.GELU() }},
	}
	for _, f := range functions {
		for _, e := range []int{10, 20, 24} {
			rows = append(rows, row{name: fmt.Sprintf("%s of 2^%d", f.name, e), bar: 0.9, prepare: pair([]int{1 << e}, []int{1 << e}, f.f)})
		}
	}
	return rows
}

// pair prepares f of two tensors, in a step of its own, where programs compute.
func pair(a, b []int, f func(x, y *tensor.Tensor)) func(folders) (task, error) {
	return func(folders) (task, error) {
		x, y := random(a...), random(b...)
		once := func() error {
			return tensor.Infer(func(t *tensor.Tape) error { f(t.Input(x), t.Input(y)); return nil })
		}
		return task{once: once, done: tensor.ReleaseMemory}, nil
	}
}

// outside prepares f of two vectors outside of a step: Go's garbage collector frees the result.
func outside(n int, f func(x, y *tensor.Tensor)) func(folders) (task, error) {
	return func(folders) (task, error) {
		x, y := tensor.FromArray(random(n)), tensor.FromArray(random(n))
		return task{once: func() error { return tensor.Try(func() { f(x, y) }) }}, nil
	}
}

// matrix prepares f of a matrix.
func matrix(f func(x *tensor.Tensor)) func(folders) (task, error) {
	return pair([]int{4096, 1024}, []int{1}, func(x, _ *tensor.Tensor) { f(x) })
}

// rowsAt prepares f of a matrix and of as many indices of its rows as it has.
func rowsAt(f func(x, index *tensor.Tensor)) func(folders) (task, error) {
	return func(folders) (task, error) {
		const n = 1_000_000
		x, index := tensor.FromArray(random(n, 64)), tensor.Key{Seed: 1}.RandInt(dtype.Int64, 0, n, n)
		return task{once: func() error { return tensor.Try(func() { f(x, index) }) }, done: tensor.ReleaseMemory}, nil
	}
}

func multiply(x, y *tensor.Tensor) { x.MatMul(y) }

func scores(q, k *tensor.Tensor) { tensor.Einsum("bhqd,bhkd->bhqk", q, k) }

// addInto prepares an addition into memory that is given.
func addInto(n int) func(folders) (task, error) {
	return func(in folders) (task, error) {
		out := tensor.Zeros(dtype.Float32, n)
		return outside(n, func(x, y *tensor.Tensor) {
			tensor.Into(out, x, func(x *tensor.Tensor) *tensor.Tensor { return x.Add(y) })
		})(in)
	}
}

// channelMoments prepares means and standard deviations of a dataset of images in a file.
func channelMoments(name string) func(folders) (task, error) {
	return func(in folders) (task, error) {
		x, err := tensors.Open(filepath.Join(in.made, name), "x")
		once := func() error { return tensor.Try(func() { x.StdMean(0, 2, 3) }) }
		return task{once: once, done: func() {}}, err
	}
}

// chain prepares a step of training that is twenty elementwise operations.
func chain(folders) (task, error) {
	leaf := tensor.Leaf(random(1 << 16))
	once := func() error {
		return tensor.Step(func(t *tensor.Tape) error {
			x := t.Input(leaf.Array()).RequireGrad()
			y := x
			for range 5 {
				y = y.MulScalar(0.5).Tanh().Exp().Add(x)
			}
			tensor.Gradients(y.Sum())
			return nil
		})
	}
	return task{once: once, done: tensor.ReleaseMemory}, nil
}
