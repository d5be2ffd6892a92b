package nn

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/h5dnn/h5dnn/config"
	"github.com/h5dnn/h5dnn/spell"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// A factory builds values of one kind, such as layers, by the names that
// configurations use.
type factory[T any] struct {
	kind   string                                         // "layer"
	makers map[string]maker[T]                            // by normalised name
	alias  map[string]string                              // normalised other names of makers
	spell  func(settings json.RawMessage) json.RawMessage // to the names of settings here; may be nil
	others func(name string) error                        // what a name is that f does not know, nil for nothing; may be nil
}

type maker[T any] struct {
	name     string
	goType   reflect.Type
	defaults any // settings
	build    func(settings json.RawMessage, d storage.Device) (T, error)
}

// register adds a constructor of values of type M from settings of type S to f.
func register[S any, M, T any](f *factory[T], name string, make func(S) M, defaults S) bool {
	if _, taken := f.makers[spell.Plain(name)]; taken {
		panic(fmt.Sprintf("nn: %s %q registered twice", f.kind, name))
	}
	if f.makers == nil {
		f.makers = map[string]maker[T]{}
	}
	made, options := reflect.TypeFor[M](), reflect.TypeFor[S]()
	if !describable(made, options) {
		panic(fmt.Sprintf("nn: %s %q: %v neither embeds an exported %v nor has a method Config", f.kind, name, made, options))
	}
	optionsOf[made] = options
	f.makers[spell.Plain(name)] = maker[T]{name, reflect.TypeFor[M](), defaults, func(raw json.RawMessage, d storage.Device) (m T, err error) {
		settings := defaults
		if d != nil {
			placeOn(d, &settings)
		}
		if err := config.Decode(raw, &settings); err != nil {
			return m, err
		}
		failed := tensor.Try(func() { m = any(make(settings)).(T) })
		return m, failed
	}}
	return true
}

// A Configured layer, loss, optimizer and so on returns settings that its type does not embed.
type Configured interface {
	Config() any // of the type that the registered constructor takes
}

// optionsOf has the settings that registered constructors take, by the types that they make.
var optionsOf = map[reflect.Type]reflect.Type{}

// describable reports whether values of a type have the settings that a constructor takes.
func describable(made, options reflect.Type) bool {
	if made.Implements(reflect.TypeFor[Configured]()) || made == options || noSettings(options) {
		return true
	}
	if made.Kind() == reflect.Pointer {
		made = made.Elem()
	}
	field, ok := made.FieldByName(options.Name())
	return ok && field.Anonymous && field.IsExported() && field.Type == options
}

// noSettings reports whether options have no fields, as of layers that are only a name.
func noSettings(options reflect.Type) bool {
	return options.Kind() != reflect.Struct || options.NumField() == 0
}

// Settings returns the settings of a value of a registered type, such as a layer or an optimizer: what its method
// Config returns, or else the options that its type embeds or is. It returns nil for other values.
func Settings(made any) any {
	if c, ok := made.(Configured); ok {
		return c.Config()
	}
	options, ok := optionsOf[reflect.TypeOf(made)]
	switch v := reflect.Indirect(reflect.ValueOf(made)); {
	case !ok:
		return nil
	case v.Type() == options:
		return v.Interface()
	case noSettings(options):
		return reflect.Zero(options).Interface()
	default:
		return v.FieldByName(options.Name()).Interface()
	}
}

// A placeable setting builds modules on a device when it is decoded.
type placeable interface{ placeOn(d storage.Device) }

// placeOn makes what is built from settings, a pointer to a struct, have its
// parameters on d: by the field Device, and in the modules among the settings.
func placeOn(d storage.Device, settings any) {
	v := reflect.ValueOf(settings).Elem()
	if v.Kind() != reflect.Struct {
		return
	}
	for i := range v.NumField() {
		if !v.Field(i).CanSet() {
			continue
		}
		switch field := v.Field(i).Addr().Interface().(type) {
		case *storage.Device:
			*field = d
		case placeable:
			field.placeOn(d)
		default:
			if v.Type().Field(i).Anonymous {
				placeOn(d, field)
			}
		}
	}
}

