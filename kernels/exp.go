package kernels

import "math"

// Exp is y = eˣ, elementwise.
var Exp = unaryKernel("exp", unary(math.Exp))
