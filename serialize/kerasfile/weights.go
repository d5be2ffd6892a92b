package kerasfile

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/h5dnn/h5dnn/models/keras"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
)

// A .weights.h5 file of Keras 3 has the objects of the model as groups, and the variables
// of each by their numbers:
//
//	/vars/0                                variables of the model itself
//	/layers/dense_1/vars/0                 of its second Dense, whatever its name
//	/layers/lstm/cell/vars/2               of an object within a layer
//	/layers/functional/layers/dense/vars/1 of a layer of a model within the model
//	/optimizer/vars/5
//
// The names of variables follow from the configuration of the model. A file without it
// has them inferred from the names of classes and from shapes.
const (
	layersGroup    = "/layers"
	layersGroup213 = "/_layer_checkpoint_dependencies" // of Keras 2.13
)

func matchWeights(r io.ReaderAt, size int64) serialize.Confidence {
	if matchIndex(r, size) {
		return serialize.ExactMatch
	}
	return probe(r, size, func(root *hdf5.Object) bool {
		f := root.File()
		return (isGroup(f, layersGroup) || isGroup(f, layersGroup213)) && isGroup(f, "/vars")
	})
}

func openWeights(in serialize.Input) (serialize.File, error) {
	if matchIndex(in, in.Size) {
		return openShards(in)
	}
	h5, err := openHDF5(in)
	if err != nil {
		return nil, err
	}
	f := newFile(nil, func() error { return errors.Join(h5.Close(), in.Close()) })
	f.h5 = h5
	if f.tree, err = treeOf(h5); err == nil {
		err = f.listWeights(false)
	}
	if err != nil {
		h5.Close()
		return nil, err
	}
	return f, nil
}

// A weightsReader lists the files of one model in the layout of Keras 3.
type weightsReader struct {
	tree    *tree
	file    *File               // with the model if it is known
	paired  bool                // the model is not the file's own: names that the file stores come first
	places  map[string][]string // groups of layers by path, and of those that other layers are around
	claimed map[string]bool     // datasets that have a name
	err     error               // the first one
}

// addEntry adds an entry, unless there was an error.
func (w *weightsReader) addEntry(e serialize.Entry, err error) {
	if w.err == nil {
		w.err = w.file.Add(e, err)
	}
}

// add adds the dataset at a path under a name.
func (w *weightsReader) add(path, name string) {
	w.claimed[path] = true
	if !w.tree.isDataset(path) {
		reason := ""
		if strings.Contains(path, "/cell/vars/") && strings.Contains(w.file.Meta()[MetaConfig], `"CuDNN`) {
			reason = "; the weights of a CuDNNLSTM or CuDNNGRU are read from an .h5 only: save the model as .h5 in Keras 2"
		}
		w.addEntry(serialize.Entry{Name: name}, fmt.Errorf("there is no dataset %s%s: %w", path, reason, storage.ErrState))
		return
	}
	w.addEntry(w.tree.entry(path, name))
}

// listWeights lists all datasets. In a model of a user's class they keep the names of the file, so that
// they go back to their places.
func (f *File) listWeights(paired bool) error {
	w := &weightsReader{tree: f.tree, file: f, paired: paired, places: map[string][]string{}, claimed: map[string]bool{}}
	root := layersGroup
	if !w.tree.isGroup(root) {
		root = layersGroup213
	}
	switch {
	case f.model != nil:
		w.model(f.model, root, "")
	case f.Meta()[MetaConfig] == "":
		w.container(root, "")
	}
	w.optimizer()
	for _, path := range w.tree.datasets("/") {
		if !w.claimed[path] {
			w.add(path, path[1:])
		}
	}
	return w.err
}

// model lists the layers of a model whose configuration is known. They are the members
// of group.
func (w *weightsReader) model(m *keras.Model, group, prefix string) {
	var named map[string]string
	if w.paired {
		named = w.named(m, group)
	}
	eachLayer(m, group, prefix, w.place)
	eachLayer(m, group, prefix, func(l *keras.Layer, at, prefix string) {
		if own, ok := named[strings.TrimSuffix(prefix, "/")]; ok {
			at = own
		}
		if l.Model == nil {
			w.layer(l, at, prefix)
		}
	})
}

