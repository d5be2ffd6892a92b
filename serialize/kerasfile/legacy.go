package kerasfile

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/models/keras"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
)

// A file of Keras 1 or 2, or an .h5 of Keras 3:
//
//	/                        attributes keras_version, backend, model_config, training_config
//	/model_weights           attribute layer_names
//	/model_weights/LAYER     attribute weight_names
//	/model_weights/LAYER/…   a dataset for each weight, by its name, which has slashes
//	/optimizer_weights       attribute weight_names, and the datasets
//
// A file of weights only has the content of model_weights as its root.
const (
	modelGroup     = "/model_weights"
	optimizerGroup = "/optimizer_weights"
	topLevelGroup  = "top_level_model_weights"
)

// matchLegacy finds the list of layers where legacyRoot does. A file that lists them
// elsewhere is not one that Keras wrote.
func matchLegacy(r io.ReaderAt, size int64) serialize.Confidence {
	return probe(r, size, func(root *hdf5.Object) bool {
		if o, err := root.File().Lookup(modelGroup); err == nil && o.Kind == hdf5.KindGroup {
			root = o
		}
		return hasAttribute(root, "layer_names", "layer_names0")
	})
}

func openLegacy(in serialize.Input) (serialize.File, error) {
	h5, err := openHDF5(in)
	if err != nil {
		return nil, err
	}
	f, err := legacyFile(in, h5)
	if err != nil {
		h5.Close()
		return nil, err
	}
	return f, nil
}

// openHDF5 opens an HDF5 file. Files that it refers to are never opened.
func openHDF5(in serialize.Input) (*hdf5.File, error) {
	return hdf5.NewReader(in.ReaderAt, in.Size, hdf5.Options{Name: in.Name, Budget: in.Budget, Context: in.Context})
}

func legacyFile(in serialize.Input, h5 *hdf5.File) (*File, error) {
	t, err := treeOf(h5)
	if err != nil {
		return nil, err
	}
	meta, err := metaOf(t)
	if err != nil {
		return nil, err
	}
	f := newFile(meta, func() error { return errors.Join(h5.Close(), in.Close()) })
	f.h5, f.tree = h5, t
	if config := meta[MetaConfig]; config != "" {
		if f.model, err = parse(config); err != nil {
			return nil, err
		}
	}
	if err := (legacyReader{tree: t, file: f, root: t.legacyRoot()}).list(); err != nil {
		return nil, err
	}
	f.fill(meta[MetaVersion])
	return f, nil
}

// newFile returns a file without entries.
func newFile(meta map[string]string, close func() error) *File {
	return &File{List: serialize.NewList(0, meta, close), close: close}
}

// legacyRoot returns the group of the layers.
func (t *tree) legacyRoot() string {
	if t.isGroup(modelGroup) {
		return modelGroup
	}
	return "/"
}

// isLegacy reports whether layers are listed in an attribute.
func (t *tree) isLegacy() bool {
	names, err := t.names(t.legacyRoot(), "layer_names")
	return names != nil && err == nil
}

// metaOf returns the attributes of the root, or of the group of weights, that describe the
// model.
func metaOf(t *tree) (map[string]string, error) {
	meta := map[string]string{}
	for _, group := range []string{"/", modelGroup} {
		for _, name := range []string{MetaConfig, MetaTraining, MetaVersion, MetaBackend} {
			text, err := t.text(group, name)
			if err != nil {
				return nil, err
			}
			if meta[name] == "" && text != "" {
				meta[name] = text
			}
		}
	}
	return meta, nil
}

// A legacyReader lists a file in the layout of Keras 1 and 2.
type legacyReader struct {
	tree *tree
	file *File
	root string // the group of the layers

	cudnn map[string]int // gates, by the entries of layers of cuDNN
}

func (l legacyReader) list() error {
	l.cudnn = map[string]int{}
	if err := l.layers(); err != nil {
		return err
	}
	return l.optimizer()
}

