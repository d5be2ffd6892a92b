package keras

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// settings reads the settings of a layer. It keeps the first error of the layer and of the layers within, which failed
// returns, and goes on with other values until its caller looks.
type settings struct {
	*Layer
	path string // of the layer in its model
	call Arguments
	err  *error
}

func settingsOf(l *Layer) *settings { return &settings{Layer: l, path: l.Name, err: new(error)} }

// of returns the settings of another layer that stands for l, or is within, and has its errors in common.
func (l *settings) of(other *Layer) *settings { return &settings{other, l.path, l.call, l.err} }

// failed returns the first error, or nil.
func (l *settings) failed() error { return *l.err }

func (l *settings) fail(err error) {
	if *l.err == nil {
		*l.err = err
	}
}

// refuse fails with an error of kind weights.ErrUnsupported.
func (l *settings) refuse(format string, args ...any) { l.fail(unsupported(format, args...)) }

// invalid fails with an error of kind ErrConfig.
func (l *settings) invalid(format string, args ...any) {
	l.fail(fmt.Errorf(format+": %w", append(args, ErrConfig)...))
}

// setting returns a setting, or otherwise if it is missing or null.
func setting[T any](l *settings, name string, otherwise T, want string, convert func(any) (T, bool)) T {
	value := l.Config[name]
	if value == nil {
		return otherwise
	}
	x, ok := convert(value)
	if !ok {
		l.fail(fmt.Errorf("%s %s: setting %s is %.40s; want %s", strings.ToLower(l.Class), l.Name, name, fmt.Sprint(value), want))
		return otherwise
	}
	return x
}

// Int returns an integer setting, or otherwise if it is missing or null.
func (l *settings) Int(name string, otherwise int) int {
	return setting(l, name, otherwise, "an integer", integer)
}

// Float returns a numeric setting, or otherwise if it is missing or null.
func (l *settings) Float(name string, otherwise float64) float64 {
	return setting(l, name, otherwise, "a number", number)
}

// Text returns a setting that is a string, or otherwise if it is missing or null.
func (l *settings) Text(name, otherwise string) string {
	return setting(l, name, otherwise, "a string", func(v any) (s string, ok bool) { s, ok = v.(string); return s, ok })
}

// Bool returns a setting that is true or false, or otherwise if it is missing or null.
func (l *settings) Bool(name string, otherwise bool) bool {
	return setting(l, name, otherwise, "true or false", func(v any) (b, ok bool) { b, ok = v.(bool); return b, ok })
}

// Ints returns a setting that is an integer or a list of them, or nil if it is missing or null.
func (l *settings) Ints(name string) []int {
	return setting(l, name, nil, "integers", integers)
}

// each returns a setting with a number for each of the given number of axes.
func (l *settings) each(name string, axes, otherwise int) []int {
	list := l.Ints(name)
	switch len(list) {
	case axes:
		return list
	case 0:
		list = []int{otherwise}
	case 1:
	default:
		l.invalid("%s %v; want %d numbers", name, list, axes)
	}
	return slices.Repeat(list[:1], axes)
}

// integer returns a JSON number, or an int, as an int.
func integer(value any) (int, bool) {
	if n, ok := value.(int); ok {
		return n, true
	}
	x, ok := number(value)
	return int(x), ok && x == float64(int(x))
}

// number returns a JSON number, or an int, as a float64.
func number(value any) (float64, bool) {
	switch x := value.(type) {
	case int:
		return float64(x), true
	case float64:
		return x, true
	case json.Number:
		f, err := x.Float64()
		return f, err == nil
	}
	return 0, false
}

// integers returns a list of integers, or one as a list.
func integers(value any) ([]int, bool) {
	if list, ok := value.([]int); ok {
		return list, true
	}
	values, ok := value.([]any)
	if !ok {
		values = []any{value}
	}
	list := make([]int, len(values))
	for i, v := range values {
		if list[i], ok = integer(v); !ok {
			return nil, false
		}
	}
	return list, true
}
