package kernels

import "math"

// Exp is y = eˣ, elementwise.
var Exp = Map("exp", unary(math.Exp))
