package kernels

// An Activation is an elementwise function that other kernels apply to what
// they compute while it is in cache.
type Activation int

const (
	NoActivation Activation = iota
	ReluActivation
	TanhActivation
	SigmoidActivation
)

var activations = [...]string{"none", "relu", "tanh", "sigmoid"}

func (a Activation) String() string {
	if a < 0 || int(a) >= len(activations) {
		return "unknown"
	}
	return activations[a]
}

// ActSet is the settings of kernels that are about one activation.
type ActSet struct{ Act Activation }
