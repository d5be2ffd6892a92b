package kernels

// The comparisons of x with y, elementwise, as bools. NaN is not even equal to itself.
var (
	Less         = Compare("less", relation(less[float64]), relation(less[int64]), relation(less[uint64]))
	LessEqual    = Compare("less equal", relation(lessEqual[float64]), relation(lessEqual[int64]), relation(lessEqual[uint64]))
	Greater      = Compare("greater", relation(greater[float64]), relation(greater[int64]), relation(greater[uint64]))
	GreaterEqual = Compare("greater equal", relation(greaterEqual[float64]), relation(greaterEqual[int64]), relation(greaterEqual[uint64]))
	Equal        = Compare("equal", relation(equal[float64]), relation(equal[int64]), relation(equal[uint64]))
	NotEqual     = Compare("not equal", relation(notEqual[float64]), relation(notEqual[int64]), relation(notEqual[uint64]))
)

func less[T wide](x, y T) bool         { return x < y }
func lessEqual[T wide](x, y T) bool    { return x <= y }
func greater[T wide](x, y T) bool      { return x > y }
func greaterEqual[T wide](x, y T) bool { return x >= y }
func equal[T wide](x, y T) bool        { return x == y }
func notEqual[T wide](x, y T) bool     { return x != y }
