package kernels

// Neg is y = −x. Integers wrap around.
var Neg = unaryKernel("neg", unary(neg[float64]), unary(neg[int64]), unary(neg[uint64]))

func neg[T computeType](x T) T { return -x }