// place adds a layer to the places, and the one that it is around.
func (w *weightsReader) place(l *keras.Layer, group, prefix string) {
	path := strings.TrimSuffix(prefix, "/")
	w.places[path] = append(w.places[path], group)
	if inner := innerName(l); inner != "" {
		path = strings.TrimSuffix(path, l.Name) + inner
		w.places[path] = append(w.places[path], join(group, "layer"))
	}
}

// innerName returns the name of the layer that l is around, or "".
func innerName(l *keras.Layer) string {
	inner, _ := l.Config["layer"].(map[string]any)
	config, _ := inner["config"].(map[string]any)
	name, _ := config["name"].(string)
	return name
}

// stored returns the path of a variable of a layer below group. Keras stores a variable once,
// where it first meets it: that of a layer that is also within a TimeDistributed may be there.
func (w *weightsReader) stored(l *keras.Layer, group, prefix, variable string) string {
	path := join(group, variable)
	if w.tree.isDataset(path) {
		return path
	}
	if private := join(group, "_"+variable); w.tree.isDataset(private) {
		return private // attributes of attention layers in Keras 2
	}
	layer := strings.TrimSuffix(prefix, "/")
	if own, ok := strings.CutPrefix(variable, "layer/"); ok {
		layer, variable = strings.TrimSuffix(layer, l.Name)+innerName(l), own
	}
	for _, other := range w.places[layer] {
		if at := join(other, variable); w.tree.isDataset(at) {
			return at
		}
	}
	return path
}

// named returns the groups of the layers of m by the names of layers that newer files
// store, or nil unless these are names of the same classes of layers of m.
func (w *weightsReader) named(m *keras.Model, group string) map[string]string {
	groups := map[string]string{}
	for _, member := range w.tree.members[group] {
		at := join(group, member)
		l := m.Layer(w.layerName(at, ""))
		switch {
		case len(w.tree.datasets(at)) == 0:
		case l == nil || l.Model != nil || groups[l.Name] != "" || keras.Snake(l.Class) != counted.ReplaceAllString(member, "") && keras.Snake(l.Class) != member:
			return nil
		default:
			groups[l.Name] = at
		}
	}
	return groups
}

// counted matches the number that the group of a layer has if it is not the first of its
// class.
var counted = regexp.MustCompile(`_\d+$`)

// eachLayer calls visit with every layer of m, the group that .weights.h5 files have for
// it, and the beginning of the names of its entries. Groups of layers are members of
// group. A model within a model comes before its layers.
func eachLayer(m *keras.Model, group, prefix string, visit func(l *keras.Layer, group, prefix string)) {
	for name, l := range keras.Groups(m) {
		at := join(group, name)
		visit(l, at, prefix+l.Name+"/")
		if l.Model != nil {
			eachLayer(l.Model, join(at, last(group)), prefix+l.Name+"/", visit)
		}
	}
}

// layer lists the variables of a layer, which are below group.
func (w *weightsReader) layer(l *keras.Layer, group, prefix string) {
	variables, _, err := keras.Variables(l)
	w.err = cmp.Or(w.err, err)
	for _, v := range variables {
		w.add(w.stored(l, group, prefix, v.Path), prefix+v.Name)
		if v.Copy != "" {
			w.claimed[join(group, v.Copy)] = true
		}
	}
	w.others(group, prefix)
}

// others lists the datasets below group that no variable claimed, such as the states of
// random number generators, by their paths without "vars".
func (w *weightsReader) others(group, prefix string) {
	for _, path := range w.tree.datasets(group) {
		if w.claimed[path] {
			continue
		}
		name := strings.ReplaceAll("/"+strings.TrimPrefix(strings.TrimPrefix(path, group), "/"), "/vars/", "/")
		w.add(path, prefix+name[1:])
	}
}