// layers lists the weights of all layers, in the order of the model.
func (l legacyReader) layers() error {
	layers, err := l.tree.names(l.root, "layer_names")
	if err != nil {
		return err
	}
	renamed, err := l.paired(layers)
	if err != nil {
		return err
	}
	if l.tree.isGroup(join(l.root, topLevelGroup)) {
		layers = append(slices.Clone(layers), topLevelGroup)
	}
	for _, name := range layers {
		if err := l.layer(name, renamed); err != nil {
			return fmt.Errorf("layer %q: %w", name, err)
		}
	}
	return nil
}

// paired returns the names that the model has for the layers of the file, nil if they are
// the same. Layers without weights do not count.
func (l legacyReader) paired(layers []string) (map[string]string, error) {
	m := l.file.model
	if m == nil {
		return nil, nil
	}
	var saved, wanted []string
	known := true
	for _, name := range layers {
		weights, err := l.tree.names(join(l.root, name), "weight_names")
		if err != nil {
			return nil, err
		}
		if len(weights) > 0 {
			saved = append(saved, name)
			known = known && m.Layer(name) != nil
		}
	}
	if known {
		return nil, nil
	}
	for i := range m.Layers {
		if hasWeights(&m.Layers[i]) {
			wanted = append(wanted, m.Layers[i].Name)
		}
	}
	if len(saved) != len(wanted) {
		return nil, fmt.Errorf("the file has %d layers with weights, and the model %d: %w", len(saved), len(wanted), storage.ErrState)
	}
	renamed := map[string]string{}
	for i, name := range saved {
		renamed[name] = wanted[i]
	}
	return renamed, nil
}

func hasWeights(l *keras.Layer) bool {
	if l.Model != nil {
		return slices.ContainsFunc(l.Model.Layers, func(inner keras.Layer) bool { return hasWeights(&inner) })
	}
	variables, ok, _ := keras.Variables(l)
	return len(variables) > 0 || !ok
}

func (l legacyReader) layer(name string, renamed map[string]string) error {
	group := join(l.root, name)
	if !l.tree.isGroup(group) {
		return fmt.Errorf("layer_names has it, but there is no group %s: %w", group, storage.ErrState)
	}
	weights, err := l.tree.names(group, "weight_names")
	if err != nil {
		return err
	}
	to := name
	if other, ok := renamed[name]; ok {
		to = other
	}
	if l.isKeras1() {
		return l.addKeras1(group, to, weights)
	}
	names := l.namesOf(name, to, weights)
	for i, weight := range weights {
		e, err := l.tree.entry(join(group, weight), names[i])
		if err == nil && last(names[i]) == "kernel" && e.Array.Rank() > 2 && l.file.Meta()[MetaBackend] == "theano" {
			err = fmt.Errorf("kernels of convolutions are mirrored in files of Theano, and not read; save the model by Keras with TensorFlow: %w", storage.ErrState)
		}
		if l.file.Has(e.Name) {
			e.Name = name + "/" + weight // names that differ in what is left out
		}
		if gates := l.cudnnGates(group, weight); gates > 0 && err == nil {
			l.cudnn[e.Name] = gates
			e.Array, err = fromCuDNN(e.Array, last(names[i]), gates, false)
			e.Shared = ""
		}
		if err := l.file.Add(e, err); err != nil {
			return err
		}
	}
	return nil
}

// addKeras1 lists the weights of a layer of Keras 1.
func (l legacyReader) addKeras1(group, to string, weights []string) error {
	list, err := l.keras1Entries(group, to, weights)
	if err != nil {
		return l.file.Add(serialize.Entry{Name: to}, err)
	}
	for _, e := range list {
		if err := l.file.Add(e, nil); err != nil {
			return err
		}
	}
	return nil
}

// described returns the layer of the model, or nil.
func (l legacyReader) described(name string) *keras.Layer {
	if l.file.model == nil {
		return nil
	}
	return l.file.model.Layer(name)
}

// namesOf returns the names of the entries of the weights of a layer, which the model
// calls to.
func (l legacyReader) namesOf(layer, to string, weights []string) []string {
	names := make([]string, len(weights))
	for i, w := range weights {
		names[i] = canonical(layer, w)
	}
	if repeats(names) { // of several cells
		for i, w := range weights {
			names[i] = pathWithin(layer, w)
		}
	}
	renameDepthwise(names)
	if l.file.model == nil {
		return prefixed(to, names)
	}
	described := l.file.model.Layer(to)
	switch {
	case described == nil:
	case described.Model != nil:
		names = allWithin(described, names)
	default:
		names = matched(described, names)
	}
	return prefixed(to, names)
}

