package nn

// ConstantInitializer sets weights to a number; biases are 0.
type ConstantInitializer struct {
	Value float64 `json:"value"`
}

// Fills returns the fills for a layer.
func (i ConstantInitializer) Fills(int, int) (weight, bias Fill) {
	return ConstantFill(i.Value), ConstantFill(0)
}

// ZerosInitializer sets weights and biases to 0.
type ZerosInitializer struct{}

// Fills returns the fills for a layer.
func (ZerosInitializer) Fills(int, int) (weight, bias Fill) { return ConstantFill(0), ConstantFill(0) }

// OnesInitializer sets weights to 1 and biases to 0.
type OnesInitializer struct{}

// Fills returns the fills for a layer.
func (OnesInitializer) Fills(int, int) (weight, bias Fill) { return ConstantFill(1), ConstantFill(0) }

var (
	_ = RegisterInitializer("constant", ConstantInitializer{})
	_ = RegisterInitializer("zeros", ZerosInitializer{})
	_ = RegisterInitializer("ones", OnesInitializer{})
)
