package train

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
)

// A Resumable hook or callback has state that run files keep under its name. A second one of the same name has its state under
// the name and 2, and so on.
type Resumable interface {
	Name() string
	State() iter.Seq2[string, storage.Array]
	// Load takes what State yielded. It is called before the first step of a run that is resumed, of Fit that is called again too.
	Load(params iter.Seq2[string, *nn.Parameter], state iter.Seq2[string, storage.Array]) error
}

// namedStates are the states of the hooks or callbacks of a run.
type namedStates struct {
	of     []Resumable
	loaded map[string]storage.Array // of a run file, for those that are yet to come
}

// names yields each with its name, made unique.
func (s *namedStates) names(yield func(string, Resumable) bool) {
	count := map[string]int{}
	for _, one := range s.of {
		name := one.Name()
		if count[name]++; count[name] > 1 {
			name = fmt.Sprint(name, count[name])
		}
		if !yield(name, one) {
			return
		}
	}
}

// arrays yields all states by name and array, what was loaded for others too.
func (s *namedStates) arrays(yield func(string, storage.Array) bool) {
	for name, a := range byName(s.loaded) {
		if !yield(name, a) {
			return
		}
	}
	for name, one := range s.names {
		for key, a := range one.State() {
			if !yield(name+"/"+key, a) {
				return
			}
		}
	}
}

// load reads the states of a run file, for when it is known whose they are.
func (s *namedStates) load(arrays named) error {
	s.loaded = map[string]storage.Array{}
	for name, a := range arrays {
		host, err := a.To(storage.CPU)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		s.loaded[name] = host
	}
	return nil
}

// setStates makes s the states of the Resumable ones among all, and gives them the loaded arrays. The kind is for messages.
func setStates[T any](s *namedStates, params iter.Seq2[string, *nn.Parameter], kind string, all []T) error {
	*s = namedStates{loaded: maps.Collect(s.arrays)}
	for _, one := range all {
		if r, ok := any(one).(Resumable); ok {
			s.of = append(s.of, r)
		}
	}
	for name, one := range s.names {
		prefix := name + "/"
		state := maps.Collect(under(maps.All(s.loaded), prefix))
		if len(state) == 0 {
			continue
		}
		maps.DeleteFunc(s.loaded, func(name string, _ storage.Array) bool { return strings.HasPrefix(name, prefix) })
		if err := one.Load(params, byName(state)); err != nil {
			return fmt.Errorf("%s %s: %w", kind, name, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.loaded)) {
		return fmt.Errorf("resume: the run has state %s, but no %s of that name: %w", name, kind, storage.ErrState)
	}
	return nil
}

// numbersOf returns the numbers of an array of a state: n of them, or any number if n is negative.
func numbersOf(state map[string]storage.Array, name string, n int) ([]float64, error) {
	a, ok := state[name]
	if !ok || a.Rank() != 1 || n >= 0 && a.Len() != n {
		want := "a list of numbers"
		if n >= 0 {
			want = fmt.Sprintf("%d numbers", n)
		}
		return nil, fmt.Errorf("state %s is of shape %v; want %s: %w", name, a.Shape, want, storage.ErrState)
	}
	return storage.Read[float64](a)
}
