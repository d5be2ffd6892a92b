package train

import (
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// An Input is how samples as files have them become a model's input. The zero
// Input leaves them as they are.
type Input struct {
	Normalize
	ChannelsLast bool // images come as (H, W, C)
	AddChannel   bool // images come as (H, W)
	images       bool // of which the model takes (C, H, W)
}

// inputFor returns the Input that model needs of samples of the given shape.
func inputFor(model nn.Module, c DataConfig, sample []int) (Input, error) {
	in := Input{
		Normalize:    c.Normalize,
		ChannelsLast: c.Layout == "nhwc" && len(sample) == 3,
		AddChannel:   len(sample) == 2 && wantsImages(model),
		images:       wantsImages(model),
	}
	shape := in.Sample(sample)
	return in, in.fits(shape, in.channelAxis(len(shape)))
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
func (in Input) Of(x *tensor.Tensor) *tensor.Tensor {
	if in.AddChannel {
		x = x.Reshape(x.Shape[0], 1, x.Shape[1], x.Shape[2])
	}
	if in.ChannelsLast {
		x = x.Transpose(0, 3, 1, 2)
	}
	switch {
	case in.auto() || in.isIdentity() && x.Type == dtype.Float32:
		return x
	case len(in.Scale) == 1:
		return x.Normalize(in.Scale[0], in.Shift[0])
	}
	return x.Cast(dtype.Float32).Mul(in.each(in.Scale, x)).Add(in.each(in.Shift, x))
}

// each returns numbers for x's channels, in a shape that stretches over x.
func (in Input) each(numbers []float64, x *tensor.Tensor) *tensor.Tensor {
	shape := slices.Repeat([]int{1}, x.Rank()-1)
	shape[in.channelAxis(x.Rank()-1)] = len(numbers)
	wide, err := storage.From(numbers, shape...).To(x.Data.Device())
	if err != nil {
		tensor.Fail("normalize", storage.ErrDevice, "%v", err)
	}
	return tensor.Of(wide).Cast(dtype.Float32)
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