// aliases adds other names for name.
func (f *factory[T]) aliases(name string, others ...string) bool {
	if f.alias == nil {
		f.alias = map[string]string{}
	}
	for _, other := range others {
		f.alias[spell.Plain(other)] = spell.Plain(name)
	}
	return true
}

// fromConfig is build of a description in values that JSON can write.
func (f *factory[T]) fromConfig(description any) (made T, err error) {
	text, err := json.Marshal(description)
	if err != nil {
		return made, fmt.Errorf("%s: %w", f.kind, err)
	}
	return f.build(text, nil)
}

// names lists the names that f knows.
func (f *factory[T]) names() []string {
	var names []string
	for _, m := range f.makers {
		names = append(names, m.name)
	}
	slices.Sort(names)
	return names
}

// nameOf returns the name of v's type in configurations, or false.
func (f *factory[T]) nameOf(v any) (string, bool) {
	for _, m := range f.makers {
		if m.goType == reflect.TypeOf(v) {
			return m.name, true
		}
	}
	return "", false
}

// called returns the name of v's type in configurations, or else the type.
func (f *factory[T]) called(v any) string {
	if name, ok := f.nameOf(v); ok {
		return name
	}
	return fmt.Sprintf("%T", v)
}

// registerPlain adds values of type M, which has no settings, to f.
func registerPlain[M, T any](f *factory[T], name string) bool {
	return register(f, name, func(struct{}) (m M) { return m }, struct{}{})
}

// build returns the value that text describes: a name, or {name: settings}. Its
// parameters are on d, or if d is nil where the type puts them.
func (f *factory[T]) build(text json.RawMessage, d storage.Device) (made T, err error) {
	name, settings, err := f.read(text)
	if err != nil {
		return made, err
	}
	plain := spell.Plain(name)
	if long, ok := f.alias[plain]; ok {
		plain = long
	}
	m, ok := f.makers[plain]
	if !ok {
		return made, config.At(f.unknown(name), name)
	}
	if f.spell != nil {
		settings = f.spell(settings)
	}
	made, err = m.build(settings, d)
	var failed *tensor.Error
	if errors.As(err, &failed) && spell.Plain(failed.Op) == spell.Plain(name) {
		err = failed.Err // at adds the name
	}
	if err != nil {
		return made, config.At(err, name)
	}
	return made, nil
}

// unknown returns the error that f does not know the name.
func (f *factory[T]) unknown(name string) error {
	if f.others != nil {
		if err := f.others(name); err != nil {
			return err
		}
	}
	return config.Unknown(f.kind, name, f.names())
}

func (f *factory[T]) read(text json.RawMessage) (name string, settings json.RawMessage, err error) {
	if json.Unmarshal(text, &name) == nil && name != "" {
		return name, nil, nil
	}
	var named map[string]json.RawMessage
	err = json.Unmarshal(text, &named)
	for _, name := range slices.Sorted(maps.Keys(named)) {
		if want := config.Elsewhere(f.kind, name, nil); want != "" && len(named) > 1 {
			return "", nil, &ConfigError{Err: config.Errorf("%s is no setting of a %s; want %s", name, f.kind, want)}
		}
	}
	if err != nil || len(named) != 1 {
		return "", nil, &ConfigError{Err: config.Errorf("%.40s is not a %s; want a name or {name: settings}", text, f.kind)}
	}
	for name, settings = range named {
	}
	return name, settings, nil
}

// describe returns m in values that JSON can write and build reads.
func (f *factory[T]) describe(m any) (any, error) {
	name, ok := f.nameOf(m)
	if !ok {
		return nil, config.Errorf("%T has no name in configurations; register it", m)
	}
	text, err := json.Marshal(Settings(m))
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
