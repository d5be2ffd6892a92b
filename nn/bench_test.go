package nn_test

import (
	"fmt"
	"testing"

	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
)

// BenchmarkStep is a training step of the models that bench/ compares with PyTorch.
func BenchmarkStep(b *testing.B) {
	mlp := func(sizes ...int) nn.Sequential {
		s := nn.Sequential{nn.NewLinear(nn.LinearOptions{InFeatures: sizes[0], OutFeatures: sizes[1]})}
		for i := 2; i < len(sizes); i++ {
			s = append(s, nn.ReLU{}, nn.NewLinear(nn.LinearOptions{InFeatures: sizes[i-1], OutFeatures: sizes[i]}))
		}
		return s
	}
	cnn, _ := nn.Preset("cnn", 10)
	lenet, _ := nn.Preset("lenet", 10)
	for _, c := range []struct {
		name  string
		model nn.Module
		x     []int
	}{
		{"mlp 784-128-10", mlp(784, 128, 10), []int{64, 784}},
		{"mlp 784-128-10", mlp(784, 128, 10), []int{512, 784}},
		{"mlp 784-1024-1024-10", mlp(784, 1024, 1024, 10), []int{256, 784}},
		{"cnn", cnn, []int{64, 1, 28, 28}},
		{"lenet", lenet, []int{64, 1, 28, 28}},
	} {
		b.Run(fmt.Sprintf("%s batch %d", c.name, c.x[0]), func(b *testing.B) {
			x, y := filled(0.5, c.x...), storage.From(make([]int64, c.x[0]), c.x[0])
			o := nn.NewSGD(nn.SGDOptions{LearningRate: 0.01})
			step(b, c.model, o, x, y)
			b.ReportAllocs()
			for b.Loop() {
				step(b, c.model, o, x, y)
			}
		})
	}
}
