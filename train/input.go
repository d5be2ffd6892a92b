package train

import (
	"slices"

	"github.com/h5dnn/h5dnn/dataset/dataconfig"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// An Input is how samples as files have them become a model's input. The zero
// Input leaves them as they are.
type Input struct {
	dataconfig.Normalize
	ChannelsLast bool // images come as (H, W, C)
	AddChannel   bool // images come as (H, W)
	images       bool // of which the model takes (C, H, W)

	scale, shift *tensor.Tensor // numbers for each channel, where batches are; nil until On
}

// inputFor returns the Input that model needs of samples of the given shape.
func inputFor(model nn.Module, c dataconfig.Config, sample []int) (Input, error) {
	in := Input{
		Normalize:    c.Normalize,
		ChannelsLast: c.Layout == "nhwc" && len(sample) == 3,
		AddChannel:   len(sample) == 2 && wantsImages(model),
		images:       wantsImages(model),
	}
	shape := in.Sample(sample)
	return in, in.CheckShape(shape, in.channelAxis(len(shape)))
}

// channelAxis returns the axis of a sample that Normalize's lists are for: the
// first of images, else the last.
func (in Input) channelAxis(rank int) int {
	if in.images && rank == 3 {
		return 0
	}
	return rank - 1
}

// wantsImages reports whether the first layer of m works on (N, C, H, W).
func wantsImages(m nn.Module) bool {
	switch m := m.(type) {
	case nn.Sequential:
		return len(m) > 0 && wantsImages(m[0])
	case *nn.Conv2d, *nn.BatchNorm2d, nn.MaxPool2d, nn.AvgPool2d, nn.GlobalAvgPool2d:
		return true
	}
	return false
}

// Of returns a batch as the model takes it.
func (in Input) Of(x *tensor.Tensor) *tensor.Tensor { return in.scaled(in.shaped(x)) }

// OfRows is Of the named rows of x, all samples there are.
func (in Input) OfRows(x, rows *tensor.Tensor) *tensor.Tensor {
	if len(in.Scale) == 1 && !in.IsIdentity() {
		return in.shaped(tensor.TakeScaled(x, rows, in.Scale[0], in.Shift[0]))
	}
	return in.Of(tensor.Take(x, rows))
}

// shaped returns x in the shape that the model takes.
func (in Input) shaped(x *tensor.Tensor) *tensor.Tensor {
	if in.AddChannel {
		x = x.Reshape(x.Shape[0], 1, x.Shape[1], x.Shape[2])
	}
	if in.ChannelsLast {
		x = x.Transpose(0, 3, 1, 2)
	}
	return x
}

func (in Input) scaled(x *tensor.Tensor) *tensor.Tensor {
	switch {
	case in.IsAuto() || in.IsIdentity() && x.Type == dtype.Float32:
		return x
	case len(in.Scale) == 1:
		return x.CastScaled(in.Scale[0], in.Shift[0])
	}
	scale, shift := in.each(in.scale, x), in.each(in.shift, x)
	return x.Cast(dtype.Float32).Mul(scale).Add(shift)
}

// On returns in for batches on d: what it multiplies and adds by channel lies there.
func (in Input) On(d storage.Device) (Input, error) {
	if len(in.Scale) < 2 {
		return in, nil
	}
	place := func(numbers []float64) (*tensor.Tensor, error) {
		narrow := make([]float32, len(numbers))
		for i, x := range numbers {
			narrow[i] = float32(x)
		}
		a, err := storage.From(narrow, len(narrow)).To(d)
		return tensor.Of(a), err
	}
	var err error
	if in.scale, err = place(in.Scale); err == nil {
		in.shift, err = place(in.Shift)
	}
	return in, err
}

// each returns numbers for x's channels, in a shape that stretches over x.
func (in Input) each(numbers, x *tensor.Tensor) *tensor.Tensor {
	if numbers == nil {
		tensor.Fail("normalize", storage.ErrState, "numbers by channel lie nowhere yet; call On first")
	}
	shape := slices.Repeat([]int{1}, x.Rank()-1)
	shape[in.channelAxis(x.Rank()-1)] = numbers.Len()
	return numbers.Reshape(shape...)
}

// Sample returns the shape that Of makes of samples of the given shape.
func (in Input) Sample(shape []int) []int {
	switch {
	case in.AddChannel:
		return []int{1, shape[0], shape[1]}
	case in.ChannelsLast:
		return []int{shape[2], shape[0], shape[1]}
	}
	return slices.Clone(shape)
}
