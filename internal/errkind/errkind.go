// Package errkind makes errors that errors.Is matches with a kind, whose text they
// leave out.
package errkind

import "fmt"

type kindError struct {
	text string
	kind error
}

func (e kindError) Error() string { return e.text }
func (e kindError) Unwrap() error { return e.kind }

// Errorf returns an error of that kind with the formatted message.
func Errorf(kind error, format string, args ...any) error {
	return kindError{fmt.Sprintf(format, args...), kind}
}
