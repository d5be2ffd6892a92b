package kernels

// MultiplyAdd is z = x·y + w. Integers wrap around.
var MultiplyAdd = ternaryKernel("multiply add", ternary(multiplyAdd[float64]), ternary(multiplyAdd[int64]), ternary(multiplyAdd[uint64]))

func multiplyAdd[T computeType](x, y, w T) T { return T(x*y) + w }
