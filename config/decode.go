package config

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// Decode reads settings, a pointer to a struct whose fields have JSON names, from a
// JSON object. Settings that are left out keep their values. Any other JSON value
// is the value of the first field: {dense: 120} is {dense: {units: 120}}, and of a list of any values
// its only one. The fields of an embedded struct are settings, too. Structs in fields are decoded alike, unless they are json or encoding.TextUnmarshalers. Unknown names and
// values of the wrong type are Errors.
func Decode(raw json.RawMessage, settings any) error {
	value := reflect.ValueOf(settings).Elem()
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	if value.Kind() != reflect.Struct {
		return json.Unmarshal(raw, settings)
	}
	known := fields(value.Type())
	if raw[0] != '{' {
		if len(known) == 0 {
			return Errorf("takes no settings, got %.40s", raw)
		}
		return set(known[0], raw, value)
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal(raw, &given); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		i := slices.IndexFunc(known, func(f field) bool { return f.name == name })
		if i < 0 {
			return At(Unknown("setting", name, names(known)), name)
		}
		if err := set(known[i], given[name], value); err != nil {
			return err
		}
	}
	return nil
}

// A field is a settable field of a struct and its name in JSON.
type field struct {
	name  string
	index []int
}

// fields lists the fields of struct type t, and of structs that it embeds, that have JSON names, in order.
func fields(t reflect.Type) []field {
	var list []field
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := bytes.Cut([]byte(f.Tag.Get("json")), []byte(",")); len(name) > 0 && string(name) != "-" {
			list = append(list, field{string(name), f.Index})
		}
	}
	return list
}

func names(list []field) []string {
	out := make([]string, len(list))
	for i, f := range list {
		out[i] = f.name
	}
	return out
}

// decodeValue decodes raw into target, a pointer, strictly where it holds structs.
func decodeValue(raw json.RawMessage, target any) error {
	value := reflect.ValueOf(target).Elem()
	_, own := target.(json.Unmarshaler)
	if _, text := target.(encoding.TextUnmarshaler); text {
		own = true
	}
	switch {
	case !own && value.Kind() == reflect.Struct:
		return Decode(raw, target)
	case !own && value.Kind() == reflect.Slice && value.Type().Elem().Kind() == reflect.Struct:
		var list []json.RawMessage
		if err := json.Unmarshal(raw, &list); err != nil {
			return Errorf("want a list")
		}
		value.Set(reflect.MakeSlice(value.Type(), len(list), len(list)))
		for i, one := range list {
			if err := Decode(one, value.Index(i).Addr().Interface()); err != nil {
				return At(err, Item{"item", i})
			}
		}
		return nil
	case !own && value.Kind() == reflect.Map && value.Type().Elem().Kind() == reflect.Struct:
		var given map[string]json.RawMessage
		if err := json.Unmarshal(raw, &given); err != nil {
			return Errorf("cannot be %.40s; want names and their values", raw)
		}
		value.Set(reflect.MakeMap(value.Type()))
		for _, name := range slices.Sorted(maps.Keys(given)) {
			one := reflect.New(value.Type().Elem())
			if err := Decode(given[name], one.Interface()); err != nil {
				return At(err, name)
			}
			value.SetMapIndex(reflect.ValueOf(name), one.Elem())
		}
		return nil
	}
	if list, ok := target.(*[]any); ok && len(raw) > 0 && raw[0] != '[' && string(raw) != "null" { // a list of one
		*list = make([]any, 1)
		return json.Unmarshal(raw, &(*list)[0])
	}
	return json.Unmarshal(raw, target)
}

// set decodes one field of the settings.
func set(f field, raw json.RawMessage, settings reflect.Value) error {
	target := settings.FieldByIndex(f.index).Addr().Interface()
	err := decodeValue(raw, target)
	var wrong *json.UnmarshalTypeError
	var inner *Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &inner) || errors.Is(err, ErrInvalid):
		return At(err, f.name)
	case errors.As(err, &wrong) && wrong.Type.Kind() == reflect.Map:
		return At(Errorf("cannot be %.40s; want names and their values", raw), f.name)
	case errors.As(err, &wrong):
		return At(Errorf("cannot be %.40s; want %s", raw, kindName(wrong.Type)), f.name)
	}
	return At(fmt.Errorf("cannot be %.40s; %w", raw, err), f.name)
}

// kindName returns the name of a type in documentation.
func kindName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.String:
		return "text"
	case reflect.Slice:
		return "a list"
	}
	return "an integer"
}
