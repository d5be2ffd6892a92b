package nn

import (
	"math"

	"github.com/h5dnn/h5dnn/config"
	"github.com/h5dnn/h5dnn/tensor"
)

// ErrConfig is the kind of error, for errors.Is, of a setting that does not
// exist or cannot have the value given.
var ErrConfig = config.ErrInvalid

var infinity = math.Inf(1)

// checkRange fails unless low ≤ value < high.
func checkRange(name, setting string, value, low, high float64) {
	if !(value >= low && value < high) {
		tensor.Fail(name, ErrConfig, "%s %v; want at least %v and less than %v", setting, value, low, high)
	}
}
