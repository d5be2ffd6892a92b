package train

import (
	"slices"

	"github.com/h5dnn/h5dnn/dataset/dataconfig"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// An Input is how samples, as files have them, are made an input of a model. The zero
// Input leaves them unchanged.
type Input struct {
	dataconfig.Normalize
	ChannelsLast bool // images come as (H, W, C)
	AddChannel   bool // images come as (H, W)
	images       bool // the model takes (C, H, W)

	length       bool           // the lengths of another input, never normalized
	scale, shift *tensor.Tensor // for each channel, on the device of batches; nil until On
}

// inputFor returns the Input that model needs for samples of the named field, of the
// given shape.
func inputFor(model nn.Module, c dataconfig.Config, name string, sample []int) (Input, error) {
	if !slices.Contains(c.InputNames(), name) && len(c.InputNames()) > 1 {
		return Input{Normalize: dataconfig.Identity, length: true}, nil
	}
	in := Input{
		Normalize:    c.Normalize.For(name),
		ChannelsLast: c.Layout == "nhwc" && len(sample) == 3,
		AddChannel:   len(sample) == 2 && nn.SpatialAxes(model, name) == 2,
		images:       nn.SpatialAxes(model, name) == 2,
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

// Of returns the batch x as the model takes it.
func (in Input) Of(x *tensor.Tensor) *tensor.Tensor { return in.scaled(in.shaped(x)) }

// OfRows is Of the rows of x, which holds all samples.
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

// On returns in for batches on d, with its numbers for each channel there.
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

// each returns numbers for the channels of x, in a shape that broadcasts to x.
func (in Input) each(numbers, x *tensor.Tensor) *tensor.Tensor {
	if numbers == nil {
		tensor.Fail("normalize", storage.ErrState, "the numbers for each channel are on no device; call On first")
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
