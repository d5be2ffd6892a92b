package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/h5dnn/h5dnn/dataset/dataconfig"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/train"
)

func mlp() nn.Sequential {
	return nn.Sequential{nn.NewLinear(nn.LinearOptions{InFeatures: 784, OutFeatures: 128}), nn.ReLU{}, nn.NewLinear(nn.LinearOptions{InFeatures: 128, OutFeatures: 10})}
}

func wideMLP() nn.Sequential {
	return nn.Sequential{nn.NewLinear(nn.LinearOptions{InFeatures: 784, OutFeatures: 1024}), nn.ReLU{}, nn.NewLinear(nn.LinearOptions{InFeatures: 1024, OutFeatures: 1024}), nn.ReLU{}, nn.NewLinear(nn.LinearOptions{InFeatures: 1024, OutFeatures: 10})}
}

// geluMLP is the part of a transformer block that is a product, GELU and a product.
func geluMLP() nn.Sequential {
	return nn.Sequential{nn.NewLinear(nn.LinearOptions{InFeatures: 768, OutFeatures: 3072}), nn.GELU{}, nn.NewLinear(nn.LinearOptions{InFeatures: 3072, OutFeatures: 768})}
}

// siluCNN is the network of cifar with SiLU and without batch norms.
func siluCNN() nn.Sequential {
	same := func(in, out int) *nn.Conv2d {
		return nn.NewConv2d(nn.ConvOptions{InChannels: in, OutChannels: out, KernelSize: nn.Sizes{3}, Padding: nn.Sizes{1}})
	}
	pool := nn.NewMaxPool2d(nn.PoolOptions{KernelSize: nn.Sizes{2}})
	return nn.Sequential{
		same(3, 64), nn.SiLU{}, same(64, 64), nn.SiLU{}, pool, same(64, 128), nn.SiLU{}, same(128, 128), nn.SiLU{}, pool,
		nn.Flatten{}, nn.NewLinear(nn.LinearOptions{InFeatures: 128 * 8 * 8, OutFeatures: 10}),
	}
}

func cnn() nn.Sequential {
	same := func(in, out int) *nn.Conv2d {
		return nn.NewConv2d(nn.ConvOptions{InChannels: in, OutChannels: out, KernelSize: nn.Sizes{3}, Padding: nn.Sizes{1}})
	}
	return nn.Sequential{
		same(1, 32), nn.ReLU{}, nn.NewMaxPool2d(nn.PoolOptions{KernelSize: nn.Sizes{2}}),
		same(32, 64), nn.ReLU{}, nn.NewMaxPool2d(nn.PoolOptions{KernelSize: nn.Sizes{2}}),
		nn.Flatten{}, nn.NewLinear(nn.LinearOptions{InFeatures: 64 * 49, OutFeatures: 128}), nn.ReLU{}, nn.NewLinear(nn.LinearOptions{InFeatures: 128, OutFeatures: 10}),
	}
}

func batchNorm(features int) *nn.BatchNorm2d {
	return nn.NewBatchNorm2d(nn.BatchNormOptions{NumFeatures: features})
}

// cifar is a network for CIFAR-10 of four 3x3 convolutions, each with a batch norm.
func cifar() nn.Sequential {
	same := func(in, out int) *nn.Conv2d {
		return nn.NewConv2d(nn.ConvOptions{InChannels: in, OutChannels: out, KernelSize: nn.Sizes{3}, Padding: nn.Sizes{1}})
	}
	pool := nn.NewMaxPool2d(nn.PoolOptions{KernelSize: nn.Sizes{2}})
	return nn.Sequential{
		same(3, 64), batchNorm(64), nn.ReLU{}, same(64, 64), batchNorm(64), nn.ReLU{}, pool,
		same(64, 128), batchNorm(128), nn.ReLU{}, same(128, 128), batchNorm(128), nn.ReLU{}, pool,
		nn.Flatten{}, nn.NewLinear(nn.LinearOptions{InFeatures: 128 * 8 * 8, OutFeatures: 10}),
	}
}

