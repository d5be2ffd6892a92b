package nn

import (
	"cmp"
	"reflect"
	"slices"
)

// A Registration is a name that configurations can use.
type Registration struct {
	Kind     string       // layer, initializer, loss, metric, optimizer, schedule, or that of a [Kind]
	Name     string       // as Describe writes it
	Aliases  []string     // other names, in lower case without separators
	Type     reflect.Type // of what it makes
	Defaults any          // its settings where a configuration leaves them out
}

// Registrations lists what is registered, by kind and name.
func Registrations() []Registration {
	all := slices.Concat(layers.registrations(), initializers.registrations(), losses.registrations(), metrics.registrations(), optimizers.registrations(), schedules.registrations())
	slices.SortFunc(all, func(a, b Registration) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return all
}

func (f *factory[T]) registrations() []Registration {
	var list []Registration
	for plain, m := range f.makers {
		r := Registration{Kind: f.kind, Name: m.name, Type: m.goType, Defaults: m.defaults}
		for alias, of := range f.alias {
			if of == plain {
				r.Aliases = append(r.Aliases, alias)
			}
		}
		slices.Sort(r.Aliases)
		list = append(list, r)
	}
	return list
}

// A Kind has constructors of values of one kind outside this package, such as callbacks, by the names that
// configurations use.
type Kind[T any] struct{ made factory[T] }

// NewKind returns a kind without any values; its name is for messages.
func NewKind[T any](name string) *Kind[T] { return &Kind[T]{factory[T]{kind: name}} }

// Register adds values of type M to k, as RegisterLayer does to the layers.
func Register[S any, M, T any](k *Kind[T], name string, make func(settings S) M, defaults S) bool {
	return register(&k.made, name, make, defaults)
}

// FromConfig builds the value that description describes: a name, or {name: settings}.
func (k *Kind[T]) FromConfig(description any) (T, error) { return k.made.fromConfig(description) }

// Describe returns the settings of made as FromConfig reads them.
func (k *Kind[T]) Describe(made T) (any, error) { return k.made.describe(made) }

// Name returns the name of made in configurations, or else its type.
func (k *Kind[T]) Name(made T) string { return k.made.called(made) }

// Registrations lists the registered entries, by name.
func (k *Kind[T]) Registrations() []Registration {
	all := k.made.registrations()
	slices.SortFunc(all, func(a, b Registration) int { return cmp.Compare(a.Name, b.Name) })
	return all
}
