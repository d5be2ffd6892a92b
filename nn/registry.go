package nn

import "slices"

// A Registry is embedded in a model. It holds parameters, buffers and modules under
// names chosen at run time. Registering nil does nothing; registering a name
// again replaces its value.
type Registry struct{ entries []entry }

type entry struct {
	name string
	held any // an assignable *(*Parameter), *(*Buffer) or *Module
}

// RegisterParameter registers p under name.
func (r *Registry) RegisterParameter(name string, p *Parameter) {
	if p != nil {
		r.register(name, &p)
	}
}

// RegisterBuffer registers b under name.
func (r *Registry) RegisterBuffer(name string, b *Buffer) {
	if b != nil {
		r.register(name, &b)
	}
}

// RegisterModule registers m with its parameters, buffers and modules under name.
func (r *Registry) RegisterModule(name string, m Module) {
	if !isNil(m) {
		r.register(name, &m)
	}
}

func (r *Registry) register(name string, held any) {
	at := slices.IndexFunc(r.entries, func(e entry) bool { return e.name == name })
	if at < 0 {
		r.entries = append(r.entries, entry{name, held})
		return
	}
	r.entries[at].held = held
}

// Parameter returns the parameter registered under name, or nil.
func (r *Registry) Parameter(name string) *Parameter { return registered[*Parameter](r, name) }

// Buffer returns the buffer registered under name, or nil.
func (r *Registry) Buffer(name string) *Buffer { return registered[*Buffer](r, name) }

// Module returns the module registered under name, or nil.
func (r *Registry) Module(name string) Module { return registered[Module](r, name) }

func registered[T any](r *Registry, name string) (held T) {
	for _, e := range r.entries {
		if place, ok := e.held.(*T); ok && e.name == name {
			held = *place
		}
	}
	return held
}
