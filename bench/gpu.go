package main

import (
	"context"

	"github.com/h5dnn/h5dnn/config"
	"github.com/h5dnn/h5dnn/cuda"
	"github.com/h5dnn/h5dnn/dataset/dataconfig"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/train"
	"github.com/h5dnn/h5dnn/views"
)

// gpuSizes are the sizes of the rows on GPUs. Those that an interpreter can do as well show that
// rows work, not how fast.
type gpuSizes struct{ product, loop, row int }

func (in folders) sizes() gpuSizes {
	if in.small {
		return gpuSizes{product: 32, loop: 1 << 12, row: 1 << 10}
	}
	return gpuSizes{product: 4096, loop: 1 << 28, row: 1 << 20}
}

// exampleCNN is the model of PyTorch's examples/mnist, a part of it for an interpreter.
func exampleCNN(part int) []any {
	conv := func(out int) any {
		return map[string]any{"conv2d": map[string]any{"out_channels": out / part, "kernel_size": 3}}
	}
	return []any{
		conv(32), "relu", conv(64), "relu", map[string]any{"maxpool2d": 2}, map[string]any{"dropout": 0.25}, "flatten",
		map[string]any{"dense": 128 / part}, "relu", map[string]any{"dropout": 0.5}, map[string]any{"dense": 10},
	}
}

// gpuEpochs goes through epochs of one training, from one OnEpoch to the next.
func gpuEpochs(resident config.Choice) func(folders) (task, error) {
	return func(in folders) (task, error) {
		f, err := hdf5.Open(gzipped(in))
		if err != nil {
			return task{}, err
		}
		r, data, err := exampleRun(f, in, resident)
		if err != nil {
			f.Close()
			return task{}, err
		}
		ctx, cancel := context.WithCancel(context.Background())
		turns, over := make(chan struct{}), make(chan error)
		go func() {
			defer close(over)
			select {
			case <-turns:
			case <-ctx.Done():
				return
			}
			over <- r.Fit(ctx, data, train.Options{Callbacks: []train.Callback{train.CallbackFuncs{OnEpochEnd: func(train.Epoch) error {
				over <- nil
				select {
				case <-turns:
				case <-ctx.Done():
				}
				return ctx.Err()
			}}}})
		}()
		once := func() error {
			turns <- struct{}{}
			return <-over
		}
		return task{once: once, done: func() {
			cancel()
			for range over {
			}
			f.Close()
		}}, nil
	}
}

func exampleRun(f *hdf5.File, in folders, resident config.Choice) (*train.Run, *train.Data, error) {
	c := train.Defaults()
	c.Data.File, c.Data.X, c.Data.Y = dataconfig.Names{f.Name()}, dataconfig.Path("train/images"), dataconfig.Path("train/labels")
	c.Data.Normalize = dataconfig.Normalize{Scale: []float64{1.0 / 255}, Shift: []float64{0}}
	c.Model, c.BatchSize, c.Epochs, c.Schedule = exampleCNN(1), 64, 1<<30, "constant"
	c.Optimizer = map[string]any{"sgd": map[string]any{"lr": 0.01}}
	c.Data.Resident, c.Precision = resident, "tf32" // as the peer
	x, err := array(f, c.Data.X[0].Path)
	if err != nil {
		return nil, nil, err
	}
	y, err := array(f, c.Data.Y[0].Path)
	if err != nil {
		return nil, nil, err
	}
	if in.small {
		x.View, _ = x.View.Slice(0, 0, 4, 1)
		y.View, _ = y.View.Slice(0, 0, 4, 1)
		c.Model, c.BatchSize = exampleCNN(32), 2
	}
	data, err := train.NewData(c, train.Arrays{X: x, Y: y})
	if err != nil {
		return nil, nil, err
	}
	var d storage.Device = storage.CPU
	if in.device != "cpu" {
		if d, err = cuda.Open(in.device); err != nil {
			return nil, nil, err
		}
	} else {
		c.Data.Resident, c.Precision = "", ""
	}
	r, err := train.New(context.Background(), c, data, d)
	return r, data, err
}

// openGPU returns the GPU, which may compute float32 as TF32, as the peer may.
func openGPU(in folders) (*cuda.Device, error) {
	d, err := cuda.Open(in.device)
	if err == nil {
		d.AllowTF32(true)
	}
	return d, err
}

// drawnOn returns numbers from 0 to 1 on d.
func drawnOn(d *cuda.Device, t dtype.Type, shape ...int) (storage.Array, error) {
	x, err := storage.Make(d, dtype.Float32, shape...)
	if err != nil {
		return x, err
	}
	if err := d.Run(kernels.Uniform, &kernels.Call{Options: kernels.RandomOptions{Seed: 1, B: 1}, Out: []storage.Array{x}}); err != nil || t == dtype.Float32 {
		return x, err
	}
	y, err := storage.Make(d, t, shape...)
	if err != nil {
		return y, err
	}
	return y, d.Run(kernels.Cast, &kernels.Call{Out: []storage.Array{y}, In: []storage.Array{x}})
}

