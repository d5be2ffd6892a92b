package kernels

// Add is z = x + y. Integers wrap around.
var Add = binaryKernel("add", binary(add[float64]), binary(add[int64]), binary(add[uint64]))

func add[T computeType](x, y T) T { return x + y }
