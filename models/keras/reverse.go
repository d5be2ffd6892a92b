package keras

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/h5dnn/h5dnn/models/weights"
)

// FromH5dnn translates a model of package nn, as nn.Describe describes it, to one of Keras
// without weights. Inputs have the shapes that package nn takes; those of images become
// channels last, as all of Keras's are. The second result has the
// modules of the layers.
//
// An error of kind weights.ErrUnsupported names the layers that cannot be translated.
func FromH5dnn(description any, inputs []Input) (*Model, *Translation, error) {
	text, err := json.Marshal(description)
	if err != nil {
		return nil, nil, fmt.Errorf("model: %w", err)
	}
	var plain any
	if err := json.Unmarshal(text, &plain); err != nil {
		return nil, nil, fmt.Errorf("model: %w", err)
	}
	r := &reverser{
		model:   &Model{Class: "Functional", Name: "model"},
		modules: map[string]string{}, flattens: map[string]bool{}, ranks: map[string]int{}, shared: map[string]string{},
	}
	var values []tensor
	for i, in := range inputs {
		values = append(values, r.input(in, consumer(plain, i)))
	}
	outputs := r.any(plain, "", values)
	if err := r.failure(); err != nil {
		return nil, nil, err
	}
	for _, v := range outputs {
		r.unflatten(v)
		r.model.Outputs = append(r.model.Outputs, r.ordered(v, false).ref)
	}
	inKerasOrder(r.model)
	config, err := Describe(r.model)
	if err != nil {
		return nil, nil, err
	}
	m, err := Parse(config)
	if err != nil {
		return nil, nil, err
	}
	b := newBuilder(m, LinkOptions{})
	b.flattens = r.flattens
	t, err := b.translate(m)
	if err == nil {
		t.Modules = r.modules
	}
	return m, t, err
}

// A tensor is an output of a layer of the Keras model.
type tensor struct {
	ref   Ref
	rank  int  // of a sample
	first bool // in package nn, the channels are first
	lost  bool // it follows from a layer that Keras does not have

	constant *constantArray // in place of the output of a layer: elements in the order of package nn

	flattens []string // layers whose features it has in Keras's order, which package nn has with the channels first
}

// A reverser collects the layers of a Keras model.
type reverser struct {
	model    *Model
	modules  map[string]string // by the names of layers
	flattens map[string]bool   // whether a Flatten has the channels first in package nn, by its name
	ranks    map[string]int    // of what a Flatten flattens
	shared   map[string]string // layers by paths of modules that nodes share
	err      error             // the first one of a description that is not valid; nothing is added after it
	refused  []error           // of layers that Keras does not have
}

func (r *reverser) fail(err error) {
	if errors.Is(err, weights.ErrUnsupported) {
		r.refused = append(r.refused, err)
		return
	}
	r.err = first(r.err, err)
}

// failure returns the error of the description, or one that names all layers that Keras does not have.
func (r *reverser) failure() error {
	if r.err == nil && len(r.refused) > 0 {
		return joined(r.refused)
	}
	return r.err
}

// described returns the name and the settings of a layer that is described by both, or by its name alone.
func described(layer any) (name string, settings map[string]any) {
	name, _ = layer.(string)
	object, _ := layer.(map[string]any)
	for key, value := range object {
		name = key
		settings, _ = value.(map[string]any)
	}
	return name, settings
}

// consumer returns the name of the first layer that takes input i of a description, or what layers that keep the order of axes make of
// it; "" without one.
func consumer(description any, i int) string {
	if list, ok := description.([]any); ok {
		for _, one := range list {
			if name := consumer(one, i); name != "" {
				return name
			}
		}
		return ""
	}
	name, settings := described(description)
	switch name {
	case "graph":
		return consumerIn(settings, i)
	case "residual":
		return consumer(settings["body"], i)
	}
	if name == "function" {
		name += " " + textIn(settings, "name")
	}
	if keepsOrder[name] || namedActivations[name] != nil {
		return ""
	}
	return name
}

