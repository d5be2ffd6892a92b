package kerasfile

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/models/keras"
	"github.com/h5dnn/h5dnn/models/weights"
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
		if rest, ok := strings.CutPrefix(e.Name, keras.OptimizerPrefix); ok {
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

func (f *File) optimizer() *keras.Optimizer {
	o := keras.OptimizerIn(f.Meta()[MetaTraining])
	if o == nil || f.unknownState {
		return nil
	}
	if e, err := f.Lookup(keras.OptimizerPrefix + "iteration"); err == nil && e.Array.Len() == 1 {
		if step, err := storage.Read[int64](e.Array); err == nil {
			o.Step = step[0]
		}
	} else {
		return nil
	}
	f.setRate(o)
	return o
}

// setRate gives o the learning rate that the file has as a variable, which callbacks
// change, unless it is that of the configuration.
func (f *File) setRate(o *keras.Optimizer) {
	configured, ok := o.Config["learning_rate"].(float64)
	e, err := f.Lookup(keras.OptimizerPrefix + "learning_rate")
	if !ok || err != nil || e.Array.Len() != 1 {
		return
	}
	rate, err := storage.Read[float32](e.Array)
	if err == nil && rate[0] != float32(configured) {
		o.Config = maps.Clone(o.Config)
		o.Config["learning_rate"] = float64(rate[0])
	}
}

// slotsByPosition returns the names of n variables of the optimizer that have numbers, or nil if they
// cannot be told.
func (f *File) slotsByPosition(n int, fits func(names []string) bool) []string {
	var arrays []weights.Tensor
	for e := range f.All() {
		arrays = append(arrays, weights.Tensor{Name: e.Name, Array: e.Array})
	}
	return keras.NewOptimizerState(f.model, f.Meta()[MetaTraining], arrays).Numbered(f.Meta()[MetaVersion], n, fits)
}
