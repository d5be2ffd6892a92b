package nn

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// weights holds the weight and the bias of a layer. A layer that does not know
// its number of inputs makes them when it sees the first.
type weights struct {
	Weight *Param // outputs × inputs, and the window of a convolution
	Bias   *Param // outputs; nil without

	init initSource
}

// A weightSpec describes the weights of a layer by pointers to its settings.
// Building the weights sets inputs, device and dtype.
type weightSpec struct {
	layer       string
	inputs      *int // 0 until built
	outputs     int
	window      []int // of a convolution
	noBias      Negated
	initializer *string
	dtype       *dtype.Type
	device      *storage.Device
}

// IsBuilt reports whether the layer has its parameters.
func (w *weights) IsBuilt() bool { return w.Weight != nil }

func (w *weights) setInit(s initSource) { w.init = s }

// prepare builds the weights if the number of inputs is known, and reports
// settings that no input could satisfy if not.
func (w *weights) prepare(s weightSpec) {
	if *s.initializer == "" {
		*s.initializer = "kaiming"
	}
	if *s.inputs != 0 {
		w.build(s, *s.inputs, *s.device, *s.dtype)
		return
	}
	if s.outputs < 1 {
		tensor.Fail(s.layer, views.ErrShape, "%d outputs; want at least one", s.outputs)
	}
	fillsOf(s.layer, *s.initializer, 1, 1)
	newAllocator(s.layer, nil, *s.dtype)
}

// buildFor builds the weights for input x. The device and type that the settings
// leave open are those of x.
func (w *weights) buildFor(s weightSpec, x *tensor.Tensor) {
	device, t := *s.device, *s.dtype
	if device == nil {
		device = x.Data.Device()
	}
	checkDevice(s.layer, x, device)
	if t == dtype.Invalid {
		t = x.Type
	}
	w.build(s, x.Shape[1], device, t)
}

func (w *weights) build(s weightSpec, inputs int, device storage.Device, t dtype.Type) {
	alloc := newAllocator(s.layer, device, t)
	area := 1
	for _, size := range s.window {
		area *= size
	}
	weight, bias := fillsOf(s.layer, *s.initializer, inputs*area, s.outputs*area)
	shape := append([]int{s.outputs, inputs}, s.window...)
	built := weights{Weight: alloc.param(weight, w.init.key("weight"), shape...), init: w.init}
	if !s.noBias {
		built.Bias = alloc.param(bias, w.init.key("bias"), s.outputs)
	}
	*w, *s.inputs, *s.device, *s.dtype = built, inputs, alloc.device, alloc.dtype
}

// checkFeatures fails unless x is samples of features.
func checkFeatures(layer string, x *tensor.Tensor) {
	if x.Rank() != 2 {
		tensor.Fail(layer, views.ErrShape, "input %v; want (samples, features)", x.Shape)
	}
}

// checkImages fails unless x is (samples, channels, height, width).
func checkImages(layer string, x *tensor.Tensor) {
	if x.Rank() != 4 {
		tensor.Fail(layer, views.ErrShape, "input %v; want images (samples, channels, height, width)", x.Shape)
	}
}

// checkInput fails unless x has the device, the type and the number of features
// that weight asks for.
func checkInput(layer string, x *tensor.Tensor, weight *Param) {
	checkDevice(layer, x, weight.Data.Device())
	if x.Type != weight.Type && !x.AutocastEnabled() {
		tensor.Fail(layer, dtype.ErrType, "input of %v, parameters of %v; Cast or Normalize the input", x.Type, weight.Type)
	}
	if x.Shape[1] != weight.Shape[1] {
		tensor.Fail(layer, views.ErrShape, "input %v for weight %v; want %d along axis 1", x.Shape, weight.Shape, weight.Shape[1])
	}
}

// checkDevice fails unless x is on d, or has no elements. Layers never move their
// input.
func checkDevice(layer string, x *tensor.Tensor, d storage.Device) {
	if x.IsMeta() {
		return
	}
	if have := x.Data.Device(); have != d {
		tensor.Fail(layer, storage.ErrDevice, "input on %v, layer on %v; move one with To", have, d)
	}
}
