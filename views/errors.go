package views

import "errors"

// ErrShape is the kind of error, for errors.Is, of a shape or index that is not valid.
var ErrShape = errors.New("wrong shape")
