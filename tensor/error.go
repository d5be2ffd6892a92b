package tensor

import (
	"strings"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/errkind"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// The kinds of error, for errors.Is.
var (
	ErrShape  = views.ErrShape
	ErrType   = dtype.ErrType
	ErrDevice = storage.ErrDevice
	ErrState  = storage.ErrState
)

// An Error says which operation of an expression failed, and why. It unwraps to one of
// the kinds above if the expression is wrong, not its environment.
type Error struct {
	Op  string
	Err error
}

func (e *Error) Error() string {
	text, op := e.Err.Error(), e.Op+": "
	return op + strings.TrimPrefix(text, op) // a kernel of the same name has named itself
}

func (e *Error) Unwrap() error { return e.Err }

// Fail panics with an *Error of the given kind, which may be the error that caused it.
// Operations, layers and losses outside of this package report errors by it.
func Fail(op string, kind error, format string, args ...any) {
	fail(op, kind, format, args...)
}

func fail(op string, kind error, format string, args ...any) {
	panic(&Error{op, errkind.Errorf(kind, format, args...)})
}

func check(op string, err error) {
	if err != nil {
		panic(&Error{op, err})
	}
}

// Try runs f and returns the *Error it failed with, if any. Other panics are
// bugs and pass through.
func Try(f func()) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case *Error:
			err = p
		default:
			panic(p)
		}
	}()
	f()
	return nil
}