// cnn1d is a network for 1000 samples of 6 sensors, such as two accelerometers of three axes.
func cnn1d() nn.Sequential {
	model := nn.Sequential{}
	in := 6
	for i, out := range []int{32, 64, 128, 128} {
		kernel := 5
		if i == 0 {
			kernel = 7
		}
		model = append(model,
			nn.NewConv1d(nn.ConvOptions{InChannels: in, OutChannels: out, KernelSize: nn.Sizes{kernel}, Padding: nn.Sizes{kernel / 2}}),
			nn.NewBatchNorm1d(nn.BatchNormOptions{NumFeatures: out}), nn.ReLU{}, nn.NewMaxPool1d(nn.PoolOptions{KernelSize: nn.Sizes{2}}))
		in = out
	}
	return append(model, nn.Flatten{},
		nn.NewLinear(nn.LinearOptions{InFeatures: 128 * 62, OutFeatures: 64}), nn.ReLU{}, nn.NewLinear(nn.LinearOptions{InFeatures: 64, OutFeatures: 10}))
}

// preset returns a model by name, built for one sample.
func preset(name string, classes int, sample ...int) nn.Module {
	model, err := nn.Preset(name, classes)
	if err == nil {
		_, err = nn.Build(model, sample)
	}
	if err != nil {
		panic(err)
	}
	return model
}

// resnet18 is ResNet-18 for small images.
func resnet18() nn.Module { return preset("resnet18_small", 10, 3, 32, 32) }

func resnet50() nn.Module { return preset("resnet50", 1000, 3, 224, 224) }

func resnet18Large() nn.Module { return preset("resnet18", 1000, 3, 224, 224) }

func mobileNetV2() nn.Module { return preset("mobilenet_v2", 1000, 3, 224, 224) }

func unet() nn.Module { return preset("unet", 2, 1, 64, 64) }

// step is a training step as a user writes it: forward, loss, gradients, SGD.
func step[M nn.Module](make func() M, shape ...int) func(folders) (task, error) {
	return labelledStep(make, storage.From(classes(shape[0], 10), shape[0]), shape...)
}

// pixelStep is step of images whose pixels have labels of two classes.
func pixelStep[M nn.Module](make func() M, shape ...int) func(folders) (task, error) {
	n, h, w := shape[0], shape[2], shape[3]
	return labelledStep(make, storage.From(classes(n*h*w, 2), n, h, w), shape...)
}

func labelledStep[M nn.Module](make func() M, labels storage.Array, shape ...int) func(folders) (task, error) {
	return func(folders) (task, error) {
		return stepOf(make(), random(shape...), labels, noChange), nil
	}
}

// stepBF16 is step with products of numbers of bfloat16.
func stepBF16[M nn.Module](make func() M, shape ...int) func(folders) (task, error) {
	return func(folders) (task, error) {
		return stepOf(make(), random(shape...), storage.From(classes(shape[0], 10), shape[0]), (*tensor.Tape).RoundProducts), nil
	}
}

func noChange(*tensor.Tape) {}

// stepOf is a training step of a model on x, whose mode begin sets.
func stepOf(model nn.Module, x, labels storage.Array, begin func(*tensor.Tape)) task {
	opt, lossOf := nn.NewSGD(nn.SGDOptions{LearningRate: 0.01}), nn.NewCrossEntropyLoss(nn.CrossEntropyLossOptions{})
	once := func() error {
		var failed error
		err := tensor.Step(func(t *tensor.Tape) error {
			begin(t)
			loss := lossOf.Forward(model.Forward(t.Input(x)), t.Input(labels), nil).Value()
			failed = opt.Step(nn.Parameters(model), tensor.Gradients(loss))
			return nil
		})
		return errors.Join(err, failed)
	}
	return task{once: once, done: tensor.ReleaseMemory}
}

// classes returns n labels of count classes.
func classes(n, count int) []int64 {
	labels := make([]int64, n)
	for i := range labels {
		labels[i] = int64(i % count)
	}
	return labels
}

// infer is what a model makes of a batch, in blocks that stay in cache.
func infer[M nn.Module](make func() M, shape ...int) func(folders) (task, error) {
	return func(folders) (task, error) {
		x := random(shape...)
		p, err := train.NewPredictor(make(), storage.CPU, train.Feature{Shape: shape[1:]})
		if err != nil {
			return task{}, err
		}
		out, err := p.NewOutput(shape[0])
		return task{once: func() error { return p.PredictInto(out, x) }, done: tensor.ReleaseMemory}, err
	}
}

