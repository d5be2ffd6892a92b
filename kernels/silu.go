package kernels

// SiLU is y = x·sigmoid(x), also called swish (Elfwing et al., arXiv:1702.03118).
var SiLU = unaryKernel("silu", unary(activations[SiLUActivation].of))

// SiLUGrad is dx = dy·s·(1 + x·(1 − s)), s = sigmoid(x); its inputs are x and dy.
var SiLUGrad = binaryKernel("silu grad", binary(activations[SiLUActivation].grad))
