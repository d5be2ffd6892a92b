package main

import (
	"strings"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// A row is one piece of work. prepare returns what does it once, and what to
// call in the end; the peer knows the row by its name.
type row struct {
	name    string
	bar     float64 // what h5dnn's time over the peer's should not exceed
	prepare func(data string) (once func() error, done func(), err error)
}

var rows = []row{
	{"training step, MLP 784-128-10, batch 64, SGD", 0.5, step(mlp, 64, 784)},
	{"training step, MLP 784-1024-1024-10, batch 256", 0.9, step(wideMLP, 256, 784)},
	{"training step, CNN 32-64-128-10, 1x28x28, batch 64", 0.7, step(cnn, 64, 1, 28, 28)},
	{"inference, CNN 32-64-128-10, batch 1", 0.5, infer(cnn, 1, 1, 28, 28)},
	{"inference, CNN 32-64-128-10, batch 1024", 0.4, infer(cnn, 1024, 1, 28, 28)},
	{"epoch of MNIST, LeNet, batch 128", 0.9, epoch},
	{"matmul 64, float32", 1.05, binary((*tensor.Tensor).MatMul, 64, 64)},
	{"matmul 512, float32", 1.05, binary((*tensor.Tensor).MatMul, 512, 512)},
	{"matmul 2048, float32", 1.05, binary((*tensor.Tensor).MatMul, 2048, 2048)},
	{"add (4096,1024), float32", 1.05, binary((*tensor.Tensor).Add, 4096, 1024)},
	{"exp (4096,1024), float32", 1.05, unary((*tensor.Tensor).Exp, 4096, 1024)},
	{"softmax (4096,1024), float32", 1.05, unary(func(x *tensor.Tensor) *tensor.Tensor { return x.Softmax(-1) }, 4096, 1024)},
}

// selected returns the rows whose name contains part.
func selected(part string) (some []row) {
	for _, r := range rows {
		if strings.Contains(r.name, part) {
			some = append(some, r)
		}
	}
	return some
}

// random returns an array of normal numbers.
func random(shape ...int) storage.Array {
	a, err := storage.Make(storage.CPU, dtype.Float32, shape...)
	if err != nil {
		panic(err)
	}
	tensor.FillNormal(a, 0, 1, tensor.Key{Seed: 1, Stream: uint64(len(shape))})
	return a
}

func binary(f func(x, y *tensor.Tensor) *tensor.Tensor, shape ...int) func(string) (func() error, func(), error) {
	return func(string) (func() error, func(), error) {
		x, y := random(shape...), random(shape...)
		once := func() error { return tensor.Infer(func(t *tensor.Tape) { f(t.Watch(x), t.Watch(y)) }) }
		return once, tensor.ReleaseMemory, nil
	}
}

func unary(f func(x *tensor.Tensor) *tensor.Tensor, shape ...int) func(string) (func() error, func(), error) {
	return binary(func(x, _ *tensor.Tensor) *tensor.Tensor { return f(x) }, shape...)
}
