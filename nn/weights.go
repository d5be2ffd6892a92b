package nn

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// Weights holds the weight and the bias of a layer that embeds it. A layer that
// does not know its number of inputs makes them when it sees the first.
type Weights struct {
	Weight *Parameter // outputs × inputs/groups, and the window of a convolution
	Bias   *Parameter // outputs; nil without

	placement
}

// A placement says how a layer that is built by its first input draws its parameters, and where.
type placement struct {
	init     InitSource
	device   storage.Device // set by SetDevice; in the place of the settings'
	fallback storage.Device // set by SetDefaultDevice
}

// A WeightSpec describes the weights of a layer by pointers to its settings.
// Building the weights sets Inputs, DType and Device.
type WeightSpec struct {
	Layer       string // name for failures
	Inputs      *int   // 0 until built
	Outputs     int
	Groups      int   // of inputs and outputs, connected within only; 1 if 0
	Window      []int // of a convolution
	Transposed  bool  // whether Weight is inputs × outputs
	NoBias      Negated
	Initializer *InitializerSetting
	DType       *dtype.Type
	Device      *storage.Device
}

func (w *Weights) weights() *Weights { return w }

// IsBuilt reports whether the layer has its parameters.
func (w *Weights) IsBuilt() bool { return w.Weight != nil }

// SetInit sets the random source of the initial values.
func (w *placement) SetInit(s InitSource) { w.init = s }

// SetDevice sets the device of the parameters.
func (w *placement) SetDevice(d storage.Device) { w.device = d }

// SetDefaultDevice sets the device of the parameters where nothing else does.
func (w *placement) SetDefaultDevice(d storage.Device) { w.fallback = d }

// Prepare builds the weights if the number of inputs is known, and fails for
// settings that no input could satisfy.
func (w *Weights) Prepare(s WeightSpec) {
	if *s.Initializer == "" {
		*s.Initializer = "kaiming"
	}
	if *s.Inputs != 0 {
		w.build(s, *s.Inputs, *s.Device, *s.DType)
		return
	}
	s.checkSizes(1)
	fillsOf(s.Layer, *s.Initializer, 1, 1)
	NewAllocator(s.Layer, nil, *s.DType)
}

// BuildFor builds the weights for input x (N, inputs, …), unless they are. The
// device and type that the settings leave open are those of x.
func (w *Weights) BuildFor(s WeightSpec, x *tensor.Tensor) {
	if w.IsBuilt() {
		return
	}
	device, t := w.forInput(s.Layer, x, *s.Device, *s.DType)
	w.build(s, x.Shape()[s.inputAxis(x)], device, t)
}

// forInput returns the device and the type of the parameters for a first input x: those of the settings, else x's.
func (w *placement) forInput(layer string, x *tensor.Tensor, device storage.Device, t dtype.Type) (storage.Device, dtype.Type) {
	device = cmp.Or(w.device, device, w.fallback)
	if device == nil && !x.IsMeta() {
		device = x.Device()
	}
	if device != nil {
		checkDevice(layer, x, device)
	}
	if t == dtype.Invalid {
		t = x.DType()
	}
	return device, t
}

// inputAxis returns the axis of x that holds the inputs: the channels of a convolution, or the last.
func (s WeightSpec) inputAxis(x *tensor.Tensor) int {
	if s.Window != nil {
		return 1
	}
	return x.Rank() - 1
}

// buildForSpatial is BuildFor with a check of x, for layers that slide a window over
// its spatial axes.
func (w *Weights) buildForSpatial(s WeightSpec, x *tensor.Tensor) {
	if s.Layer == "" {
		tensor.Fail("conv", storage.ErrState, "a convolution without settings; make it by its constructor")
	}
	checkSpatial(s.Layer, x, len(s.Window))
	w.BuildFor(s, x)
}

// checkSizes fails unless there are inputs and outputs.
func (s WeightSpec) checkSizes(inputs int) {
	what := "features"
	if s.Window != nil {
		what = "channels"
	}
	switch {
	case inputs < 1:
		tensor.Fail(s.Layer, views.ErrShape, "in_%s %d, out_%s %d; want at least 1 of each", what, inputs, what, s.Outputs)
	case s.Outputs < 1:
		tensor.Fail(s.Layer, views.ErrShape, "out_%s %d; want at least 1", what, s.Outputs)
	}
}

