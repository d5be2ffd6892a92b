package kernels

// Sigmoid is y = 1/(1 + e⁻ˣ).
var Sigmoid = Map("sigmoid", unary(SigmoidActivation.of))

// SigmoidSlope is dx = dy·y·(1 − y) for y = sigmoid(x); its inputs are y and dy.
var SigmoidSlope = Zip("sigmoid slope", binary(SigmoidActivation.slope))
