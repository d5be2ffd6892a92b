package nn

import (
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// A weightLayer is a layer whose weight can be computed from other parameters: Linear, Dense and convolutions.
type weightLayer interface {
	ActivatedLayer
	Lazy
	spec() WeightSpec
	weights() *Weights
	// forwardWith is ForwardActivated with a weight and a bias in the place of the layer's.
	forwardWith(x, weight, bias *tensor.Tensor, act tensor.Activation) *tensor.Tensor
}

// reparametrized is the part of a weight norm and a spectral norm that builds the layer within. The layer gives its
// parameters to the norm, under PyTorch's names.
type reparametrized struct {
	within weightLayer `nn:"-"`
	init   InitSource
	adopt  func(weight, bias *Parameter) // makes the parameters of the norm
}

// wrap makes the norm compute the weight of m.
func (r *reparametrized) wrap(norm string, m Module, adopt func(weight, bias *Parameter)) {
	layer, ok := m.(weightLayer)
	if !ok {
		tensor.Fail(norm, ErrConfig, "around %s; want linear, dense or a convolution", kindOf(m))
	}
	r.within, r.adopt = layer, adopt
	if layer.IsBuilt() {
		r.take()
	}
}

// take moves the parameters of the layer within to the norm.
func (r *reparametrized) take() {
	w := r.within.weights()
	weight, bias := w.Weight, w.Bias
	w.Weight, w.Bias = nil, nil
	r.adopt(weight, bias)
}

// buildFor builds the norm for the input x, unless it is.
func (r *reparametrized) buildFor(norm string, built bool, x *tensor.Tensor) {
	switch {
	case r.within == nil:
		tensor.Fail(norm, storage.ErrState, "no layer; make it by its constructor")
	case built:
		return
	}
	s := r.within.spec()
	if s.Window != nil {
		checkSpatial(s.Layer, x, len(s.Window))
	} else {
		checkFeatures(s.Layer, x)
	}
	r.within.weights().BuildFor(s, x)
	r.take()
}

// refill draws the initial values of p, which is called name, as Init does.
func (r *reparametrized) refill(p *Parameter, name string) {
	if r.init.set {
		p.fill(p.Array(), r.init.key(name))
	}
}

// SetInit sets the random source of the initial values.
func (r *reparametrized) SetInit(s InitSource) {
	r.init = s
	r.within.SetInit(s)
}

// SetDevice sets the device of the parameters.
func (r *reparametrized) SetDevice(d storage.Device) { r.within.SetDevice(d) }

// SetDefaultDevice sets the device of the parameters where nothing else does.
func (r *reparametrized) SetDefaultDevice(d storage.Device) { r.within.SetDefaultDevice(d) }
