package kernels

// Div is z = x/y, for floats: integers are cast first, as their quotients seldom are integers.
var Div = binaryKernel("div", binary(func(x, y float64) float64 { return x / y }))
