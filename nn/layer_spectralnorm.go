package nn

import (
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// SpectralNormOptions are the settings of a SpectralNorm.
type SpectralNormOptions struct {
	Layer            Submodule `json:"layer" nn:"-"`       // linear, dense or a convolution; required
	NPowerIterations int       `json:"n_power_iterations"` // in each forward pass of training; 1 if 0
	Eps              float64   `json:"eps"`                // lower bound of lengths; 1e-12 if 0
}

// SpectralNorm is a layer whose weight is divided by an estimate of its largest singular value, u·W·v, for the matrix W of outputs
// and everything else. Each forward pass of training improves u and v, which are saved with the model, by a power iteration (Miyato et al.,
// arXiv:1802.05957).
type SpectralNorm struct {
	SpectralNormOptions
	Mode
	WeightOrig, Bias *Parameter
	WeightU, WeightV *Buffer // the singular vectors
	reparametrized
}

var spectralNormDefaults = SpectralNormOptions{NPowerIterations: 1, Eps: 1e-12}

// NewSpectralNorm returns a SpectralNorm. Layer is required.
func NewSpectralNorm(o SpectralNormOptions) *SpectralNorm {
	return newSpectralNorm(withDefaults(o, spectralNormDefaults))
}

func newSpectralNorm(o SpectralNormOptions) *SpectralNorm {
	checkRange("spectral_norm", "eps", o.Eps, 0, infinity)
	if o.NPowerIterations < 1 {
		tensor.Fail("spectral_norm", ErrConfig, "n_power_iterations %d; want at least 1", o.NPowerIterations)
	}
	n := &SpectralNorm{SpectralNormOptions: o}
	n.wrap("spectral_norm", o.Layer.Module, n.take)
	return n
}

func (n *SpectralNorm) take(weight, bias *Parameter) {
	alloc := NewAllocator("spectral_norm", weight.Device(), weight.DType())
	m := n.matrix(weight.Detach())
	n.WeightU, n.WeightV = alloc.Buffer(ConstantFill(0), m.Shape()[0]), alloc.Buffer(ConstantFill(0), m.Shape()[1])
	fill := weight.fill
	weight.fill = func(a storage.Array, key tensor.Key) {
		fill(a, key)
		n.start(n.matrix(tensor.FromArray(a)))
	}
	n.WeightOrig, n.Bias = weight, bias
	n.start(m)
	n.refill(weight, "weight_orig")
}

// startIterations are the power iterations for initial weights, as PyTorch's.
const startIterations = 15

// start sets u and v for the initial values of the matrix m.
func (n *SpectralNorm) start(m *tensor.Tensor) {
	if m.IsMeta() {
		return
	}
	v, err := n.unit(tensor.Key{}.Randn(m.DType(), m.Shape()[1])).Array().To(m.Device())
	if err != nil {
		tensor.Fail("spectral_norm", err, "%v", err)
	}
	a, b := n.iterate(m, tensor.FromArray(v), startIterations)
	assign("spectral_norm", n.WeightU.Array, a)
	assign("spectral_norm", n.WeightV.Array, b)
}

// iterate returns u = W·v/‖W·v‖ and v = Wᵀ·u/‖Wᵀ·u‖ after a number of iterations.
func (n *SpectralNorm) iterate(w, v *tensor.Tensor, iterations int) (u, after *tensor.Tensor) {
	for range iterations {
		u = n.unit(product(w, v))
		v = n.unit(product(w.T(), u))
	}
	return u, v
}

func (n *SpectralNorm) unit(x *tensor.Tensor) *tensor.Tensor {
	return x.Div(x.Square().Sum().Sqrt().Clamp(n.Eps, nil))
}

// product returns w·x of a matrix and a vector.
func product(w, x *tensor.Tensor) *tensor.Tensor {
	return w.MatMul(x.Reshape(x.Len(), 1)).Reshape(w.Shape()[0])
}

// matrix returns the weight with a row for each output.
func (n *SpectralNorm) matrix(w *tensor.Tensor) *tensor.Tensor {
	if n.within.spec().Transposed {
		w = w.Transpose(0, 1).Contiguous()
	}
	return w.Reshape(w.Shape()[0], w.Len()/w.Shape()[0])
}

// IsBuilt reports whether the layer has its parameters.
func (n *SpectralNorm) IsBuilt() bool { return n.WeightOrig != nil }

// Forward returns the output of the layer with the divided weight.
func (n *SpectralNorm) Forward(x *tensor.Tensor) *tensor.Tensor {
	return n.ForwardActivated(x, tensor.NoActivation)
}

// ForwardActivated returns act(Forward(x)).
func (n *SpectralNorm) ForwardActivated(x *tensor.Tensor, act tensor.Activation) *tensor.Tensor {
	n.buildFor("spectral_norm", n.IsBuilt(), x)
	w := n.WeightOrig.InStepOf(x)
	m := n.matrix(w)
	u, v := tensor.FromArray(n.WeightU.Array).InStepOf(x), tensor.FromArray(n.WeightV.Array).InStepOf(x)
	if n.Training() && !x.IsMeta() {
		u, v = n.iterate(m.Detach(), v, n.NPowerIterations)
		tensor.FromArray(n.WeightU.Array).Assign(u)
		tensor.FromArray(n.WeightV.Array).Assign(v)
	}
	return n.within.forwardWith(x, w.Div(u.Mul(product(m, v)).Sum()), n.Bias.tensorOf(), act)
}

var _ = RegisterLayer("spectral_norm", newSpectralNorm, spectralNormDefaults)
