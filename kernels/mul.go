package kernels

// Mul is z = x·y. Integers wrap around.
var Mul = binaryKernel("mul", binary(mul[float64]), binary(mul[int64]), binary(mul[uint64]))

func mul[T computeType](x, y T) T { return x * y }
