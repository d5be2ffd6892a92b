package byname

import (
	"encoding/json"
	"errors"
	"reflect"
	"strconv"
	"strings"
)

// fromPython returns a default value, in Python's syntax, as JSON.
func fromPython(text string) json.RawMessage {
	switch text {
	case "None":
		return json.RawMessage("null")
	case "True", "False":
		return json.RawMessage(strings.ToLower(text))
	}
	return json.RawMessage(strings.ReplaceAll(text, "'", `"`))
}

// decode returns a setting as a value of type to. Its error says what is wanted.
func decode(value json.RawMessage, to reflect.Type) (reflect.Value, error) {
	made := reflect.New(to)
	null := string(value) == "null"
	switch into := made.Interface().(type) {
	case *any:
		n, ok := number(value)
		if !ok && !null {
			return made, errors.New("a number")
		}
		if ok {
			*into = n
		}
	case *[]int: // null is nil
		var one int
		if json.Unmarshal(value, &one) == nil && !null {
			*into = []int{one}
		} else if json.Unmarshal(value, into) != nil {
			return made, errors.New("an integer or a list of integers")
		}
	case *float64:
		x, ok := float(value)
		if !ok {
			return made, errors.New("a number")
		}
		*into = x
	case **float64: // null is nil
		x, ok := float(value)
		if !ok && !null {
			return made, errors.New("a number or null")
		}
		if ok {
			*into = &x
		}
	default:
		if null || json.Unmarshal(value, into) != nil {
			return made, errors.New(map[reflect.Kind]string{reflect.Int: "an integer", reflect.Bool: "true or false", reflect.String: "a string"}[to.Kind()])
		}
	}
	return made.Elem(), nil
}

// float returns a real number as a float64.
func float(value json.RawMessage) (float64, bool) {
	switch n, _ := number(value); n := n.(type) {
	case int64:
		return float64(n), true
	case uint64:
		return float64(n), true
	case float64:
		return n, true
	}
	return 0, false
}

// number returns a number or a bool as the Go value whose type says its kind: an integer, a float if it has a point or
// an exponent, or a complex number.
func number(value json.RawMessage) (any, bool) {
	text := string(value)
	switch text {
	case "true", "false":
		return text == "true", true
	case `"nan"`, `"inf"`, `"-inf"`:
		x, err := strconv.ParseFloat(strings.Trim(text, `"`), 64)
		return x, err == nil
	}
	if strings.HasPrefix(text, `"`) {
		x, err := strconv.ParseComplex(strings.Trim(text, `"`), 128)
		return x, err == nil
	}
	if !strings.ContainsAny(text, ".eE") {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n, true
		}
		n, err := strconv.ParseUint(text, 10, 64)
		return n, err == nil
	}
	x, err := strconv.ParseFloat(text, 64)
	return x, err == nil
}
