package keras

import (
	"cmp"
	"encoding/json"
	"maps"
	"strings"

	"github.com/h5dnn/h5dnn/checkpoint"
	"github.com/h5dnn/h5dnn/keras"
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
			l.Weights = append(l.Weights, checkpoint.Weight{Name: strings.TrimPrefix(e.Name, path+"/"), Path: e.Name, Array: e.Array})
		}
	}
	for _, l := range layers {
		for i, w := range l.Weights {
			l.Weights[i].Slots = slots[w.Path]
		}
	}
	f.model.Optimizer = f.optimizer()
}

// layersOf returns the layers of a model by path.
func layersOf(m *checkpoint.Model) map[string]*checkpoint.Layer {
	layers := map[string]*checkpoint.Layer{}
	for path, l := range m.All() {
		layers[path] = l
	}
	return layers
}

// owner returns the layer of the named entry, and its path.
func owner(layers map[string]*checkpoint.Layer, entry string) (string, *checkpoint.Layer) {
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
	for _, class := range []string{"Adam", "AdamW", "SGD", "RMSprop", "Adagrad", "Adadelta", "Adamax", "Nadam", "Ftrl"} {
		if strings.EqualFold(name, class) {
			name = class
		}
	}
	*d = described{Class: name, Config: map[string]any{}}
	return nil
}

// compiledOptimizer returns the optimizer that the model was compiled with, or nil.
func (f *File) compiledOptimizer() *described {
	var c compiled
	if json.Unmarshal([]byte(f.Meta()[MetaTraining]), &c) != nil {
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

func (f *File) optimizer() *checkpoint.Optimizer {
	o := f.compiledOptimizer()
	if o == nil {
		return nil
	}
	found := &checkpoint.Optimizer{Class: o.Class, Config: o.Config}
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
func (f *File) setRate(o *checkpoint.Optimizer) {
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

// A slotLayout is the order of the buffers of a class of optimizers in files where they
// have numbers.
type slotLayout struct {
	weight []string // the buffers of a weight, and then those of the next
	blocks []string // buffers of all weights, one after another
	last   []string // variables of no weight
}

// layoutOf returns the layout of an optimizer in files of Keras 3, or of Keras 2.
func layoutOf(o *described, old bool) (s slotLayout, ok bool) {
	momentum, _ := o.Config["momentum"].(float64)
	switch o.Class {
	case "Adam", "AdamW", "Lamb":
		s.weight = []string{"momentum", "velocity"}
		if o.Config["amsgrad"] == true {
			s.blocks = []string{"velocity_hat"}
		}
	case "Nadam":
		s.weight = []string{"momentum", "velocity"}
		if !old {
			s.last = []string{"u_product"}
		}
	case "Adamax":
		s.weight = []string{"momentum", "norm"}
	case "Adagrad":
		s.weight = []string{"accumulator"}
	case "Adadelta":
		s.weight = []string{"accumulated_grad", "accumulated_delta_var"}
	case "Ftrl":
		s.weight = []string{"accumulator", "linear"}
	case "Lion":
		s.weight = []string{"momentum"}
	case "RMSprop":
		s.blocks = []string{"velocity"}
		if momentum > 0 {
			s.blocks = append(s.blocks, "momentum")
		}
		if o.Config["centered"] == true {
			s.blocks = append(s.blocks, "average_gradient")
		}
	case "SGD":
		if momentum != 0 || old {
			s.weight = []string{"momentum"}
		}
	default:
		return s, false
	}
	return s, o.Config["gradient_accumulation_steps"] == nil
}

// slotsByPosition returns the names of the n variables of the optimizer in a file of
// Keras 3, where they have numbers, or nil if they cannot be told: iteration,
// learning_rate unless it is a schedule or the file is one of Keras 2, the averages of
// the weights, and then the buffers of each weight that is trained.
func (f *File) slotsByPosition(n int) []string {
	o := f.compiledOptimizer()
	if f.model == nil || o == nil {
		return nil
	}
	for _, old := range []bool{strings.HasPrefix(f.Meta()[MetaVersion], "2."), true} {
		layout, ok := layoutOf(o, old)
		if !ok {
			return nil
		}
		if names := layout.names(trainable(f.model, "", true), n, o.Config["use_ema"] == true); names != nil {
			return names
		}
	}
	return nil
}

// names returns the names of n variables, with or without learning_rate, or nil if there
// are not as many.
func (s slotLayout) names(trained []string, n int, averages bool) []string {
	names := []string{"iteration", "learning_rate"}
	before := 0
	if averages {
		before = 1
	}
	if n == len(trained)*(before+len(s.weight)+len(s.blocks))+len(s.last)+1 {
		names = names[:1]
	}
	block := func(buffer string) {
		for _, weight := range trained {
			names = append(names, buffer+"/"+weight)
		}
	}
	if averages {
		block("average")
	}
	for _, weight := range trained {
		for _, buffer := range s.weight {
			names = append(names, buffer+"/"+weight)
		}
	}
	for _, buffer := range s.blocks {
		block(buffer)
	}
	names = append(names, s.last...)
	if len(names) != n {
		return nil
	}
	return names
}

// trainable lists the names of the weights that are trained, in the order of the model.
func trainable(m *checkpoint.Model, prefix string, on bool) (list []string) {
	for i := range m.Layers {
		l := &m.Layers[i]
		trained := on && l.Config["trainable"] != false
		if l.Model != nil {
			list = append(list, trainable(l.Model, prefix+l.Name+"/", trained)...)
			continue
		}
		variables, _, _ := keras.Variables(l)
		for _, v := range variables {
			if trained && v.Trainable {
				list = append(list, prefix+l.Name+"/"+v.Name)
			}
		}
	}
	return list
}