// consumerIn is consumer of a graph.
func consumerIn(graph map[string]any, i int) string {
	inputs := names(graph["inputs"])
	if inputs == nil {
		inputs = []string{"x"}
	}
	if i >= len(inputs) {
		return ""
	}
	reached, previous := map[string]bool{inputs[i]: true}, inputs[i]
	for _, node := range objectsIn(graph["nodes"]) {
		from := names(node["from"])
		if from == nil {
			from = []string{previous}
		}
		previous = textIn(node, "name")
		at := slices.IndexFunc(from, func(name string) bool { return reached[name] })
		if at < 0 {
			continue
		}
		if name := consumer(node["layer"], at); name != "" {
			return name
		}
		reached[previous] = true
	}
	return ""
}

// keepsOrder are the layers of package nn, besides activations, that take axes in any order and keep it.
var keepsOrder = func() map[string]bool {
	all := map[string]bool{
		"rescale": true, "dropout": true, "cast": true, "constant": true, "function clamp": true,
		"add": true, "subtract": true, "mul": true, "average": true, "maximum": true, "minimum": true,
	}
	for _, name := range elementwise {
		all["function "+name] = true
	}
	return all
}()

func (r *reverser) input(in Input, consumer string) tensor {
	rank := len(in.Shape)
	first := rank > 2 && consumer != "permute" && ordersOf[consumer] != "features" || rank == 2 && strings.HasSuffix(consumer, "1d")
	shape := slices.Clone(in.Shape)
	if first {
		shape = append(shape[1:], shape[0])
	}
	batch := []any{nil}
	for _, n := range shape {
		batch = append(batch, float64(n))
	}
	name := r.unique(in.Name)
	dtype := in.DType
	if dtype == "" {
		dtype = "float32"
	}
	r.model.Layers = append(r.model.Layers, Layer{
		Class: "InputLayer", Name: name, Calls: [][]Ref{nil},
		Config: map[string]any{"batch_shape": batch, "dtype": dtype, "name": name},
	})
	ref := Ref{Layer: name}
	r.model.Inputs = append(r.model.Inputs, ref)
	return tensor{ref: ref, rank: rank, first: first}
}

// unique returns a name that no layer has.
func (r *reverser) unique(wanted string) string {
	wanted = strings.NewReplacer(".", "_", "/", "_").Replace(wanted)
	name := wanted
	for i := 1; r.model.Layer(name) != nil || name == ""; i++ {
		name = wanted + "_" + strconv.Itoa(i)
	}
	return name
}

// layer adds a layer, or another call of it, for the module at path; "" for a layer that
// no module has the parameters of. Its output has the rank and order of its first input.
func (r *reverser) layer(class, path string, config map[string]any, in ...tensor) tensor {
	var call []Ref
	for _, v := range in {
		call = append(call, v.ref)
	}
	out := in[0]
	if name, again := r.shared[path]; again && path != "" {
		l := r.model.Layer(name)
		if config[callArguments] != nil {
			r.fail(layerError(path, class, notInKeras, unsupported("several calls with arguments")))
		}
		l.Calls = append(l.Calls, call)
		out.ref = Ref{Layer: name, Node: len(l.Calls) - 1}
		return out
	}
	name := Snake(class)
	if path != "" {
		name = path
		if path[0] >= '0' && path[0] <= '9' {
			name = Snake(class) + "_" + path
		}
	}
	name = r.unique(name)
	config = maps.Clone(config)
	if config == nil {
		config = map[string]any{}
	}
	config["name"] = name
	r.model.Layers = append(r.model.Layers, Layer{Class: class, Name: name, Config: config, Calls: [][]Ref{call}})
	if path != "" {
		r.modules[name], r.shared[path] = path, name
	}
	out.ref = Ref{Layer: name}
	return out
}