// container lists the layers in a group of a model that is not described.
func (w *weightsReader) container(group, prefix string) {
	for _, member := range w.tree.members[group] {
		at := join(group, member)
		name := w.layerName(at, member)
		if inner := join(at, last(group)); w.tree.isGroup(inner) {
			w.container(inner, prefix+name+"/")
		} else {
			w.inferred(at, member, prefix+name+"/")
		}
	}
}

// layerName returns the name of the layer that files of newer versions store.
func (w *weightsReader) layerName(group, otherwise string) string {
	name, err := w.tree.text(join(group, "vars"), "name")
	if err != nil || name == "" || strings.Contains(name, "/") {
		return otherwise
	}
	return name
}

// inferred lists the variables of a layer whose class and settings follow from the name
// of its group and the shapes of its variables.
func (w *weightsReader) inferred(group, member, prefix string) {
	paths := w.tree.datasets(group)
	shapes := make([][]int, len(paths))
	relative := make([]string, len(paths))
	for i, path := range paths {
		if e, err := w.tree.entry(path, ""); err == nil {
			shapes[i] = e.Array.Shape
		}
		relative[i] = strings.TrimPrefix(path, group+"/")
	}
	names, err := keras.InferNames(member, relative, shapes)
	for i, path := range paths {
		w.claimed[path] = true
		e, failed := w.tree.entry(path, prefix+strings.ReplaceAll("/"+relative[i], "/vars/", "/")[1:])
		if failed == nil && err != nil {
			failed = fmt.Errorf("%s: %w", path, err)
		}
		if err == nil {
			e.Name = prefix + names[i]
		}
		w.addEntry(e, failed)
	}
}

// optimizer lists the optimizer's variables.
func (w *weightsReader) optimizer() {
	const group = "/optimizer/vars"
	paths := w.tree.datasets(group)
	names := make([]string, len(paths))
	for i, path := range paths {
		names[i] = keras.OptimizerPrefix + last(path)
	}
	if known := w.file.slotsByPosition(len(paths), w.fits); known != nil {
		for i, path := range paths {
			if k, err := strconv.Atoi(last(path)); err == nil && k < len(known) {
				names[i] = keras.OptimizerPrefix + known[k]
			}
		}
		w.claimInner(paths)
	}
	for _, i := range byBuffer(names) {
		w.add(paths[i], names[i])
	}
}

// fits reports whether the optimizer's variables may have these names: scalars are those of no
// weight, and buffers have the shapes of their weights, but for Adafactor's sums.
func (w *weightsReader) fits(names []string) bool {
	for i, name := range names {
		path := join("/optimizer/vars", itoa(i))
		if !w.tree.isDataset(path) {
			return false
		}
		buffer, weight := firstPart(name)
		e, err1 := w.tree.entry(path, "")
		of, err2 := w.file.Lookup(weight)
		if err1 != nil || weight != "" && err2 != nil || buffer == "r" || buffer == "c" {
			continue
		}
		if !slices.Equal(e.Array.Shape, of.Array.Shape) {
			return false
		}
	}
	return true
}

// innerVars is the group of the variables of the optimizer within a LossScaleOptimizer, which are
// the last ones of the LossScaleOptimizer, too.
const innerVars = "/optimizer/inner_optimizer/vars"

// claimInner claims the second copies of the variables of an optimizer within another one.
func (w *weightsReader) claimInner(paths []string) {
	copies := w.tree.datasets(innerVars)
	shapes := map[string][]int{}
	for _, path := range slices.Concat(paths, copies) {
		if e, err := w.tree.entry(path, ""); err == nil {
			shapes[path] = e.Array.Shape
		}
	}
	own := len(paths) - len(copies)
	for k := range copies {
		at := join(innerVars, itoa(k))
		if !slices.Equal(shapes[at], shapes["/optimizer/vars/"+itoa(own+k)]) {
			return
		}
	}
	for _, path := range copies {
		w.claimed[path] = true
	}
}
