package nn

import "reflect"

// withDefaults returns options with those fields that are zero taken from
// defaults. Constructors call it; configurations, which can tell a zero from a
// setting that is absent, are decoded over the defaults instead.
func withDefaults[S any](options, defaults S) S {
	fields, from := reflect.ValueOf(&options).Elem(), reflect.ValueOf(defaults)
	for i := range fields.NumField() {
		if f := fields.Field(i); f.IsZero() {
			f.Set(from.Field(i))
		}
	}
	return options
}

// settingsOf returns the options of a layer that a constructor made, and of a literal with
// defaults for zeros.
func settingsOf[S any](made bool, options, defaults S) S {
	if made {
		return options
	}
	return withDefaults(options, defaults)
}
