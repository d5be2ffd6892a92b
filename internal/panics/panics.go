// Package panics turns panics in code that the module calls and does not contain, such as a
// program's model or dataset, into errors that name it.
package panics

import (
	"fmt"
	"path"
	"runtime"
	"strings"
)

// Recover is deferred. It sets *err if there was a panic: to an error with the function and line
// of the panic, and the function outside this module that called it.
func Recover(err *error) {
	switch value := recover().(type) {
	case nil:
	case error:
		*err = fmt.Errorf("panic in %s: %w", where(), value)
	default:
		*err = fmt.Errorf("panic in %s: %v", where(), value)
	}
}

// where names the function that panicked. Recover calls it.
func where() string {
	pcs := make([]uintptr, 1<<10)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	var list []runtime.Frame // from the first panic on: later ones are in deferred functions, on top
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		if f.Function == "runtime.gopanic" {
			list = list[:0]
		} else if !strings.HasPrefix(f.Function, "runtime.") {
			list = append(list, f)
		}
	}
	if len(list) == 0 {
		return "unknown code"
	}
	for i, f := range list {
		if own(f.Function) {
			continue
		}
		if i == 0 {
			return name(f)
		}
		return name(list[0]) + ", called by " + name(f)
	}
	return name(list[0])
}

// own reports whether a function is part of this module. Its tests stand for other code.
func own(function string) bool {
	return strings.HasPrefix(function, "github.com/h5dnn/h5dnn/") && !strings.Contains(function, "_test.")
}

// name returns a function without the path of its package, and its line.
func name(f runtime.Frame) string {
	return fmt.Sprintf("%s (%s:%d)", path.Base(f.Function), path.Base(f.File), f.Line)
}