// any adds the layers that a description describes.
func (r *reverser) any(description any, path string, in []tensor) []tensor {
	if list, ok := description.([]any); ok {
		for i, one := range list {
			in = r.any(one, below(path, strconv.Itoa(i)), in)
		}
		return in
	}
	name, config := described(description)
	l := settingsOf(&Layer{Class: name, Name: path, Config: config})
	switch {
	case r.err != nil:
		return in
	case name == "graph":
		return r.graph(l, in)
	case name == "residual":
		return r.residual(l, in)
	}
	out := r.module(l, in)
	if err := l.failed(); err != nil {
		r.fail(layerError(path, name, notInKeras, err))
		out.lost = true
	}
	return []tensor{out}
}

// module adds the Keras layers of a layer of package nn, which l describes.
func (r *reverser) module(l *settings, in []tensor) tensor {
	reverse, ok := reversals[strings.ToLower(l.Class)]
	switch {
	case len(in) == 0:
		l.refuse("no inputs")
		return tensor{}
	case !ok:
		l.refuse("h5dnn knows none")
	case slices.ContainsFunc(in, func(v tensor) bool { return v.lost }):
		return tensor{lost: true}
	case strings.ToLower(l.Class) != "function" && slices.ContainsFunc(in, func(v tensor) bool { return v.constant != nil }):
		l.refuse("an input is a constant")
	default:
		first := in[max(0, slices.IndexFunc(in, func(v tensor) bool { return v.constant == nil }))].first
		if axesOf(l.Class) > 0 || ordersOf[strings.ToLower(l.Class)] == "channels" {
			first = true
		} else if ordersOf[strings.ToLower(l.Class)] == "features" {
			first = false
		}
		ordered := make([]tensor, len(in))
		var flattens []string
		for i, v := range in {
			ordered[i] = r.ordered(v, first)
			if name := strings.ToLower(l.Class); !takesFeatures[name] && (namedActivations[name] == nil || len(in) > 1) {
				r.unflatten(v)
				ordered[i].flattens = nil
			}
			flattens = append(flattens, ordered[i].flattens...)
		}
		ordered[0].flattens = flattens
		return reverse(r, l, ordered)
	}
	return in[0]
}

// takesFeatures are the layers of package nn, besides activations, that take flattened features in any order: their weights, or those of the layers
// behind them, are reordered.
var takesFeatures = map[string]bool{
	"dense": true, "linear": true, "batchnorm1d": true, "layernorm": true, "prelu": true, "dropout": true, "alpha_dropout": true, "rescale": true, "concat": true, "softmax": true,
	"constant": true, // whose elements alone count
}

// unflatten gives the features of v the order that package nn has, by a Permute before they are flattened. Pools over everything need none.
func (r *reverser) unflatten(v tensor) {
	for _, name := range v.flattens {
		flatten := r.model.Layer(name)
		for i := range flatten.Calls {
			from := flatten.Calls[i][0]
			if !r.flattens[name] || strings.HasPrefix(r.model.Layer(from.Layer).Class, "Global") {
				continue
			}
			image := r.ordered(tensor{ref: from, rank: r.ranks[name], first: true}, false)
			r.model.Layer(name).Calls[i] = []Ref{image.ref}
			flatten = r.model.Layer(name)
		}
		r.flattens[name] = false
	}
}

// ordersOf says of layers of package nn, besides those with a number of axes in their name, whether they take the channels first, or features last.
var ordersOf = map[string]string{
	"upsample": "channels", "zeropad": "channels", "crop": "channels", "adaptive_avg_pool": "channels", "adaptive_max_pool": "channels",
	"groupnorm": "channels", "instancenorm": "channels", "prelu": "channels", "pad": "channels",
	"dense": "features", "linear": "features", "layernorm": "features", "reshape": "features", "rnn": "features", "lstm": "features", "gru": "features", "positions": "features", "class_token": "features",
}

// ordered returns v in Keras with the channels last that package nn has first, or with the axes of package nn.
func (r *reverser) ordered(v tensor, first bool) tensor {
	if v.constant != nil {
		v.first = first
	}
	if v.first == first || v.rank < 2 {
		return v
	}
	front, back := channelsMoved(v.rank)
	if first {
		v = r.layer("Permute", "", map[string]any{"dims": back}, v)
	} else {
		v = r.layer("Permute", "", map[string]any{"dims": front}, v)
	}
	v.first = first
	return v
}