func (w *Weights) build(s WeightSpec, inputs int, device storage.Device, t dtype.Type) {
	s.checkSizes(inputs)
	alloc := NewAllocator(s.Layer, device, t)
	groups := max(1, s.Groups)
	if inputs%groups != 0 || s.Outputs%groups != 0 {
		tensor.Fail(s.Layer, views.ErrShape, "%d groups of %d inputs and %d outputs; want a divisor of both", groups, inputs, s.Outputs)
	}
	shape := []int{s.Outputs, inputs / groups}
	if s.Transposed {
		shape = []int{inputs, s.Outputs / groups}
	}
	area := 1
	for _, size := range s.Window {
		area *= size
	}
	if *s.Initializer == "" {
		*s.Initializer = "kaiming"
	}
	weight, bias := fillsOf(s.Layer, *s.Initializer, shape[1]*area, shape[0]*area)
	shape = append(shape, s.Window...)
	built := Weights{Weight: alloc.param(weight, w.init.key("weight"), shape...), placement: placement{init: w.init}}
	if !s.NoBias {
		built.Bias = alloc.param(bias, w.init.key("bias"), s.Outputs)
	}
	*w, *s.Inputs, *s.Device, *s.DType = built, inputs, alloc.Device, alloc.DType
}

// checkFeatures fails unless x is samples of features, on the last axis.
func checkFeatures(layer string, x *tensor.Tensor) {
	if x.Rank() < 2 {
		tensor.Fail(layer, views.ErrShape, "input %v; want (samples, features); reshape it to (samples, 1)", x.Shape())
	}
}

// checkSpatial fails unless x has samples, channels and that many spatial axes.
func checkSpatial(layer string, x *tensor.Tensor, axes int) {
	if axes < 1 || axes > 3 {
		tensor.Fail(layer, ErrConfig, "sizes of %d spatial axes; want 1 to 3, as its constructor checks", axes)
	}
	if x.Rank() != 2+axes {
		want := [...]string{"sequences (samples, channels, length)", "images (samples, channels, height, width)", "volumes (samples, channels, depth, height, width)"}
		tensor.Fail(layer, views.ErrShape, "input %v; want %s", x.Shape(), want[axes-1])
	}
}

// checkSizes fails unless sizes, the named setting of a layer for any number of spatial axes, has a number for each of x.
func checkSizes(layer, setting string, x *tensor.Tensor, sizes Sizes) {
	if axes := x.Rank() - 2; len(sizes) == 1 && (axes == 2 || axes == 3) {
		tensor.Fail(layer, views.ErrShape, "%s %d for input %v; want a number for each spatial axis: %s: %s", setting, sizes[0], x.Shape(),
			setting, strings.ReplaceAll(fmt.Sprint([]int(sizes.expand(layer, setting, axes, 0))), " ", ", "))
	}
	checkSpatial(layer, x, len(sizes))
}

// checkInput fails unless x has the device and the type of weight, and that many
// features or channels along axis.
func checkInput(layer string, x, weight *tensor.Tensor, axis, inputs int) {
	checkDevice(layer, x, weight.Device())
	if x.DType() != weight.DType() && !x.AutocastEnabled() {
		tensor.Fail(layer, dtype.ErrType, "input of %v, parameters of %v; Cast or Normalize the input", x.DType(), weight.DType())
	}
	if x.Shape()[axis] != inputs {
		tensor.Fail(layer, views.ErrShape, "input %v for weight %v; want %d along axis %d", x.Shape(), weight.Shape(), inputs, axis)
	}
}

// checkDevice fails unless x is on d, or has no elements. Layers never move their
// input.
func checkDevice(layer string, x *tensor.Tensor, d storage.Device) {
	if x.IsMeta() {
		return
	}
	if have := x.Device(); have != d {
		tensor.Fail(layer, storage.ErrDevice, "input on %v, layer on %v; move one with To", have, d)
	}
}
