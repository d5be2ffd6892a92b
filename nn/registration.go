package nn

import (
	"cmp"
	"reflect"
	"slices"
)

// A Registration is a name that configurations can use.
type Registration struct {
	Kind     string       // layer, loss, metric, optimizer or schedule
	Name     string       // as Describe writes it
	Aliases  []string     // other names, in lower case without separators
	Type     reflect.Type // of what it makes
	Defaults any          // its settings where a configuration leaves them out
}

// Registrations lists what is registered, by kind and name.
func Registrations() []Registration {
	all := slices.Concat(layers.registrations(), losses.registrations(), metrics.registrations(), optimizers.registrations(), schedules.registrations())
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
