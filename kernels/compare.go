package kernels

// The comparisons of x with y, elementwise, as bools. NaN is not even equal to itself.
var (
	Less         = comparisonKernel("less", comparison(less[float64]), comparison(less[int64]), comparison(less[uint64]))
	LessEqual    = comparisonKernel("less equal", comparison(lessEqual[float64]), comparison(lessEqual[int64]), comparison(lessEqual[uint64]))
	Greater      = comparisonKernel("greater", comparison(greater[float64]), comparison(greater[int64]), comparison(greater[uint64]))
	GreaterEqual = comparisonKernel("greater equal", comparison(greaterEqual[float64]), comparison(greaterEqual[int64]), comparison(greaterEqual[uint64]))
	Equal        = comparisonKernel("equal", comparison(equal[float64]), comparison(equal[int64]), comparison(equal[uint64]))
	NotEqual     = comparisonKernel("not equal", comparison(notEqual[float64]), comparison(notEqual[int64]), comparison(notEqual[uint64]))
)

func less[T computeType](x, y T) bool         { return x < y }
func lessEqual[T computeType](x, y T) bool    { return x <= y }
func greater[T computeType](x, y T) bool      { return x > y }
func greaterEqual[T computeType](x, y T) bool { return x >= y }
func equal[T computeType](x, y T) bool        { return x == y }
func notEqual[T computeType](x, y T) bool     { return x != y }
