package kernels

// Sub is z = x − y. Integers wrap around.
var Sub = binaryKernel("sub", binary(sub[float64]), binary(sub[int64]), binary(sub[uint64]))

func sub[T computeType](x, y T) T { return x - y }
