package kernels

// Minimum is the smaller of x and y; NaN if either is NaN.
var Minimum = binaryKernel("minimum", binary(minimum[float64]), binary(minimum[int64]), binary(minimum[uint64]))

func minimum[T computeType](x, y T) T { return min(x, y) }
