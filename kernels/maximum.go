package kernels

// Maximum is the larger of x and y; NaN if either is NaN.
var Maximum = binaryKernel("maximum", binary(maximum[float64]), binary(maximum[int64]), binary(maximum[uint64]))

func maximum[T computeType](x, y T) T { return max(x, y) }
