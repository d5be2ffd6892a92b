package kernels

// Relu is y = max(x, 0); NaN stays NaN.
var Relu = Map("relu", unary(ReluActivation.of))

// ReluSlope is dx = dy where y > 0 and 0 elsewhere, for y = relu(x); its inputs are y and dy.
var ReluSlope = Zip("relu slope", binary(ReluActivation.slope))
