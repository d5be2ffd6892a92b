package launch

import "reflect"

// SetLimit sets the number of elements that launches take less than, until undo.
func SetLimit(n int64) (undo func()) {
	old := most
	most = n
	return func() { most = old }
}

// Words returns the numbers that options consist of.
func Words(options any) ([]uint64, error) { return words(nil, reflect.ValueOf(options)) }

// CallTwins are the structs of kernels that are launched with all their operands.
func CallTwins() map[string]any {
	return map[string]any{"Call": callArgs{}, "Array": arrayArgs{}, "Divisor": Divisor{}, "LongDivisor": LongDivisor{}, "Extent": Extent{}}
}
