package panics_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/internal/panics"
)

func ExampleRecover() {
	run := func(f func()) (err error) {
		defer panics.Recover(&err)
		f()
		return nil
	}
	err := run(func() { panic("no weights") })
	where, what, _ := strings.Cut(err.Error(), ": ")
	fmt.Println(what)
	fmt.Println(strings.Contains(where, "panics_test.go:"))
	// Output:
	// no weights
	// true
}

// TestRecoverNamesTheFirstPanic wants the panic that a deferred function panicked upon, and its kind.
func TestRecoverNamesTheFirstPanic(t *testing.T) {
	kind := errors.New("a kind")
	run := func() (err error) {
		defer panics.Recover(&err)
		defer func() { panic(recover()) }()
		inner(kind)
		return nil
	}
	if err := run(); !errors.Is(err, kind) || !strings.HasPrefix(err.Error(), "panic in panics_test.inner (panics_test.go:") {
		t.Errorf("error %v", err)
	}
}

func inner(err error) { panic(err) }
