package kerasfile

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/h5dnn/h5dnn/models/keras"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5write"
)

func itoa(n int) string { return strconv.Itoa(n) }

// saveWeights writes a .weights.h5, in which the configuration of the model says where the
// weights are. The file itself does not have the configuration.
func saveWeights(name string, c serialize.Contents) error {
	if strings.HasSuffix(name, IndexExtension) {
		return SaveShards(name, c, ShardOptions{})
	}
	s, err := newSaver(c)
	if err != nil {
		return err
	}
	return s.saveWeights(name)
}

func (s *saver) saveWeights(name string) error {
	w, err := hdf5write.Create(name, hdf5write.CreateOptions{Space: s.bytes()})
	if err != nil {
		return err
	}
	defer w.Abort() // unless it was closed
	s.target = w
	if err := s.weights(); err != nil {
		return err
	}
	return w.Close()
}

// weights writes the entries as the variables of the model.
func (s *saver) weights() error {
	if s.model == nil {
		s.storedVars()
		return s.err
	}
	s.modelVars()
	for _, name := range s.order { // such as metrics/mean/vars/0
		if strings.Contains(name, "/vars/") && !s.written[name] {
			s.put("/"+name, name)
		}
	}
	return s.checkAll()
}

// numbered is the name of a variable of an unknown model, d1/vars/0, and of its optimizer.
var numbered = regexp.MustCompile(`^(?:(?:.*/)?vars/|(optimizer/(?:.*/)?))\d+$`)

// storedVars writes the variables of an unknown model where a .weights.h5 had them.
func (s *saver) storedVars() {
	for _, group := range []string{layersGroup, "/vars"} { // by which such files are known
		s.check(s.target.Group(group))
	}
	for _, name := range s.order {
		match := numbered.FindStringSubmatch(name)
		if match == nil {
			s.check(fmt.Errorf("a .weights.h5 has numbers instead of names such as %s, and they follow from the model: the metadata must have its %s: %w", name, MetaConfig, storage.ErrState))
			return
		}
		path := "/" + name
		if group := match[1]; group != "" && !strings.HasSuffix(group, "vars/") {
			path = "/" + group + "vars/" + strings.TrimPrefix(name, group)
		}
		s.put(path, name)
	}
}

// modelVars writes the variables of the layers and the optimizer.
func (s *saver) modelVars() {
	s.vars("", s.model.Name)
	eachLayer(s.model, layersGroup, "", s.layerVars)
	s.optimizerVars()
}

// vars makes the group of the variables of an object.
func (s *saver) vars(group, name string) {
	if s.err == nil {
		s.err = s.target.Group(join(group, "vars"), hdf5write.Attr{Name: "name", Value: name})
	}
}

func (s *saver) layerVars(l *keras.Layer, group, prefix string) {
	s.vars(group, l.Name)
	if l.Model != nil {
		return
	}
	variables, ok, err := keras.Variables(l)
	s.check(err)
	for _, v := range variables {
		s.put(join(group, v.Path), prefix+v.Name)
		if v.Copy != "" {
			s.put(join(group, v.Copy), prefix+v.Name)
		}
	}
	if l.Class == "MultiHeadAttention" && strings.HasPrefix(s.version(), "2.") {
		s.linkPrivate(group, variables)
	}
	for _, name := range s.below(prefix) { // such as dropout/seed_generator/0
		rest := strings.TrimPrefix(name, prefix)
		if s.written[name] || ok && !strings.Contains(rest, "seed_generator") {
			continue
		}
		at := strings.LastIndexByte(rest, '/') + 1
		if _, err := strconv.Atoi(rest[at:]); err != nil && !strings.Contains(rest, "seed_generator") {
			s.check(fmt.Errorf("layer %s: where %s is in such a file does not follow from the class %s; write an .h5: %w", l.Name, name, l.Class, storage.ErrState))
		}
		s.put(join(group, rest[:at]+"vars/"+rest[at:]), name)
	}
}

// linkPrivate gives the variables of an attention the names of Keras 2, too, where its layers
// are private attributes: Keras 2 and 3 both load the file. Shards are of Keras 3 alone.
func (s *saver) linkPrivate(group string, variables []keras.Variable) {
	w, ok := s.target.(interface {
		HardLink(path, target string) error
	})
	for i := 0; ok && i < len(variables) && s.err == nil; i++ {
		s.err = w.HardLink(join(group, "_"+variables[i].Path), join(group, variables[i].Path))
	}
}

func (s *saver) optimizerVars() {
	entries, known := s.optimizer()
	if len(entries) == 0 {
		return
	}
	isBuffer := func(entry string) bool {
		return strings.Contains(strings.TrimPrefix(entry, keras.OptimizerPrefix), "/")
	}
	if buffer := slices.IndexFunc(entries, isBuffer); !known && buffer >= 0 {
		s.check(fmt.Errorf("the order of the optimizer's variables, such as %s, does not follow from its settings, and this format numbers them; h5dnn strip leaves them out", strings.TrimPrefix(entries[buffer], keras.OptimizerPrefix)))
		return
	}
	s.vars("/optimizer", "optimizer")
	for i, name := range entries {
		s.put("/optimizer/vars/"+itoa(i), name)
	}
	s.innerVars(entries)
}

// innerVars writes the second copies of the variables of the optimizer within a LossScaleOptimizer:
// all but its own ones, which Keras 3 alone has.
func (s *saver) innerVars(entries []string) {
	if o := keras.OptimizerIn(s.meta[MetaTraining]); o == nil || !o.IsScaled() {
		return
	}
	own := max(0, slices.Index(entries, keras.OptimizerPrefix+"inner_optimizer/iteration"))
	s.vars("/optimizer/inner_optimizer", "optimizer")
	for i, name := range entries[own:] {
		s.put(join(innerVars, itoa(i)), name)
	}
}
