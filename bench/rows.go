package main

import (
	"strings"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// A row is one piece of work. The peer knows it by its name; other things to
// stand beside it are a task of this program's, or a time.
type row struct {
	name    string
	bar     float64 // what h5dnn's time over the peer's should not exceed
	prepare func(in folders) (task, error)
	beside  func(in folders) (task, error) // instead of the peer
	limit   float64                        // likewise: seconds
	most    int                            // bytes that may be resident; 0 if they are not measured, or anyMemory
}

// anyMemory is a row's bar for memory that is measured, but may be any.
const anyMemory = -1

// besideBase returns the suite for measuring beside another commit of this program.
func (s suite) besideBase() suite {
	all := s.rows
	s.rows = nil
	for _, r := range all {
		r.bar, r.beside, r.limit, r.most = 1.05, nil, 0, 0
		s.rows = append(s.rows, r)
	}
	return s
}

var rows = []row{
	{name: "training step, MLP 784-128-10, batch 64, SGD", bar: 0.4, prepare: step(mlp, 64, 784)},
	{name: "training step, MLP 784-1024-1024-10, batch 256", bar: 0.75, prepare: step(wideMLP, 256, 784)},
	{name: "training step, MLP 768-3072-768 with GELU, 2048 rows", bar: 1.0, prepare: step(geluMLP, 2048, 768)},
	{name: "training step, CNN of 4 convolutions with SiLU, 3x32x32, batch 64", bar: 0.6, prepare: step(siluCNN, 64, 3, 32, 32)},
	{name: "training step, CNN 32-64-128-10, 1x28x28, batch 64", bar: 0.4, prepare: step(cnn, 64, 1, 28, 28)},
	{name: "training step, CIFAR-10 CNN of 4 convolutions and batch norms, batch 128", bar: 0.4, prepare: step(cifar, 128, 3, 32, 32), most: anyMemory},
	{name: "training step, ResNet-18 on 3x32x32, batch 32", bar: 0.5, prepare: step(resnet18, 32, 3, 32, 32)},
	{name: "training step, U-Net on 1x64x64, batch 8", bar: 0.6, prepare: pixelStep(unet, 8, 1, 64, 64)},
	{name: "training step, CNN of 4 Conv1d and batch norms on 6x1000, batch 64", bar: 0.6, prepare: step(cnn1d, 64, 6, 1000)},
	{name: "training step, LSTM of 2 layers of 256, 64 steps, batch 32", bar: 0.8, prepare: step(recurrent(lstm, false), 32, 64, 256)},
	{name: "training step, GRU of 2 layers of 256, 64 steps, batch 32", bar: 0.8, prepare: step(recurrent(gru, false), 32, 64, 256)},
	{name: "training step, bidirectional LSTM of 2 layers of 256, 64 steps, batch 32", bar: 0.8, prepare: step(recurrent(lstm, true), 32, 64, 256)},
	{name: "training step, transformer encoder of 4 layers, width 256, 128 steps, batch 16", bar: 0.65, prepare: step(encoder, 16, 128, 256)},
	{name: "training step, GPT of 4 layers, width 256, 256 tokens, batch 8", bar: 0.65, prepare: gptStep},
	{name: "training step in bfloat16, MLP 784-1024-1024-10, batch 256", bar: 1.05, prepare: stepBF16(wideMLP, 256, 784)},
	{name: "training step in bfloat16, transformer encoder of 4 layers, width 256, 128 steps, batch 16", bar: 1.05, prepare: stepBF16(encoder, 16, 128, 256)},
	{name: "training step in bfloat16, GPT of 4 layers, width 256, 256 tokens, batch 8", bar: 1.05, prepare: gptStepBF16},
	{name: "128 tokens of GPT of 4 layers, width 256, after 32", bar: 0.8, prepare: generation},
	{name: "epoch of MNIST, LeNet, batch 128", bar: 0.9, prepare: epoch},
	{name: "augment 512 images 3x32x32: crop, flip, colors, affine", bar: 0.33, prepare: augmented(512, 32)},
	{name: "augment 32 images 3x224x224: crop, flip, colors, affine", bar: 0.33, prepare: augmented(32, 224)},
	{name: "matmul 64, float32", bar: 1.05, prepare: binary((*tensor.Tensor).MatMul, 64, 64)},
	{name: "matmul 512, float32", bar: 1.05, prepare: binary((*tensor.Tensor).MatMul, 512, 512)},
	{name: "matmul 2048, float32", bar: 1.05, prepare: binary((*tensor.Tensor).MatMul, 2048, 2048)},
	{name: "add (4096,1024), float32", bar: 1.05, prepare: binary((*tensor.Tensor).Add, 4096, 1024)},
	{name: "exp (4096,1024), float32", bar: 1.05, prepare: unary((*tensor.Tensor).Exp, 4096, 1024)},
	{name: "softmax (4096,1024), float32", bar: 1.05, prepare: unary(func(x *tensor.Tensor) *tensor.Tensor { return x.Softmax(-1) }, 4096, 1024)},
}

// selected returns the rows whose name contains part.
func (s suite) selected(part string) (some []row) {
	for _, r := range s.rows {
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

func binary(f func(x, y *tensor.Tensor) *tensor.Tensor, shape ...int) func(folders) (task, error) {
	return func(folders) (task, error) {
		x, y := random(shape...), random(shape...)
		once := func() error {
			return tensor.Infer(func(t *tensor.Tape) error { f(t.Input(x), t.Input(y)); return nil })
		}
		return task{once: once, done: tensor.ReleaseMemory}, nil
	}
}

func unary(f func(x *tensor.Tensor) *tensor.Tensor, shape ...int) func(folders) (task, error) {
	return binary(func(x, _ *tensor.Tensor) *tensor.Tensor { return f(x) }, shape...)
}
