package nn

import (
	"fmt"
	"math"

	"github.com/h5dnn/h5dnn/config"
	"github.com/h5dnn/h5dnn/tensor"
)

// ErrConfig is the kind of error, for errors.Is, of a setting that does not
// exist or cannot have the value given.
var ErrConfig = config.ErrInvalid

// A kindError is a message that wraps a kind of error without repeating it.
type kindError struct {
	text string
	kind error
}

func (e kindError) Error() string { return e.text }
func (e kindError) Unwrap() error { return e.kind }

// errorOf returns an error of that kind with a message of its own.
func errorOf(kind error, format string, args ...any) error {
	return kindError{fmt.Sprintf(format, args...), kind}
}

var infinity = math.Inf(1)

// checkRange fails unless low ≤ value < high.
func checkRange(name, setting string, value, low, high float64) {
	if !(value >= low && value < high) {
		tensor.Fail(name, ErrConfig, "%s %v; want at least %v and less than %v", setting, value, low, high)
	}
}
