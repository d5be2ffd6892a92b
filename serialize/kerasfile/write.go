package kerasfile

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/h5dnn/h5dnn/models/keras"
	"github.com/h5dnn/h5dnn/models/weights"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5write"
)

// Contents returns what Save writes of a model with its weights, whose names are those of
// entries. Options of training and the optimizer's state are left out.
func Contents(m *keras.Model) (serialize.Contents, error) {
	text, err := keras.Describe(m)
	if err != nil {
		return serialize.Contents{}, err
	}
	entries := func(yield func(serialize.Entry, error) bool) {
		for path, l := range m.All() {
			for _, w := range l.Weights {
				if !yield(serialize.Entry{Name: path + "/" + w.Name, Array: w.Array}, nil) {
					return
				}
			}
		}
	}
	return serialize.Contents{Entries: entries, Meta: map[string]string{MetaConfig: text}}, nil
}

// A saver writes a file.
type saver struct {
	w       *hdf5write.Writer // of an .h5
	target  target
	meta    map[string]string
	model   *keras.Model // nil without a configuration
	entries map[string]serialize.Entry
	order   []string // names of entries
	written map[string]bool
	err     error // the first one; nothing is written after it
}

// check keeps the first error.
func (s *saver) check(err error) {
	if s.err == nil {
		s.err = err
	}
}

// bytes returns the number of bytes of all elements.
func (s *saver) bytes() int64 { return serialize.ElementBytes(maps.Values(s.entries)) }

// The versions that are written to files, unless the metadata or the configuration say another one.
const (
	legacyVersion  = "2.15.0"
	currentVersion = "3.0.0"
)

// fitsMeta refuses metadata for which files of Keras have no place.
func fitsMeta(meta map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(meta)) {
		if !slices.Contains([]string{MetaConfig, MetaTraining, MetaVersion, MetaBackend, MetaSaved}, key) {
			return fmt.Errorf("metadata %q: files of Keras have %s, %s, %s and %s: %w", key, MetaConfig, MetaTraining, MetaVersion, MetaBackend, storage.ErrState)
		}
	}
	return nil
}

// newSaver collects contents. Their elements are read when they are written.
func newSaver(c serialize.Contents) (*saver, error) {
	s := &saver{meta: c.Meta, entries: map[string]serialize.Entry{}, written: map[string]bool{}}
	for e, err := range c.Entries {
		if err != nil {
			return nil, e.Wrap(err)
		}
		if e.Elements != nil || len(e.Attrs) > 0 {
			return nil, fmt.Errorf("%s: files of Keras have arrays of numbers without attributes: %w", e.Name, storage.ErrState)
		}
		if _, again := s.entries[e.Name]; again {
			return nil, fmt.Errorf("duplicate name %s: %w", e.Name, storage.ErrState)
		}
		s.entries[e.Name] = e
		s.order = append(s.order, e.Name)
	}
	if err := fitsMeta(c.Meta); err != nil {
		return nil, err
	}
	if text := c.Meta[MetaConfig]; text != "" {
		var err error
		if s.model, err = parse(text); err != nil {
			return nil, err
		}
		if s.model != nil && s.model.Layer(strings.TrimSuffix(keras.OptimizerPrefix, "/")) != nil {
			return nil, fmt.Errorf("the layer optimizer has the name under which the state of optimizers is kept; rename it: %w", storage.ErrState)
		}
	}
	return s, nil
}

// version returns the version of Keras whose model this is, or "" if it is not known. Some
// layers and activations, such as hard_sigmoid, compute other values in other versions.
func (s *saver) version() string {
	if s.model == nil {
		return s.meta[MetaVersion]
	}
	return cmp.Or(s.meta[MetaVersion], s.model.Version)
}

// isOld reports whether the model may be one of Keras 1 or 2.
func (s *saver) isOld() bool { return !strings.HasPrefix(s.version(), "3.") }

// put writes an entry as the dataset at path.
func (s *saver) put(path, name string) {
	if s.err != nil {
		return
	}
	e, ok := s.entries[name]
	if !ok {
		s.err = fmt.Errorf("there is no array %s, which the model has: %w", name, storage.ErrState)
		return
	}
	s.written[name] = true
	if err := s.target.Write(path, e.Array); err != nil {
		s.err = fmt.Errorf("%s: %w", name, err)
	}
}

// checkAll returns the error of the saver, or one if an entry was not written.
func (s *saver) checkAll() error {
	for _, name := range s.order {
		switch {
		case s.err != nil:
			return s.err
		case !s.written[name] && isLoRA(name):
			return fmt.Errorf("%s is part of a LoRA, which such a file has merged into the kernel; have Keras save the model as .keras, or write an .h5: %w", name, storage.ErrState)
		case !s.written[name]:
			return fmt.Errorf("%s is not a weight of the model, and such a file has no other place for it; convert leaves it out and reports it; or write a file of another format, such as .safetensors: %w", name, storage.ErrState)
		}
	}
	return s.err
}

// below lists the entries whose names begin with prefix.
func (s *saver) below(prefix string) (names []string) {
	for _, name := range s.order {
		if strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	return names
}

// variablesOf lists the names of the entries of a layer, in the order of Keras.
func (s *saver) variablesOf(l *keras.Layer, prefix string) []string {
	variables, ok, err := keras.Variables(l)
	s.check(err)
	if !ok {
		names := s.below(prefix)
		for _, name := range names {
			rest := strings.TrimPrefix(name, prefix)
			_, err := strconv.Atoi(last(rest))
			if err == nil && strings.Contains(rest, "/") && !strings.Contains(rest, "seed_generator") {
				s.check(fmt.Errorf("layer %s: the order of its weights, such as %s, does not follow from the class %s; write a .keras: %w", l.Name, name, l.Class, storage.ErrState))
			}
		}
		return names
	}
	names := make([]string, len(variables))
	for i, v := range variables {
		names[i] = prefix + v.Name
	}
	return names
}

// optimizer lists the entries of the optimizer in the order of its variables, which is that of the entries
// if it does not follow from the configuration, which known tells.
func (s *saver) optimizer() (entries []string, known bool) {
	if ordered := s.state().Ordered(); ordered != nil {
		return ordered, true
	}
	entries = s.below(keras.OptimizerPrefix)
	slices.SortStableFunc(entries, func(a, b string) int { return position(a) - position(b) })
	return entries, false
}

// state returns the state of the optimizer among the entries.
func (s *saver) state() *keras.OptimizerState {
	arrays := make([]weights.Tensor, len(s.order))
	for i, name := range s.order {
		arrays[i] = weights.Tensor{Name: name, Array: s.entries[name].Array}
	}
	return keras.NewOptimizerState(s.model, s.meta[MetaTraining], arrays)
}

// position returns the number of a variable that has no other name, or 0.
func position(entry string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(entry, keras.OptimizerPrefix))
	if err != nil {
		return 0
	}
	return n
}