// kerasAxis returns Keras's number of an axis of package nn. Both count the axis of samples.
func (v tensor) kerasAxis(axis int) int {
	if axis < 0 {
		axis += v.rank + 1
	}
	if v.first {
		axis = (axis+v.rank-2)%v.rank + 1
	}
	return axis
}

// padding adds a ZeroPadding or Cropping, if there is something to add or leave out.
func (r *reverser) padding(crop bool, path string, before, after []int, v tensor) tensor {
	if slices.Max(slices.Concat(before, after)) == 0 {
		return v
	}
	class, setting := "ZeroPadding", "padding"
	if crop {
		class, setting = "Cropping", "cropping"
	}
	var pairs []any
	for i := range before {
		pairs = append(pairs, []any{float64(before[i]), float64(after[i])})
	}
	var value any = pairs
	if len(pairs) == 1 {
		value = pairs[0]
	}
	return r.layer(class+dimension(len(before)), path, map[string]any{setting: value}, v)
}

// dimension returns the end of the names of classes for a number of axes: "2D".
func dimension(axes int) string { return string(rune('0'+axes)) + "D" }

// unlisted returns the only number of a list, or the list of several.
func unlisted(list []int) any {
	if len(list) == 1 {
		return list[0]
	}
	return list
}

func below(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func (r *reverser) residual(l *settings, in []tensor) []tensor {
	body, shortcut := r.any(l.Config["body"], below(l.Name, "body"), in), in
	if l.Config["shortcut"] != nil {
		shortcut = r.any(l.Config["shortcut"], below(l.Name, "shortcut"), in)
	}
	if len(body) != 1 || len(shortcut) != 1 {
		r.fail(layerError(l.Name, l.Class, notInKeras, unsupported("body and shortcut have several outputs")))
		return in
	}
	return []tensor{r.module(settingsOf(&Layer{Class: "add"}), []tensor{body[0], shortcut[0]})}
}

// names reads a name or a list of names.
func names(value any) (list []string) {
	switch v := value.(type) {
	case string:
		return []string{v}
	case []any:
		for _, one := range v {
			list = append(list, fmt.Sprint(one))
		}
	}
	return list
}

// graph adds the nodes of a graph.
func (r *reverser) graph(l *settings, in []tensor) []tensor {
	inputs, nodes := names(l.Config["inputs"]), objectsIn(l.Config["nodes"])
	if inputs == nil {
		inputs = []string{"x"}
	}
	if len(inputs) != len(in) {
		r.fail(fmt.Errorf("graph of %d inputs, with %d: %w", len(inputs), len(in), ErrConfig))
		return in
	}
	known, layers := map[string][]tensor{}, map[string]any{}
	for i, name := range inputs {
		known[name] = in[i : i+1]
	}
	previous := in
	for _, node := range nodes {
		name := textIn(node, "name")
		from := previous
		if given := names(node["from"]); given != nil {
			from = r.outputsOf(known, given)
		}
		path := below(l.Name, name)
		layers[name] = node["layer"]
		if share := textIn(node, "share"); share != "" {
			path, layers[name] = below(l.Name, share), layers[share]
		}
		previous = r.any(layers[name], path, from)
		known[name] = previous
	}
	if last := names(l.Config["outputs"]); last != nil {
		return r.outputsOf(known, last)
	}
	return previous
}

// outputsOf returns the outputs of nodes and inputs, one after the other: all outputs of "node", and one of "node.1".
func (r *reverser) outputsOf(known map[string][]tensor, names []string) (list []tensor) {
	for _, name := range names {
		node, number, _ := strings.Cut(name, ".")
		i, err := strconv.Atoi(number)
		if all, ok := known[name]; ok {
			list = append(list, all...)
		} else if err == nil && i >= 0 && i < len(known[node]) {
			list = append(list, known[node][i])
		} else {
			r.fail(unsupported("node or input %q comes after its use", name))
		}
	}
	return list
}
