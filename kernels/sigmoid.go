package kernels

// Sigmoid is y = 1/(1 + e⁻ˣ).
var Sigmoid = Map("sigmoid", unary(SigmoidActivation.of))

// SigmoidGrad is dx = dy·y·(1 − y) for y = sigmoid(x); its inputs are y and dy.
var SigmoidGrad = Zip("sigmoid grad", binary(SigmoidActivation.grad))
