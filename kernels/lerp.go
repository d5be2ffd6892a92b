package kernels

// Lerp is z = x + w·(y − x), for floats.
var Lerp = ternaryKernel("lerp", ternary(func(x, y, w float64) float64 { return x + float64(w*(y-x)) }))
