package views

import "errors"

// ErrShape is the kind of error, for errors.Is, of a shape or index that does not fit.
var ErrShape = errors.New("wrong shape")
