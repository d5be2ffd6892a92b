package kernels

// Sigmoid is y = 1/(1 + e⁻ˣ).
var Sigmoid = unaryKernel("sigmoid", unary(sigmoid))

// SigmoidGrad is dx = dy·y·(1 − y) for y = sigmoid(x); its inputs are y and dy.
var SigmoidGrad = binaryKernel("sigmoid grad", binary(activations[SigmoidActivation].grad))
