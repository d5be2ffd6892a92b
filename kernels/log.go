package kernels

import "math"

// Log is y = the natural logarithm of x, elementwise.
var Log = Map("log", unary(math.Log))
