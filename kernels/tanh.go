package kernels

import "math"

// Tanh is y = tanh(x).
var Tanh = unaryKernel("tanh", unary(math.Tanh))

// TanhGrad is dx = dy·(1 − y²) for y = tanh(x); its inputs are y and dy.
var TanhGrad = binaryKernel("tanh grad", binary(activations[TanhActivation].grad))
