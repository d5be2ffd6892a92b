package nn

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// A deferred layer makes its parameters when it knows how many features they are for: from its settings, or else from
// its first input.
type deferred struct {
	placement
	layer string // name for failures; "" unless a constructor made the layer
	built bool
	how   deferral
}

// A deferral says how a deferred layer is built: with pointers to its settings.
type deferral struct {
	of     Module // the layer
	device *storage.Device
	dtype  *dtype.Type
	infer  func(x *tensor.Tensor) // sets the number of features to the input's
	make   func(alloc Allocator)  // makes the parameters and modules of the settings
}

// IsBuilt reports whether the layer has its parameters.
func (d *deferred) IsBuilt() bool { return d.built }

// prepare makes the parameters if the number of features is known.
func (d *deferred) prepare(layer string, known bool, how deferral) {
	d.layer, d.how = layer, how
	if alloc := NewAllocator(layer, *how.device, *how.dtype); known {
		d.build(alloc)
	}
}

func (d *deferred) build(alloc Allocator) {
	*d.how.device, *d.how.dtype = alloc.Device, alloc.DType
	d.how.make(alloc)
	d.built = true
}

// buildFor makes the parameters for the first input x, unless they are made. Device and type are x's where the settings leave them open.
func (d *deferred) buildFor(kind string, x *tensor.Tensor) {
	switch {
	case d.how.make == nil:
		tensor.Fail(kind, storage.ErrState, "not built; make it by its constructor")
	case d.built:
		return
	}
	checkFeatures(d.layer, x)
	device, t := d.forInput(d.layer, x, *d.how.device, *d.how.dtype)
	d.how.infer(x)
	d.build(NewAllocator(d.layer, device, t))
	if !d.init.set {
		return
	}
	for name, p := range Parameters(d.how.of) {
		if p.fill != nil {
			p.fill(p.Array(), d.init.key(name))
		}
	}
}

// channels returns the size of the axis of channels of x (N, C, …).
func channels(x *tensor.Tensor) int { return x.Shape()[1] }

// features returns the size of the last axis of x.
func features(x *tensor.Tensor) int { return x.Shape()[x.Rank()-1] }