// renameDepthwise gives the depthwise_kernel of a DepthwiseConv, also within a model, its name
// in Keras 3, which is kernel. A SeparableConv has a pointwise_kernel as well.
func renameDepthwise(names []string) {
	for i, name := range names {
		layer, ok := strings.CutSuffix("/"+name, "/depthwise_kernel")
		if ok && !slices.Contains(names, (layer + "/pointwise_kernel")[1:]) {
			names[i] = (layer + "/kernel")[1:]
		}
	}
}

func prefixed(layer string, names []string) []string {
	if layer == topLevelGroup {
		return names
	}
	for i, name := range names {
		names[i] = layer + "/" + name
	}
	return names
}

// matched returns the names that the class of a layer has for its variables, if these are
// as many and end like names. The file may have the names of objects within the layer in
// them, or those of an older Keras.
func matched(l *keras.Layer, names []string) []string {
	variables, ok, err := keras.Variables(l)
	if !ok || err != nil || len(variables) != len(names) {
		return names
	}
	list := make([]string, len(names))
	for i, v := range keras.TrainedFirst(variables) {
		if last(v.Name) != last(names[i]) {
			return names
		}
		list[i] = v.Name
	}
	return list
}

func last(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

// allWithin returns the names of the weights of a model within a model. Where layers of several
// models have the same name, the order of the weights says which it is.
func allWithin(l *keras.Layer, names []string) []string {
	found := make([]string, len(names))
	for i, name := range names {
		found[i] = within(l.Model, name)
	}
	nameAdapted(l.Model, found)
	variables, err := keras.ModelVariables(l.Model, l.Config["trainable"] != false)
	if err != nil || len(variables) != len(names) {
		return found
	}
	known := map[string]bool{}
	ordered := make([]string, len(names))
	for i, v := range variables {
		known[v.Name], ordered[i] = true, v.Name
		if last(v.Name) != last(names[i]) {
			return found
		}
	}
	for _, name := range found {
		if !known[name] {
			return ordered
		}
		delete(known, name)
	}
	return found
}

// nameAdapted gives weights without the name of a layer that of the first one that has a variable of
// the name and lacks it. Keras 2 leaves it out if a layer was adapted before the model had it.
func nameAdapted(m *keras.Model, names []string) {
	known, bare := map[string]bool{}, map[string][]int{} // the numbers of names without a layer
	for i, name := range names {
		if known[name] = true; !strings.Contains(name, "/") {
			bare[name] = append(bare[name], i)
		}
	}
	if len(bare) == 0 {
		return
	}
	for path, l := range m.All() {
		variables, _, _ := keras.Variables(l)
		for _, v := range variables {
			if list := bare[v.Name]; len(list) > 0 && !known[path+"/"+v.Name] {
				names[list[0]], bare[v.Name] = path+"/"+v.Name, list[1:]
			}
		}
	}
}

// within returns the name of a weight of a model within a model: Keras 2 leaves out the
// models between the layer and the weight.
func within(m *keras.Model, name string) string {
	first, _ := firstPart(name)
	if m.Layer(first) != nil {
		return name
	}
	found, n := name, 0
	for path := range m.All() {
		if last(path) == first {
			found, n = path+strings.TrimPrefix(name, first), n+1
		}
	}
	if n == 1 {
		return found
	}
	return name
}

// cell matches the part of a name that the cell of a recurrent layer adds.
var cell = regexp.MustCompile(`^(lstm|gru|simple_rnn|conv_lstm[123]?d?)_cell(_\d+)?$`)

// direction matches the names that a Bidirectional gives its layers.
var direction = regexp.MustCompile(`^(forward|backward)_`)

// canonical returns the name of a weight within its layer. Files call it
//
//	dense/kernel:0                              in Keras 2
//	my_model/dense/kernel                       in Keras 3, with the name of the model
//	bidirectional/forward_lstm/lstm_cell/bias   in layers of layers
//	dense_1_W                                   in Keras 1
func canonical(layer, weight string) string {
	return strings.Join(shorten(strings.Split(pathWithin(layer, weight), "/")), "/")
}

// pathWithin returns the path of a weight within its layer, with the objects that canonical leaves
// out.
func pathWithin(layer, weight string) string {
	if at := strings.LastIndexByte(weight, ':'); at > 0 && strings.Trim(weight[at+1:], "0123456789") == "" {
		weight = weight[:at]
	}
	if old, ok := strings.CutPrefix(weight, layer+"_"); ok && !strings.Contains(weight, "/") {
		if name, ok := keras1Names[old]; ok {
			return name
		}
		return old
	}
	if at := strings.Index("/"+weight, "/"+layer+"/"); at >= 0 { // the layer may have slashes
		weight = weight[at+len(layer)+1:]
	}
	return weight
}

// repeats reports whether names has a duplicate.
func repeats(names []string) bool {
	return len(slices.Compact(slices.Sorted(slices.Values(names)))) < len(names)
}

// shorten leaves out of a path what the cells of recurrent layers, and the layers of a
// Bidirectional, add to it.
func shorten(parts []string) (kept []string) {
	for i, part := range parts {
		switch {
		case i == len(parts)-1:
		case cell.MatchString(part):
			continue
		case direction.MatchString(part):
			part, _, _ = strings.Cut(part, "_")
		}
		kept = append(kept, part)
	}
	return kept
}

// keras1Names are the names of variables in Keras 1.
var keras1Names = map[string]string{
	"W": "kernel", "U": "recurrent_kernel", "b": "bias",
	"running_mean": "moving_mean", "running_std": "moving_variance", // a variance in spite of its name
	"alphas": "alpha",
}

// optimizer lists the weights of the optimizer. Where the model and the settings do not say which they are,
// they keep the names of the file.
func (l legacyReader) optimizer() error {
	if !l.tree.isGroup(optimizerGroup) {
		return nil
	}
	weights, err := l.tree.names(optimizerGroup, "weight_names")
	if err != nil {
		return err
	}
	names := make([]string, len(weights))
	for i, weight := range weights {
		names[i] = keras.OptimizerPrefix + weight
		if step := keras.OptimizerPrefix + "iteration"; slots[last(outputNumber.ReplaceAllString(weight, ""))] == "iteration" && !slices.Contains(names, step) {
			names[i] = step
		}
	}
	known := l.file.slotsByPosition(len(weights), func(known []string) bool { return l.fits(known, weights) })
	l.file.unknownState = known == nil
	for i, name := range known {
		names[i] = keras.OptimizerPrefix + name
	}
	for _, i := range byBuffer(names) {
		e, err := l.tree.entry(join(optimizerGroup, weights[i]), names[i])
		_, weight := firstPart(strings.TrimPrefix(names[i], keras.OptimizerPrefix))
		if gates := l.cudnn[weight]; gates > 0 && err == nil {
			e.Array, err = fromCuDNN(e.Array, last(weight), gates, true)
		}
		if err := l.file.Add(e, err); err != nil {
			return err
		}
	}
	return nil
}

// fits reports whether the weights of an optimizer may be the variables of these names, by the names that
// they have in the file, and the shapes of the layers' weights.
func (l legacyReader) fits(names, weights []string) bool {
	for i, name := range names {
		stored := last(outputNumber.ReplaceAllString(weights[i], ""))
		buffer, weight := firstPart(name)
		of, err := l.file.Lookup(weight)
		if weight == "" || err != nil { // of no weight
			if stored != last(name) && slots[stored] != name {
				return false
			}
			continue
		}
		e, err := l.tree.entry(join(optimizerGroup, weights[i]), "")
		otherShape := buffer == "r" || buffer == "c" || l.cudnn[weight] > 0 // Adafactor's sums, and cuDNN's biases
		if err != nil || !isBuffer(buffer, weights[i]) || !otherShape && !slices.Equal(e.Array.Shape, of.Array.Shape) {
			return false
		}
	}
	return len(names) > 0
}
