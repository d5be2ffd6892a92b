package kernels

import "math"

// Tanh is y = tanh(x).
var Tanh = Map("tanh", unary(math.Tanh))

// TanhGrad is dx = dy·(1 − y²) for y = tanh(x); its inputs are y and dy.
var TanhGrad = Zip("tanh grad", binary(TanhActivation.grad))
