package nn

import (
	"fmt"

	"github.com/h5dnn/h5dnn/config"
)

// ErrConfig is the kind of error, for errors.Is, of a setting that does not
// exist or cannot have the value given.
var ErrConfig = config.ErrInvalid

// A kindred is a message that errors.Is knows as a kind without spelling it out.
type kindred struct {
	text string
	kind error
}

func (e kindred) Error() string { return e.text }
func (e kindred) Unwrap() error { return e.kind }

func mistake(kind error, format string, args ...any) error {
	return kindred{fmt.Sprintf(format, args...), kind}
}
