package kerasfile

import (
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
		err = weightsReader{tree: f.tree, file: f}.list()
	}
	if err != nil {
		h5.Close()
		return nil, err
	}
	return f, nil
}

// A weightsReader lists the files of one model in the layout of Keras 3.
type weightsReader struct {
	tree   *tree
	file   *File               // with the model if it is known
	paired bool                // the model is not the file's own: names that the file stores come first
	places map[string][]string // groups of layers by path, and of those that other layers are around
}

func (w weightsReader) add(path, name string) error {
	if !w.tree.isDataset(path) {
		reason := ""
		if strings.Contains(path, "/cell/vars/") && strings.Contains(w.file.Meta()[MetaConfig], `"CuDNN`) {
			reason = "; the weights of a CuDNNLSTM or CuDNNGRU are read from an .h5 only: save the model as .h5 in Keras 2"
		}
		return w.file.Add(serialize.Entry{Name: name}, fmt.Errorf("there is no dataset %s%s: %w", path, reason, storage.ErrState))
	}
	e, err := w.tree.entry(path, name)
	return w.file.Add(e, err)
}

// list lists all datasets. Those of a model of the user's own keep the names of the file, so that
// they go back to their places.
func (w weightsReader) list() error {
	root := layersGroup
	if !w.tree.isGroup(root) {
		root = layersGroup213
	}
	claimed := map[string]bool{}
	var err error
	switch {
	case w.file.model != nil:
		err = w.model(w.file.model, root, "", claimed)
	case w.file.Meta()[MetaConfig] == "":
		err = w.container(root, "", claimed)
	}
	if err != nil {
		return err
	}
	if err := w.optimizer(claimed); err != nil {
		return err
	}
	return w.rest(claimed)
}

// model lists the layers of a model whose configuration is known. They are the members
// of group.
func (w weightsReader) model(m *keras.Model, group, prefix string, claimed map[string]bool) error {
	var named map[string]string
	if w.paired {
		named = w.named(m, group)
	}
	w.places = map[string][]string{}
	if err := eachLayer(m, group, prefix, w.place); err != nil {
		return err
	}
	return eachLayer(m, group, prefix, func(l *keras.Layer, at, prefix string) error {
		if l.Model != nil {
			return nil
		}
		if own, ok := named[strings.TrimSuffix(prefix, "/")]; ok {
			at = own
		}
		return w.layer(l, at, prefix, claimed)
	})
}

// place adds a layer to the places, and the one that it is around.
func (w weightsReader) place(l *keras.Layer, group, prefix string) error {
	path := strings.TrimSuffix(prefix, "/")
	w.places[path] = append(w.places[path], group)
	if inner := innerName(l); inner != "" {
		path = strings.TrimSuffix(path, l.Name) + inner
		w.places[path] = append(w.places[path], join(group, "layer"))
	}
	return nil
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
func (w weightsReader) stored(l *keras.Layer, group, prefix, variable string) string {
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
func (w weightsReader) named(m *keras.Model, group string) map[string]string {
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
func eachLayer(m *keras.Model, group, prefix string, visit func(l *keras.Layer, group, prefix string) error) error {
	for name, l := range keras.Groups(m) {
		at := join(group, name)
		if err := visit(l, at, prefix+l.Name+"/"); err != nil {
			return err
		}
		if l.Model == nil {
			continue
		}
		if err := eachLayer(l.Model, join(at, last(group)), prefix+l.Name+"/", visit); err != nil {
			return err
		}
	}
	return nil
}

// layer lists the variables of a layer, which are below group.
func (w weightsReader) layer(l *keras.Layer, group, prefix string, claimed map[string]bool) error {
	variables, _, err := keras.Variables(l)
	if err != nil {
		return err
	}
	for _, v := range variables {
		path := w.stored(l, group, prefix, v.Path)
		claimed[path] = true
		if v.Copy != "" {
			claimed[join(group, v.Copy)] = true
		}
		if err := w.add(path, prefix+v.Name); err != nil {
			return err
		}
	}
	return w.others(group, prefix, claimed)
}

// others lists the datasets below group that no variable claimed, such as the states of
// random number generators, by their paths without "vars".
func (w weightsReader) others(group, prefix string, claimed map[string]bool) error {
	for _, path := range w.tree.datasets(group) {
		if claimed[path] {
			continue
		}
		claimed[path] = true
		name := strings.ReplaceAll("/"+strings.TrimPrefix(strings.TrimPrefix(path, group), "/"), "/vars/", "/")
		if err := w.add(path, prefix+name[1:]); err != nil {
			return err
		}
	}
	return nil
}

// container lists the layers in a group of a model that is not described.
func (w weightsReader) container(group, prefix string, claimed map[string]bool) error {
	for _, member := range w.tree.members[group] {
		at := join(group, member)
		name := w.layerName(at, member)
		var err error
		switch inner := join(at, last(group)); {
		case w.tree.isGroup(inner):
			err = w.container(inner, prefix+name+"/", claimed)
		default:
			err = w.inferred(at, member, prefix+name+"/", claimed)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// layerName returns the name of the layer that files of newer versions store.
func (w weightsReader) layerName(group, otherwise string) string {
	name, err := w.tree.text(join(group, "vars"), "name")
	if err != nil || name == "" || strings.Contains(name, "/") {
		return otherwise
	}
	return name
}

// inferred lists the variables of a layer whose class and settings follow from the name
// of its group and the shapes of its variables.
func (w weightsReader) inferred(group, member, prefix string, claimed map[string]bool) error {
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
		claimed[path] = true
		e, failed := w.tree.entry(path, prefix+strings.ReplaceAll("/"+relative[i], "/vars/", "/")[1:])
		if failed == nil && err != nil {
			failed = fmt.Errorf("%s: %w", path, err)
		}
		if err == nil {
			e.Name = prefix + names[i]
		}
		if err := w.file.Add(e, failed); err != nil {
			return err
		}
	}
	return nil
}

// optimizer lists the optimizer's variables.
func (w weightsReader) optimizer(claimed map[string]bool) error {
	const group = "/optimizer/vars"
	paths := w.tree.datasets(group)
	names := make([]string, len(paths))
	for i, path := range paths {
		claimed[path] = true
		names[i] = keras.OptimizerPrefix + last(path)
	}
	if known := w.file.slotsByPosition(len(paths), w.fits); known != nil {
		for i, path := range paths {
			if k, err := strconv.Atoi(last(path)); err == nil && k < len(known) {
				names[i] = keras.OptimizerPrefix + known[k]
			}
		}
		w.claimInner(paths, claimed)
	}
	for _, i := range byBuffer(names) {
		if err := w.add(paths[i], names[i]); err != nil {
			return err
		}
	}
	return nil
}

// fits reports whether the optimizer's variables may have these names: scalars are those of no
// weight, and buffers have the shapes of their weights, but for Adafactor's sums.
func (w weightsReader) fits(names []string) bool {
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
func (w weightsReader) claimInner(paths []string, claimed map[string]bool) {
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
		claimed[path] = true
	}
}

// rest lists all other datasets by their paths.
func (w weightsReader) rest(claimed map[string]bool) error {
	for _, path := range w.tree.datasets("/") {
		if claimed[path] {
			continue
		}
		claimed[path] = true
		if err := w.add(path, path[1:]); err != nil {
			return err
		}
	}
	return nil
}
