package kernels

// ReLU is y = max(x, 0); NaN stays NaN.
var ReLU = unaryKernel("relu", unary(activations[ReLUActivation].of))

// ReLUGrad is dx = dy where y > 0 and 0 elsewhere, for y = relu(x); its inputs are y and dy.
var ReLUGrad = binaryKernel("relu grad", binary(activations[ReLUActivation].grad))
