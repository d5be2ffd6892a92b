package kernels

// GELU is y = x·Φ(x), Φ being the distribution function of the standard normal
// distribution (Hendrycks and Gimpel, arXiv:1606.08415).
var GELU = unaryKernel("gelu", unary(gelu))

// GELUGrad is dx = dy·(Φ(x) + x·φ(x)); its inputs are x and dy.
var GELUGrad = binaryKernel("gelu grad", binary(activations[GELUActivation].grad))

// GELUTanh is GELU with the approximation Φ(x) ≈ (1 + tanh(√(2/π)·(x + 0.044715·x³)))/2.
var GELUTanh = unaryKernel("gelu tanh", unary(activations[GELUTanhActivation].of))

// GELUTanhGrad is the gradient of GELUTanh; its inputs are x and dy.
var GELUTanhGrad = binaryKernel("gelu tanh grad", binary(activations[GELUTanhActivation].grad))