// tenTimes does work ten times, and waits for the last.
func tenTimes(d *cuda.Device, work func() error) func() error {
	return func() error {
		for range 10 {
			if err := work(); err != nil {
				return err
			}
		}
		return d.Sync()
	}
}

// Who computes products: NVIDIA's libraries, where they are found, or own kernels.
const (
	byLibraries = true
	byKernels   = false
)

func gpuProducts(name string, by bool) func(folders) (task, error) {
	return func(in folders) (task, error) {
		d, err := openGPU(in)
		if err != nil {
			return task{}, err
		}
		t, err := dtype.Parse(name)
		if err != nil {
			return task{}, err
		}
		n := in.sizes().product
		x, err := drawnOn(d, t, n, n)
		once := tenTimes(d, func() error {
			d.UseLibraries(by)
			defer d.UseLibraries(byLibraries)
			return tensor.Infer(func(t *tensor.Tape) error { t.Input(x).MatMul(t.Input(x)); return nil })
		})
		return task{once: once, done: tensor.ReleaseMemory}, err
	}
}

// gpuConvs is the second convolution of the example, and its gradients.
func gpuConvs(by bool) func(folders) (task, error) {
	return func(in folders) (task, error) {
		d, err := openGPU(in)
		if err != nil {
			return task{}, err
		}
		n, o := 64, 64
		if in.small {
			n, o = 1, 4
		}
		x, err := drawnImages(d, n, 32, 26, 26)
		if err != nil {
			return task{}, err
		}
		y, err := drawnImages(d, n, o, 24, 24)
		if err != nil {
			return task{}, err
		}
		w, err := drawnOn(d, dtype.Float32, o, 32, 3, 3)
		if err != nil {
			return task{}, err
		}
		dx, dw, dy := x, w, y
		for _, a := range []*storage.Array{&dx, &dw, &dy} {
			if a.Data, err = d.Alloc(a.Data.Len()); err != nil {
				return task{}, err
			}
		}
		step := []struct {
			k *kernels.Kernel
			c *kernels.Call
		}{
			{kernels.Conv, &kernels.Call{Out: []storage.Array{dy}, In: []storage.Array{x, w}}},
			{kernels.ConvGradX, &kernels.Call{Out: []storage.Array{dx}, In: []storage.Array{y, w}}},
			{kernels.ConvGradW, &kernels.Call{Out: []storage.Array{dw}, In: []storage.Array{x, y}}},
		}
		once := tenTimes(d, func() error {
			d.UseLibraries(by)
			defer d.UseLibraries(byLibraries)
			for _, s := range step {
				if err := d.Run(s.k, s.c); err != nil {
					return err
				}
			}
			return nil
		})
		return task{once: once}, err
	}
}

// drawnImages are numbers that lie channels-last.
func drawnImages(d *cuda.Device, shape ...int) (storage.Array, error) {
	x, err := drawnOn(d, dtype.Float32, shape...)
	return x.With(views.ChannelsLast(shape[0], shape[1], shape[2], shape[3])), err
}

// gpuLoops runs a kernel over as many numbers as a loop has. Memory that it reads twice it would
// find in a cache, so no operand comes twice.
func gpuLoops(call func(x, y, z storage.Array) (*kernels.Kernel, *kernels.Call)) func(folders) (task, error) {
	return func(in folders) (task, error) {
		d, err := openGPU(in)
		if err != nil {
			return task{}, err
		}
		x, err := drawnOn(d, dtype.Float32, in.sizes().loop)
		if err != nil {
			return task{}, err
		}
		y, err := drawnOn(d, dtype.Float32, x.Len())
		if err != nil {
			return task{}, err
		}
		one, err := storage.Make(d, dtype.Float32, 1)
		k, c := call(x, y, one)
		return task{once: tenTimes(d, func() error { return d.Run(k, c) })}, err
	}
}

func gpuExp(x, y, _ storage.Array) (*kernels.Kernel, *kernels.Call) {
	return kernels.Exp, &kernels.Call{Out: []storage.Array{y}, In: []storage.Array{x}}
}

func gpuAdd(x, y, _ storage.Array) (*kernels.Kernel, *kernels.Call) {
	return kernels.Add, &kernels.Call{Out: []storage.Array{y}, In: []storage.Array{x, y}}
}

func gpuSum(x, _, one storage.Array) (*kernels.Kernel, *kernels.Call) {
	return kernels.Sum, &kernels.Call{Out: []storage.Array{one}, In: []storage.Array{x}}
}
