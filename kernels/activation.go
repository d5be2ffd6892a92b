package kernels

// An Activation is an elementwise function that other kernels apply to what
// they compute while it is in cache.
type Activation = Act

const (
	NoActivation      = ActNone
	ReluActivation    = ActRelu
	TanhActivation    = ActTanh
	SigmoidActivation = ActSigmoid
)

// ActSet is the settings of kernels that are about one activation.
type ActSet struct{ Act Activation }