// inferNarrow is infer with weights of type t. What they change in the outputs for some samples is printed.
func inferNarrow[M nn.Module](t dtype.Type, make func() M, shape ...int) func(folders) (task, error) {
	return func(folders) (task, error) {
		model, feature := make(), train.Feature{Shape: shape[1:]}
		float, err := train.NewPredictor(model, storage.CPU, feature)
		if err != nil {
			return task{}, err
		}
		p, err := train.NewPredictor(model, storage.CPU, feature)
		if err == nil {
			_, err = p.Narrow(t)
		}
		if err != nil {
			return task{}, err
		}
		const samples = 16
		several := random(append([]int{samples}, shape[1:]...)...)
		want, err := float.Predict(several)
		if err != nil {
			return task{}, err
		}
		got, err := p.Predict(several)
		if err != nil {
			return task{}, err
		}
		difference := tensor.FromArray(got).Sub(tensor.FromArray(want)).Abs().Max().Item() / tensor.FromArray(want).Abs().Max().Item()
		same := tensor.FromArray(got).ArgMax(1).Eq(tensor.FromArray(want).ArgMax(1)).Cast(tensor.Float32).Sum().Item()
		fmt.Fprintf(os.Stderr, "bench: %v: outputs for %d samples differ by at most %.2g %% of the largest, and the largest is the same in %v\n", t, samples, 100*difference, same)
		x := random(shape...)
		out, err := p.NewOutput(shape[0])
		return task{once: func() error { return p.PredictInto(out, x) }, done: tensor.ReleaseMemory}, err
	}
}

// epoch is one epoch of the lenet preset on MNIST as `h5dnn train` runs it, read
// and shuffled out of the compressed file.
func epoch(in folders) (task, error) {
	f, err := hdf5.Open(filepath.Join(in.data, "mnist.h5"))
	if err != nil {
		return task{}, err
	}
	r, samples, err := lenet(f)
	once := func() error {
		r.Config.Epochs++
		return r.Fit(context.Background(), samples, train.Options{})
	}
	return task{once: once, done: func() { f.Close() }}, err
}

// lenet returns a run, not yet begun, on the images of f.
func lenet(f *hdf5.File) (*train.Run, *train.Data, error) {
	c := train.Defaults()
	c.Data.File, c.Data.X, c.Data.Y = dataconfig.Names{f.Name()}, dataconfig.Path("train/images"), dataconfig.Path("train/labels")
	c.Data.Normalize = dataconfig.Normalize{Scale: []float64{1.0 / 255}, Shift: []float64{0}}
	c.Model, c.BatchSize, c.Epochs = "lenet", 128, 1
	c.Optimizer = map[string]any{"sgd": map[string]any{"lr": 0.05, "momentum": 0.9}}
	x, err := array(f, c.Data.X[0].Path)
	if err != nil {
		return nil, nil, err
	}
	y, err := array(f, c.Data.Y[0].Path)
	if err != nil {
		return nil, nil, err
	}
	samples, err := train.NewData(c, train.Arrays{X: x, Y: y})
	if err != nil {
		return nil, nil, err
	}
	r, err := train.New(context.Background(), c, samples, storage.CPU)
	if err == nil {
		r.Config.Epochs = 0
	}
	return r, samples, err
}

func array(f *hdf5.File, path string) (storage.Array, error) {
	d, err := f.Dataset(path)
	if err != nil {
		return storage.Array{}, err
	}
	return d.Array()
}

// recurrent returns an LSTM or a GRU of two layers of 256, and a product of its last output.
func recurrent(make func(nn.RecurrentOptions) nn.Module, bidirectional bool) func() nn.Sequential {
	return func() nn.Sequential {
		outputs := 256
		if bidirectional {
			outputs = 512
		}
		layer := make(nn.RecurrentOptions{HiddenSize: 256, InputSize: 256, NumLayers: 2, Bidirectional: bidirectional})
		return nn.Sequential{layer, nn.NewLinear(nn.LinearOptions{InFeatures: outputs, OutFeatures: 10})}
	}
}

func lstm(o nn.RecurrentOptions) nn.Module { return nn.NewLSTM(nn.LSTMOptions{RecurrentOptions: o}) }
func gru(o nn.RecurrentOptions) nn.Module  { return nn.NewGRU(nn.GRUOptions{RecurrentOptions: o}) }
