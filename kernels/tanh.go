package kernels

import "math"

// Tanh is y = tanh(x).
var Tanh = Map("tanh", unary(math.Tanh))

// TanhSlope is dx = dy·(1 − y²) for y = tanh(x); its inputs are y and dy.
var TanhSlope = Zip("tanh slope", binary(TanhActivation.slope))
