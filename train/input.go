package train

import (
	"fmt"
	"slices"

	"github.com/h5dnn/h5dnn/dataset/dataconfig"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// An Input is how samples, as files have them, are made an input of a model. The zero
// Input leaves them unchanged.
type Input struct {
	dataconfig.Normalize
	Missing      dataconfig.Missing // what becomes of missing values, before they are normalized
	ChannelsLast bool               // images come as (H, W, C)
	AddChannel   bool               // images come as (H, W), signals as (L), single numbers as ()
	images       bool               // the model takes (C, H, W)
	wide         bool               // float64, so that normalizing is done in it

	asIs         bool           // the lengths of another input, or integers: never normalized or filled
	integers     dtype.Type     // that the model takes; Invalid if it takes floats
	scale, shift *tensor.Tensor // for each channel, on the device of batches; nil until On
	fill         *tensor.Tensor // of Missing, for each column; nil where nothing is filled
}

// inputFor returns the Input that model needs for samples of the named field, of the
// given type and shape.
func inputFor(model nn.Module, c dataconfig.Config, name string, t dtype.Type, sample []int) (Input, error) {
	names := c.InputNames()
	if !slices.Contains(names, name) && (len(names) > 1 || len(names) == 1 && name == dataconfig.LengthsName(names[0])) {
		return Input{Normalize: dataconfig.Identity, asIs: true}, nil
	}
	spec := nn.InputOf(model, name)
	if spec.Type.IsInt() {
		return integerInput(c, name, t, spec.Type)
	}
	axes := spec.Spatial
	in := Input{
		Normalize:    c.Normalize.For(name),
		Missing:      c.Missing.For(name),
		ChannelsLast: c.Layout == "nhwc" && len(sample) == 3,
		AddChannel:   len(sample) == 0 || len(sample) == axes,
		images:       axes == 2,
		wide:         t == dtype.Float64,
	}
	shape := in.SampleShape(sample)
	axis := in.channelAxis(len(shape))
	if n := len(in.Missing.Fill); n > 1 && (axis < 0 || n != shape[axis]) {
		return in, fmt.Errorf("missing: %d numbers for samples of %v; want one, or one for each along axis %d: %w", n, shape, axis, views.ErrShape)
	}
	return in, in.CheckShape(shape, axis)
}

// integerInput returns the Input of a model that takes integers.
func integerInput(c dataconfig.Config, name string, t, takes dtype.Type) (Input, error) {
	in := Input{Normalize: dataconfig.Identity, asIs: true, integers: takes}
	if n := c.Normalize.For(name); !n.IsAuto() && !n.IsIdentity() {
		return in, fmt.Errorf("normalize: the model takes integers as %s, which are not normalized: %w", name, dtype.ErrType)
	}
	if !t.IsInt() && t != dtype.Bool {
		return in, fmt.Errorf("train: the model takes integers as %s, and the data has %v: %w", name, t, dtype.ErrType)
	}
	return in, nil
}

// channelAxis returns the axis of a sample that Normalize's lists are for: the
// first of images, else the last.
func (in Input) channelAxis(rank int) int {
	if in.images && rank == 3 {
		return 0
	}
	return rank - 1
}

// Apply returns the batch x as the model takes it.
func (in Input) Apply(x *tensor.Tensor) *tensor.Tensor {
	if in.integers != dtype.Invalid {
		return x.Cast(in.integers)
	}
	return in.scaled(in.filled(in.shaped(x)))
}

// ApplyRows is Apply of the rows of x, which holds all samples.
func (in Input) ApplyRows(x, rows *tensor.Tensor) *tensor.Tensor {
	if len(in.Scale) == 1 && !in.IsIdentity() && in.fill == nil {
		return in.shaped(tensor.TakeScaled(x, rows, in.Scale[0], in.Shift[0]))
	}
	return in.Apply(x.IndexSelect(0, rows))
}

// shaped returns x in the shape that the model takes.
func (in Input) shaped(x *tensor.Tensor) *tensor.Tensor {
	if in.AddChannel {
		x = x.Reshape(slices.Insert(slices.Clone(x.Shape()), 1, 1)...)
	}
	if in.ChannelsLast {
		x = x.Permute(0, 3, 1, 2)
	}
	return x
}

// filled returns x with Missing's numbers in the place of NaN.
func (in Input) filled(x *tensor.Tensor) *tensor.Tensor {
	if len(in.Missing.Fill) == 0 || !x.DType().IsFloat() {
		return x
	}
	return tensor.Where(x.Eq(x), x, in.each(in.fill, x))
}

func (in Input) scaled(x *tensor.Tensor) *tensor.Tensor {
	switch {
	case in.IsAuto() || in.IsIdentity() && x.DType() == dtype.Float32:
		return x
	case len(in.Scale) == 1:
		return x.CastScaled(in.Scale[0], in.Shift[0])
	}
	scale, shift := in.each(in.scale, x), in.each(in.shift, x)
	return x.Cast(scale.DType()).Mul(scale).Add(shift).Cast(dtype.Float32)
}

// To returns in for batches on d, with its numbers for each channel there.
func (in Input) To(d storage.Device) (Input, error) {
	t := dtype.Float32
	if in.wide {
		t = dtype.Float64
	}
	var err error
	if len(in.Missing.Fill) > 0 {
		in.fill, err = constants(in.Missing.Fill, t, d)
	}
	if err != nil || len(in.Scale) < 2 {
		return in, err
	}
	if in.scale, err = constants(in.Scale, t, d); err == nil {
		in.shift, err = constants(in.Shift, t, d)
	}
	return in, err
}

// constants returns a vector of numbers of type t on d.
func constants(numbers []float64, t dtype.Type, d storage.Device) (x *tensor.Tensor, err error) {
	err = tensor.Try(func() { x = tensor.FromSlice(numbers, len(numbers)).To(t, d) })
	return x, err
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

// SampleShape returns the shape that Apply makes of samples of the given shape.
func (in Input) SampleShape(shape []int) []int {
	switch {
	case in.AddChannel:
		return slices.Insert(slices.Clone(shape), 0, 1)
	case in.ChannelsLast:
		return []int{shape[2], shape[0], shape[1]}
	}
	return slices.Clone(shape)
}
