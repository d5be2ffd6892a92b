package kerasfile

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/h5dnn/h5dnn/models/keras"
	"github.com/h5dnn/h5dnn/storage"
)

// fill gives the layers of the model their weights.
func (f *File) fill(version string) {
	if f.model == nil {
		return
	}
	f.model.Version = cmp.Or(version, f.model.Version)
	layers := layersOf(f.model)
	slots := map[string]map[string]storage.Array{} // by entry, then by buffer
	for e, err := range f.All() {
		if err != nil {
			continue // the layer lacks it, which conversions report
		}
		if rest, ok := strings.CutPrefix(e.Name, optimizerPrefix); ok {
			if slot, entry := firstPart(rest); f.Has(entry) {
				if slots[entry] == nil {
					slots[entry] = map[string]storage.Array{}
				}
				slots[entry][slot] = e.Array
			}
			continue
		}
		if path, l := owner(layers, e.Name); l != nil {
			l.Weights = append(l.Weights, keras.Weight{Name: strings.TrimPrefix(e.Name, path+"/"), Path: e.Name, Array: e.Array})
		}
	}
	for _, l := range layers {
		for i, w := range l.Weights {
			maps.DeleteFunc(slots[w.Path], func(_ string, slot storage.Array) bool {
				return !slices.Equal(slot.Shape, w.Array.Shape) // sums over rows and columns, of Adafactor
			})
			l.Weights[i].Slots = slots[w.Path]
		}
	}
	f.model.Optimizer = f.optimizer()
}

// layersOf returns the layers of a model by path.
func layersOf(m *keras.Model) map[string]*keras.Layer {
	layers := map[string]*keras.Layer{}
	for path, l := range m.All() {
		layers[path] = l
	}
	return layers
}

// owner returns the layer of the named entry, and its path.
func owner(layers map[string]*keras.Layer, entry string) (string, *keras.Layer) {
	for path := entry; ; {
		at := strings.LastIndexByte(path, '/')
		if at < 0 {
			return "", nil
		}
		path = path[:at]
		if l := layers[path]; l != nil {
			return path, l
		}
	}
}

// compiled is the part of training_config, or of compile_config, that says what the
// optimizer is.
type compiled struct {
	Old *described `json:"optimizer_config"`
	New *described `json:"optimizer"`
}

type described struct {
	Class  string         `json:"class_name"`
	Config map[string]any `json:"config"`
}

// UnmarshalJSON reads an object, or a name in any case, such as "adam", of an optimizer
// with the default settings.
func (d *described) UnmarshalJSON(text []byte) error {
	type object described
	var name string
	if json.Unmarshal(text, &name) != nil {
		return json.Unmarshal(text, (*object)(d))
	}
	for class := range defaultRates {
		if strings.EqualFold(name, class) {
			name = class
		}
	}
	*d = described{Class: name, Config: map[string]any{}}
	return nil
}

// compiledOptimizer returns the optimizer that the model was compiled with, or nil.
func (f *File) compiledOptimizer() *described { return optimizerIn(f.Meta()[MetaTraining]) }

// optimizerIn returns the optimizer in a training_config or compile_config, or nil.
func optimizerIn(training string) *described {
	var c compiled
	if json.Unmarshal([]byte(training), &c) != nil {
		return nil
	}
	o := c.New
	if o == nil {
		o = c.Old
	}
	if o != nil {
		o.Class = strings.TrimPrefix(o.Class, "Custom>")
	}
	return o
}

func (f *File) optimizer() *keras.Optimizer {
	o := f.compiledOptimizer()
	if o == nil {
		return nil
	}
	found := &keras.Optimizer{Class: o.Class, Config: o.Config}
	if e, err := f.Lookup(optimizerPrefix + "iteration"); err == nil && e.Array.Len() == 1 {
		if step, err := storage.Read[int64](e.Array); err == nil {
			found.Step = step[0]
		}
	} else {
		return nil
	}
	f.setRate(found)
	return found
}

// setRate gives o the learning rate that the file has as a variable, which callbacks
// change, unless it is that of the configuration.
func (f *File) setRate(o *keras.Optimizer) {
	configured, ok := o.Config["learning_rate"].(float64)
	e, err := f.Lookup(optimizerPrefix + "learning_rate")
	if !ok || err != nil || e.Array.Len() != 1 {
		return
	}
	rate, err := storage.Read[float32](e.Array)
	if err == nil && rate[0] != float32(configured) {
		o.Config = maps.Clone(o.Config)
		o.Config["learning_rate"] = float64(rate[0])
	}
}

// trainable lists the names of the weights that are trained, in the order of the model. Of a layer of
// an unknown class, they are those that buffered returns for the beginning of its names.
func trainable(m *keras.Model, prefix string, on bool, buffered func(prefix string) []string) (list []string) {
	for i := range m.Layers {
		l := &m.Layers[i]
		trained := on && l.Config["trainable"] != false
		if l.Model != nil {
			list = append(list, trainable(l.Model, prefix+l.Name+"/", trained, buffered)...)
			continue
		}
		variables, known, _ := keras.Variables(l)
		if !known && trained {
			list = append(list, buffered(prefix+l.Name+"/")...)
		}
		for _, v := range variables {
			if trained && v.Trainable {
				list = append(list, prefix+l.Name+"/"+v.Name)
			}
		}
	}
	return list
}

// unbuffered is for files whose optimizer's variables have numbers.
func unbuffered(string) []string { return nil }

// withBuffers returns a function that lists the names, in their order, that begin with a prefix and are
// those of a weight for which the optimizer has a buffer.
func withBuffers(names []string) func(prefix string) []string {
	has := map[string]bool{}
	for _, name := range names {
		if rest, ok := strings.CutPrefix(name, optimizerPrefix); ok {
			_, weight := firstPart(rest)
			has[weight] = true
		}
	}
	return below(func() []string {
		return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !has[name] })
	})
}

// below returns a function that lists the names, in their order, that begin with a prefix, once for
// each prefix: of two layers with one name, the first has them.
func below(names func() []string) func(prefix string) []string {
	type numbered struct {
		name string
		at   int
	}
	sorted := sync.OnceValue(func() (list []numbered) {
		for i, name := range names() {
			list = append(list, numbered{name, i})
		}
		slices.SortFunc(list, func(a, b numbered) int { return strings.Compare(a.name, b.name) })
		return list
	})
	listed := map[string]bool{}
	return func(prefix string) (list []string) {
		if listed[prefix] {
			return nil
		}
		listed[prefix] = true
		first, _ := slices.BinarySearchFunc(sorted(), prefix, func(n numbered, prefix string) int { return strings.Compare(n.name, prefix) })
		found := sorted()[first:]
		if end := slices.IndexFunc(found, func(n numbered) bool { return !strings.HasPrefix(n.name, prefix) }); end >= 0 {
			found = found[:end]
		}
		for _, n := range slices.SortedFunc(slices.Values(found), func(a, b numbered) int { return a.at - b.at }) {
			list = append(list, n.name)
		}
		return list
	}
}
