package kernels

// An Act is an activation that other kernels apply to what they compute while
// it is in cache.
type Act int

const (
	ActNone Act = iota
	ActRelu
	ActTanh
	ActSigmoid
)

var actNames = [...]string{"none", "relu", "tanh", "sigmoid"}

func (a Act) String() string {
	if a < 0 || int(a) >= len(actNames) {
		return "unknown"
	}
	return actNames[a]
}
