package kerasfile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/models/keras"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5write"
)

// saveLegacy writes an .h5 as Keras 2 does: a whole model if the metadata have its
// configuration, and else the weights only.
func saveLegacy(name string, c serialize.Contents) error {
	s, err := newSaver(c)
	if err != nil {
		return err
	}
	if s.model != nil && s.model.Layer("top_level_model_weights") != nil {
		return fmt.Errorf("the layer top_level_model_weights has the name under which .h5 keeps weights of no layer; rename it, or write a .keras: %w", storage.ErrState)
	}
	if s.w, err = hdf5write.Create(name, hdf5write.CreateOptions{Space: s.bytes()}); err != nil {
		return err
	}
	s.target = s.w
	defer s.w.Abort() // unless it was closed
	s.legacy()
	if err := s.checkAll(); err != nil {
		return err
	}
	return s.w.Close()
}

func (s *saver) legacy() {
	version, backend := cmp.Or(s.version(), legacyVersion), s.meta[MetaBackend]
	if backend == "" {
		backend = "tensorflow"
	}
	root := "/"
	if s.model != nil {
		root = modelGroup
		config := legacyConfig(s.meta[MetaConfig], version)
		if !s.hasLoRA("") {
			var err error
			config, err = keras.WithoutLoRA(config)
			s.check(err)
		}
		s.attributes("/", MetaVersion, version, MetaBackend, backend, MetaConfig, config, MetaTraining, legacyTraining(s.meta[MetaTraining], version))
		s.group(root)
	}
	s.attributes(root, MetaVersion, version, MetaBackend, backend)
	layers := s.legacyLayers()
	var names []string
	for _, l := range layers {
		names = append(names, l.name)
	}
	s.list(root, "layer_names", names)
	for _, l := range append(layers, legacyLayer{topLevelGroup, s.topLevel()}) {
		s.datasets(join(root, l.name), l.entries, l.entries)
	}
	s.legacyOptimizer()
}

func (s *saver) group(path string) {
	if s.err == nil {
		s.err = s.w.Group(path)
	}
}

func (s *saver) attribute(path, name string, value any) {
	if s.err == nil {
		s.err = s.w.SetAttr(path, name, value)
	}
}

// attributes writes strings, by name and value, without those that are empty.
func (s *saver) attributes(path string, pairs ...string) {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			s.attribute(path, pairs[i], pairs[i+1])
		}
	}
}

// headerLimit is how many bytes Keras puts into one attribute, so that it fits the header
// of an object.
const headerLimit = 64512

// list writes an attribute that is a list of names, or several of them if it is long.
func (s *saver) list(path, name string, names []string) {
	if len(names) == 0 {
		s.attribute(path, name, storage.From([]float64{}, 0)) // as h5py does
		return
	}
	longest := 16 // what a string of variable length takes
	for _, one := range names {
		longest = max(longest, len(one))
	}
	parts := (longest*len(names) + headerLimit - 1) / headerLimit
	if parts == 1 {
		s.attribute(path, name, hdf5write.Bytes(names))
		return
	}
	for k := range parts {
		from, to := k*len(names)/parts, (k+1)*len(names)/parts
		s.attribute(path, name+itoa(k), hdf5write.Bytes(names[from:to]))
	}
}

// A legacyLayer is a group of weights.
type legacyLayer struct {
	name    string
	entries []string
}

// legacyLayers lists the layers in the order of the model or, without one, of the entries.
func (s *saver) legacyLayers() (list []legacyLayer) {
	if s.model == nil {
		at := map[string]int{}
		for _, name := range s.order {
			layer, rest := firstPart(name)
			if rest == "" || layer+"/" == keras.OptimizerPrefix {
				continue
			}
			if _, ok := at[layer]; !ok {
				at[layer] = len(list)
				list = append(list, legacyLayer{name: layer})
			}
			list[at[layer]].entries = append(list[at[layer]].entries, name)
		}
		return list
	}
	for i := range s.model.Layers {
		l := &s.model.Layers[i]
		if l.Class == "InputLayer" && s.model.Class == "Sequential" {
			continue
		}
		trained, other := s.legacyWeights(l, "", true)
		list = append(list, legacyLayer{l.Name, append(trained, other...)})
	}
	return list
}

// legacyWeights lists the entries of a layer: those that are trained, and the other ones.
// Keras has them in this order, and in a model within a model over all of its layers.
func (s *saver) legacyWeights(l *keras.Layer, prefix string, on bool) (trained, other []string) {
	on = on && l.Config["trainable"] != false
	prefix += l.Name + "/"
	if l.Model != nil {
		for i := range l.Model.Layers {
			a, b := s.legacyWeights(&l.Model.Layers[i], prefix, on)
			trained, other = append(trained, a...), append(other, b...)
		}
		return trained, other
	}
	names := s.variablesOf(l, prefix)
	if s.hasLoRA(prefix) {
		return divideLoRA(s.below(prefix))
	}
	variables, _, _ := keras.Variables(l)
	for i, name := range names {
		if on && (i >= len(variables) || variables[i].Trainable) {
			trained = append(trained, name)
		} else {
			other = append(other, name)
		}
	}
	return trained, other
}

// isLoRA reports whether an entry is a half of a LoRA, by which Keras 3 trains a frozen kernel.
func isLoRA(name string) bool { return strings.HasPrefix(last(name), "lora_") }

// hasLoRA reports whether an entry whose name begins with prefix is of a LoRA.
func (s *saver) hasLoRA(prefix string) bool { return slices.ContainsFunc(s.below(prefix), isLoRA) }

// divideLoRA divides the entries of a layer with a LoRA: its kernel is not trained.
func divideLoRA(names []string) (trained, other []string) {
	for _, name := range names {
		if kernel := last(name); kernel == "kernel" || kernel == "embeddings" {
			other = append(other, name)
		} else {
			trained = append(trained, name)
		}
	}
	return trained, other
}

// topLevel lists the entries that are of no layer.
func (s *saver) topLevel() (names []string) {
	for _, name := range s.order {
		if !strings.Contains(name, "/") {
			names = append(names, name)
		}
	}
	return names
}

// datasets writes a group of entries under the given names.
func (s *saver) datasets(group string, names, entries []string) {
	s.group(group)
	s.list(group, "weight_names", names)
	for i, name := range names {
		s.put(join(group, name), entries[i])
	}
}

// legacyOptimizer writes the optimizer's variables with the names that Keras 3 has.
func (s *saver) legacyOptimizer() {
	entries, _ := s.optimizer()
	if len(entries) == 0 {
		return
	}
	state, class := s.state(), "optimizer"
	if old := state.OrderedUpTo210(); s.isOld() && old != nil {
		entries = old
	}
	if state.Optimizer != nil {
		class = strings.ToLower(state.Optimizer.Class)
	}
	names := make([]string, len(entries))
	for i, entry := range entries {
		name := strings.TrimPrefix(entry, keras.OptimizerPrefix)
		if slot, weight := firstPart(name); weight != "" && s.isEntry(weight) {
			name = strings.ReplaceAll(weight, "/", "_") + "_" + slot
		}
		names[i] = class + "/" + name
	}
	s.datasets(optimizerGroup, names, entries)
}

func (s *saver) isEntry(name string) bool { _, ok := s.entries[name]; return ok }
