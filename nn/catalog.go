package nn

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/h5dnn/h5dnn/spell"
	"github.com/h5dnn/h5dnn/tensor"
)

// A catalog is the things of one kind that configurations know by name.
type catalog[T any] struct {
	kind string              // "layer"
	made map[string]maker[T] // by plain name
}

type maker[T any] struct {
	name  string
	kind  reflect.Type
	build func(settings json.RawMessage) (T, error)
}

// enter adds to c how things of type M are made of settings S.
func enter[S any, M, T any](c *catalog[T], name string, make func(S) M, defaults S) bool {
	if _, taken := c.made[spell.Plain(name)]; taken {
		panic(fmt.Sprintf("nn: %s %q registered twice", c.kind, name))
	}
	if c.made == nil {
		c.made = map[string]maker[T]{}
	}
	c.made[spell.Plain(name)] = maker[T]{name, reflect.TypeFor[M](), func(raw json.RawMessage) (m T, err error) {
		settings := defaults
		if err := Decode(raw, &settings); err != nil {
			return m, err
		}
		failed := tensor.Try(func() { m = any(make(settings)).(T) })
		return m, failed
	}}
	return true
}

// names lists what c holds.
func (c *catalog[T]) names() []string {
	var names []string
	for _, m := range c.made {
		names = append(names, m.name)
	}
	slices.Sort(names)
	return names
}

// nameOf returns what configurations call values of v's type, or false.
func (c *catalog[T]) nameOf(v any) (string, bool) {
	for _, m := range c.made {
		if m.kind == reflect.TypeOf(v) {
			return m.name, true
		}
	}
	return "", false
}

// build makes what text describes: a name, or {name: settings}.
func (c *catalog[T]) build(text json.RawMessage) (made T, err error) {
	name, settings, err := c.read(text)
	if err != nil {
		return made, err
	}
	m, ok := c.made[spell.Plain(name)]
	if !ok {
		return made, at(name, unknown(c.kind, name, c.names()))
	}
	made, err = m.build(settings)
	var failed *tensor.Error
	if errors.As(err, &failed) && spell.Plain(failed.Op) == spell.Plain(name) {
		err = failed.Err // whose name at adds
	}
	if err != nil {
		return made, at(name, err)
	}
	return made, nil
}

func (c *catalog[T]) read(text json.RawMessage) (name string, settings json.RawMessage, err error) {
	if json.Unmarshal(text, &name) == nil && name != "" {
		return name, nil, nil
	}
	var named map[string]json.RawMessage
	if err := json.Unmarshal(text, &named); err != nil || len(named) != 1 {
		return "", nil, &ConfigError{Err: mistake(ErrConfig, "%.40s is no %s; want a name, or {name: settings}", text, c.kind)}
	}
	for name, settings = range named {
	}
	return name, settings, nil
}

// describe returns m in values that JSON can write, such as build reads.
func (c *catalog[T]) describe(m any) (any, error) {
	name, ok := c.nameOf(m)
	configured, can := m.(interface{ Config() any })
	if !ok || !can {
		return nil, mistake(ErrConfig, "%T has no name in configurations; register it", m)
	}
	text, err := json.Marshal(configured.Config())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var settings map[string]any
	if err := json.Unmarshal(text, &settings); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(settings) == 0 {
		return name, nil
	}
	return map[string]any{name: settings}, nil
}

// Decode reads settings, a pointer to a struct whose fields have JSON names, from
// JSON: an object, or the value of the first field alone. Names that are not
// there, and values that do not fit, are ConfigErrors.
func Decode(raw json.RawMessage, settings any) error {
	kind := reflect.TypeOf(settings).Elem()
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || string(raw) == "null" || kind.Kind() == reflect.Map {
		return nil
	}
	known := settingsOf(kind)
	if raw[0] != '{' {
		if len(known) == 0 {
			return mistake(ErrConfig, "takes no settings, got %.40s", raw)
		}
		return set(known[0], raw, settings)
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal(raw, &given); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(known, name) {
			return at(name, unknown("setting", name, known))
		}
		if err := set(name, given[name], settings); err != nil {
			return err
		}
	}
	return nil
}

// set gives one setting its value.
func set(name string, value json.RawMessage, settings any) error {
	err := json.Unmarshal(fmt.Appendf(nil, "{%q: %s}", name, value), settings)
	var wrong *json.UnmarshalTypeError
	var inner *ConfigError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &inner):
		return at(name, inner)
	case errors.As(err, &wrong):
		return at(name, mistake(ErrConfig, "cannot be %.40s; want %v", value, wrong.Type))
	}
	return at(name, mistake(ErrConfig, "cannot be %.40s; %v", value, err))
}

// settingsOf lists the JSON names of t's fields, in order.
func settingsOf(t reflect.Type) []string {
	var names []string
	for i := range t.NumField() {
		if name, _, _ := bytes.Cut([]byte(t.Field(i).Tag.Get("json")), []byte(",")); len(name) > 0 && string(name) != "-" {
			names = append(names, string(name))
		}
	}
	return names
}
