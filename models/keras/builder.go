package keras

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/internal/errkind"
	"github.com/h5dnn/h5dnn/models/weights"
)

// A Translation is a Keras model in the terms of package nn.
type Translation struct {
	// Description is a graph as nn.FromConfig takes it.
	Description any
	// Modules are the names of modules of the graph by the paths of layers: "dense_1" for
	// "inner/dense_1". The two convolutions of a SeparableConv2D called sep are
	// "sep/depthwise" and "sep/pointwise". The parameters of a module are named after it.
	Modules map[string]string
	Inputs  []Input
	// Notes say which layers do something in training that the graph does not.
	Notes []string

	flat map[string][][]int // shapes of features that layers take flattened with the channels first, by path
}

// An Input is an input of a translated model.
type Input struct {
	Name  string
	DType string // of Keras: "float32"
	Shape []int  // of a sample, in Keras's order of axes; -1 is an unknown size
}

// ToH5dnn translates a model of Keras. Its graph takes samples as Keras does, with the
// channels last, and returns what Keras returns; within, images are (N, C, H, W). The
// parameters are Keras's weights as Links of the translation converts them.
//
// Layers that package nn may not have yet, such as lstm, are translated all the same. An
// error of kind weights.ErrUnsupported names the layers that cannot be.
func ToH5dnn(m *Model, o LinkOptions) (*Translation, error) {
	b := newBuilder(m, o)
	t, err := b.translate(m)
	if types := b.mixedInputs(); err == nil && types != nil {
		b = newBuilder(m, o)
		b.types = types
		t, err = b.translate(m)
	}
	if err == nil && len(b.nodes) == 0 {
		return nil, fmt.Errorf("%s has no layers: %w", m.Name, ErrConfig)
	}
	return t, err
}

func newBuilder(m *Model, o LinkOptions) *builder {
	return &builder{
		modules: map[string]string{}, emitted: map[string]string{}, taken: map[string]bool{}, unmasked: map[string]bool{},
		version: m.Version, flat: map[string][][]int{}, given: o.Flatten, counted: map[string]bool{}, computed: map[string]bool{},
	}
}

// translate returns the translation of a model.
func (b *builder) translate(m *Model) (*Translation, error) {
	var inputs []value
	var names []any
	for _, r := range m.Inputs {
		l := m.Layer(r.Layer)
		v := value{node: b.name(l.Name)}
		v.inputs = []string{v.node}
		if len(l.OutputShapes) == 0 || l.OutputShapes[0] == nil {
			return nil, fmt.Errorf("%s: the shape of the input is not known: %w", l.Name, ErrConfig)
		}
		v.shape = l.OutputShapes[0]
		dtype, ok := l.Config["dtype"].(string)
		if !ok {
			dtype = "float32"
		}
		v.dtype = b.types[v.node]
		b.inputs = append(b.inputs, Input{v.node, dtype, v.shape})
		inputs, names = append(inputs, v), append(names, v.node)
	}
	outputs, err := b.model(m, "", inputs)
	if len(b.refused) > 0 {
		err = joined(b.refused)
	}
	if err != nil {
		return nil, err
	}
	var last []any
	for _, v := range outputs {
		last = append(last, b.last(v).node)
	}
	if b.err != nil {
		return nil, b.err
	}
	graph := map[string]any{"inputs": names, "nodes": b.nodes, "outputs": last}
	if outputs := outputNames(m); len(outputs) > 1 && !slices.Equal(outputs, last) {
		graph["output_names"] = outputs
	}
	return &Translation{map[string]any{"graph": graph}, b.modules, b.inputs, b.notes, b.flat}, nil
}

// outputNames returns the names of the outputs of a model: those of the layers that they
// are from, with a number if they are several of a layer.
func outputNames(m *Model) []any {
	var names []any
	for i, r := range m.Outputs {
		name := r.Layer
		if slices.ContainsFunc(m.Outputs[:i], func(before Ref) bool { return before.Layer == r.Layer }) {
			name = fmt.Sprintf("%s_%d", r.Layer, i)
		}
		names = append(names, name)
	}
	return names
}

// A value is a tensor of the graph.
type value struct {
	node  string // that computes it, or an input
	shape []int  // in Keras, without the batch
	first bool   // the channels, last in Keras, come first
	outer bool   // the channels come first in Keras, too
	// flat are the shapes in Keras of features that were flattened with the channels
	// first, one after another. Nil if the order is that of Keras.
	flat  [][]int
	parts []value // that were joined to flat, if there are several
	mask  string  // node of a mask (N, steps) of the steps that count; "" if all do
	steps bool    // it is a mask itself

	lost bool // it follows from a layer that package nn does not have

	compared *value // with a number, that is the mask; nil for other values
	with     any    // the number

	dtype  string   // of package nn: int64 or bool; float32 if ""
	inputs []string // of the model, whose elements it has unchanged; none if they are computed
}

// A builder collects the nodes of a graph.
type builder struct {
	nodes    []any
	inputs   []Input
	modules  map[string]string
	emitted  map[string]string // nodes by what they compute: layer and part
	taken    map[string]bool   // names
	flat     map[string][][]int
	flattens map[string]bool   // layers that flatten with the channels first, or not, where package nn says so
	given    map[string][]int  // shapes before layers that flatten, by their names
	unmasked map[string]bool   // nodes whose mask attention has taken
	version  string            // of Keras
	counted  map[string]bool   // inputs whose elements are indices of an Embedding
	computed map[string]bool   // inputs with which layers compute
	types    map[string]string // of inputs that are both, and of others that are indices; nil before they are known
	notes    []string
	err      error   // the first one of values in an order that cannot be
	refused  []error // of layers that package nn does not have
}

// name returns a name for a node that no other one has. Names have no dots and slashes.
func (b *builder) name(wanted string) string {
	wanted = strings.Map(func(r rune) rune {
		if r == '.' || r == '/' || r < ' ' {
			return '_'
		}
		return r
	}, wanted)
	name := wanted
	for i := 1; b.taken[name] || name == ""; i++ {
		name = fmt.Sprintf("%s_%d", wanted, i)
	}
	b.taken[name] = true
	return name
}

// add adds a node for a layer, or for a part of it, and returns its name. A layer that is
// called again shares the parameters of the first node.
func (b *builder) add(l *settings, part string, layer any, from ...string) string {
	key := l.path + "/" + part
	name := l.path
	if part != "" {
		name += "_" + part
	}
	node := map[string]any{"name": b.name(name), "layer": layer, "from": list(from)}
	name = node["name"].(string)
	if first, again := b.emitted[key]; again {
		delete(node, "layer")
		node["share"] = first
	} else {
		b.emitted[key] = name
		if part == "" {
			b.modules[l.path] = name
		}
	}
	b.nodes = append(b.nodes, node)
	return name
}

// convert adds a node that gives v another order of axes.
func (b *builder) convert(v value, what string, layer any) string {
	name := b.name(v.node + "_" + what)
	b.nodes = append(b.nodes, map[string]any{"name": name, "layer": layer, "from": list([]string{v.node})})
	return name
}

// list returns one name, or a list of several.
func list(names []string) any {
	if len(names) == 1 {
		return names[0]
	}
	all := make([]any, len(names))
	for i, name := range names {
		all[i] = name
	}
	return all
}

// toFirst returns v with the channels first.
func (b *builder) toFirst(v value) value {
	n := len(v.shape)
	if v.first || n < 2 {
		return v
	}
	front, _ := channelsMoved(n)
	v.node, v.first = b.convert(v, "first", map[string]any{"permute": map[string]any{"axes": front}}), true
	return v
}

// last returns v as Keras has it.
func (b *builder) last(v value) value {
	switch {
	case v.flat != nil:
		return b.unflatten(v)
	case v.first:
		_, back := channelsMoved(len(v.shape))
		v.node, v.first = b.convert(v, "last", map[string]any{"permute": map[string]any{"axes": back}}), false
	}
	return v
}

// asInKeras gives an input the order of axes that Keras has.
func asInKeras(b *builder, _ *settings, v value) value { return b.last(v) }

// unflatten returns flattened features in the order of Keras.
func (b *builder) unflatten(v value) value {
	if len(v.flat) > 1 {
		return b.joinParts(v)
	}
	shape := v.flat[0]
	n := len(shape)
	split := append([]int{shape[n-1]}, shape[:n-1]...)
	v.node = b.convert(v, "split", map[string]any{"reshape": map[string]any{"shape": split}})
	v.flat, v.shape, v.first = nil, shape, true
	v = b.last(v)
	v.node = b.convert(v, "joined", "flatten")
	v.shape = []int{product(shape)}
	return v
}

// joinParts joins the parts of v again, in the order of Keras.
func (b *builder) joinParts(v value) value {
	if v.parts == nil {
		b.err = first(b.err, unsupported("features of several images, flattened and joined, which are used in the order of Keras"))
		return v
	}
	var from []string
	for _, part := range v.parts {
		from = append(from, b.last(part).node)
	}
	name := b.name(v.node + "_joined")
	b.nodes = append(b.nodes, map[string]any{"name": name, "layer": map[string]any{"concat": map[string]any{"axis": 1}}, "from": list(from)})
	return value{node: name, shape: v.shape}
}

// model adds the layers of a model, whose inputs are given, and returns its outputs.
func (b *builder) model(m *Model, prefix string, inputs []value) ([]value, error) {
	outputs, err := walk(m, inputs, func(l *Layer, node int, in []value) ([]value, error) {
		if l.Class == "InputLayer" {
			return in, nil
		}
		for i, v := range in {
			if r := l.Calls[node][i]; v.node == "" {
				return nil, fmt.Errorf("%s takes output %d of %s, which does not exist: %w", l.Name, r.Tensor, r.Layer, ErrConfig)
			}
		}
		var call Arguments
		if node < len(l.Arguments) {
			call = l.Arguments[node]
		}
		out, err := b.call(l, prefix+l.Name, call, in)
		if err == nil && layerMasks(in) {
			s := settingsOf(l)
			b.takeMasks(s, in, func(i int) bool { return takenInOrder(m, l, l.Calls[node][i]) })
			if s.failed() != nil {
				return nil, layerError(prefix+l.Name, l.Class, notRun, s.failed())
			}
		}
		return out, err
	})
	for i, v := range outputs {
		if r := m.Outputs[i]; v.node == "" {
			return nil, fmt.Errorf("output %d of %s is not a layer's: %w", r.Tensor, r.Layer, ErrConfig)
		}
	}
	return outputs, err
}

// layerMasks reports whether a value has a mask.
func layerMasks(in []value) bool {
	return slices.ContainsFunc(in, func(v value) bool { return v.mask != "" })
}

// takenInOrder reports whether each layer of m that takes r and the mask of r computes it from the output of l, or l from its output.
func takenInOrder(m *Model, l *Layer, r Ref) bool {
	var reach func(name string, seen map[string]bool)
	reach = func(name string, seen map[string]bool) {
		for _, in := range slices.Concat(m.Layer(name).Calls...) {
			if !seen[in.Layer] {
				seen[in.Layer] = true
				reach(in.Layer, seen)
			}
		}
	}
	depends := func(name, on string) bool {
		seen := map[string]bool{}
		reach(name, seen)
		return seen[on]
	}
	for i := range m.Layers {
		other := &m.Layers[i]
		c, name := classes[other.Class], other.Name
		if _, operation := other.Config[operands]; operation || strings.HasPrefix(other.Class, "ops.") || name == l.Name || !slices.Contains(slices.Concat(other.Calls...), r) ||
			other.Model == nil && !c.kept && !c.several && !passesMask[other.Class] {
			continue
		}
		if len(other.Calls) > 1 || len(l.Calls) > 1 || !depends(name, l.Name) && !depends(l.Name, name) {
			return false
		}
	}
	return true
}

// call adds one call of the layer of that path.
func (b *builder) call(layer *Layer, path string, call Arguments, in []value) ([]value, error) {
	if layer.Model != nil {
		if layer.Training && actsInTraining(layer) {
			return nil, layerError(path, layer.Class, notRun, unsupported("it is called with training=True"))
		}
		return b.model(layer.Model, path+"/", in)
	}
	l := settingsOf(layer)
	l.path, l.call = path, call
	if c := classes[l.Class]; c.translated() && slices.ContainsFunc(in, func(v value) bool { return v.lost }) {
		return lost(layer), nil
	}
	out := b.layer(l, in)
	err := first(l.failed(), b.err)
	switch {
	case err == nil:
		return out, nil
	case b.err == nil && errors.Is(err, weights.ErrUnsupported):
		b.refused = append(b.refused, layerError(path, l.Class, notRun, err))
		return lost(layer), nil
	}
	return nil, layerError(path, l.Class, notRun, err)
}

// lost returns the outputs of a layer that is not translated, as far as they are known.
func lost(l *Layer) []value {
	outputs := []value{{node: "?", lost: true}}
	for i, shape := range l.OutputShapes {
		outputs = append(outputs[:i], value{node: "?", lost: true, shape: shape})
	}
	return outputs
}

// joined returns one error of several of kind weights.ErrUnsupported.
func joined(refused []error) error {
	if len(refused) == 1 {
		return refused[0]
	}
	texts := make([]string, len(refused))
	for i, err := range refused {
		texts[i] = err.Error()
	}
	return errkind.Errorf(weights.ErrUnsupported, "%s", strings.Join(texts, "; "))
}

// layer adds the nodes of a layer, and returns its outputs; none if it fails.
func (b *builder) layer(l *settings, in []value) []value {
	c := classes[l.Class]
	in = b.typed(l, c, b.withMask(l, b.withoutTaken(in)))
	switch {
	case !c.translated():
		l.refuse("layers of this class are not translated")
	case len(in) == 0:
		l.invalid("no inputs")
	case len(in) > 1 && !c.several:
		l.refuse("%d inputs, such as a mask or states", len(in))
	case l.Training && actsInTraining(l.Layer):
		l.refuse("it is called with training=True")
	case len(l.call.Flags) > 0 && !c.flags:
		l.refuse("it is called with %s=True", l.call.Flags[0])
	}
	if l.failed() != nil {
		return nil
	}
	shapes, err := shapesOfClass(l, c, shapesOfValues(in))
	if err != nil {
		return nil
	}
	var out []value
	switch {
	case c.outputs != nil:
		out = c.outputs(b, l, in)
	case c.nodes != nil:
		out = []value{c.nodes(b, l, in)}
	default:
		m, v := c.module(l, [][]int{in[0].shape}), in[0]
		if c.axes != nil {
			v = c.axes(b, l, v)
		}
		out = []value{b.module(l, v, m)}
	}
	if l.failed() != nil {
		return nil
	}
	for i := range out {
		out[i].shape = shapes[i]
		if l.Class != "Concatenate" {
			out[i].parts = nil
		}
		if c.copies {
			out[i].dtype, out[i].inputs = in[0].dtype, inputsOfValues(in)
		}
	}
	if c.outputs == nil {
		out[0].mask = b.maskBehind(l, c, in)
		out[0] = b.activated(l, out[0])
	}
	return out
}

// withoutTaken returns the inputs of a call without the masks that attention has taken from tensors before.
func (b *builder) withoutTaken(in []value) []value {
	if len(b.unmasked) == 0 {
		return in
	}
	in = slices.Clone(in)
	for i, v := range in {
		if b.unmasked[v.node] {
			in[i].mask = ""
		}
	}
	return in
}

// takeMasks notes that a MultiHeadAttention of Keras 3 has taken the masks from its inputs: later layers that have these as inputs find none.
// A model is refused where the order of the layers is open.
func (b *builder) takeMasks(l *settings, in []value, later func(i int) bool) {
	if l.Class != "MultiHeadAttention" || strings.HasPrefix(b.version, "2.") {
		return
	}
	for i, v := range in {
		switch {
		case v.mask == "":
		case !later(i):
			l.refuse("a mask of its inputs that other layers take, too: Keras 3 removes it, before or after these layers read it")
		default:
			b.unmasked[v.node] = true
		}
	}
}

// withMask returns the inputs of a call without the mask that Keras 3 writes among its arguments, which the first has instead.
func (b *builder) withMask(l *settings, in []value) []value {
	if isOperand(l) {
		return in
	}
	in = slices.Clone(in)
	for i, name := range l.call.Inputs {
		if name == "mask" && i < len(in) && in[i].dtype == "bool" && len(in[i].shape) == 1 {
			in[i] = b.float(in[i])
			in[i].steps = true
		}
	}
	i := slices.IndexFunc(in, func(v value) bool { return v.steps })
	if i < 0 {
		return in
	}
	if in[0].mask = in[i].node; in[0].mask == constantMasks["ops.OnesLike"] {
		in[0].mask = ""
	}
	if from := in[i].compared; in[0].mask == constantMasks["ops.ZerosLike"] || i == 0 || from != nil && len(from.shape) > 1 || slices.ContainsFunc(in[i+1:], func(v value) bool { return v.steps }) {
		l.refuse("masks as its inputs")
	}
	return slices.Delete(in, i, i+1)
}

// maskBehind returns the mask of the output of a layer: the mask of its inputs for layers that compute each step by itself, and none for others
// and for operations, which lose it in Keras.
func (b *builder) maskBehind(l *settings, c class, in []value) string {
	switch {
	case isOperand(l) || l.Class == "Dot":
		return ""
	case c.flags: // the query's of an attention
		return in[0].mask
	case c.several:
		return b.joinedMask(l, in)
	case in[0].mask != "" && usesMask[l.Class]:
		l.refuse("a mask of its inputs, from a Masking or an Embedding with mask_zero")
	}
	if c.kept || passesMask[l.Class] {
		return in[0].mask
	}
	return ""
}

// joinedMask returns the mask of inputs that are merged. Keras 2 joins their masks by and, and takes an input without a mask for one whose steps all count
// where a Concatenate joins features. Keras 3 joins them by or, and has no mask if an input has none.
func (b *builder) joinedMask(l *settings, in []value) string {
	var masks []string
	for _, v := range in {
		if v.mask != "" && !slices.Contains(masks, v.mask) {
			masks = append(masks, v.mask)
		}
	}
	unmasked := slices.ContainsFunc(in, func(v value) bool { return v.mask == "" })
	steps := l.Class == "Concatenate" && len(in[0].shape) > 1 && concatAxis(l, in[0].shape) != len(in[0].shape)-1
	second := strings.HasPrefix(b.version, "2.")
	switch {
	case len(masks) == 0:
		return ""
	case steps || b.version == "" && (len(masks) > 1 || unmasked):
		l.refuse("masks of its inputs, from a Masking or an Embedding with mask_zero")
		return ""
	case unmasked && !second:
		return ""
	case len(masks) == 1:
		return masks[0]
	case second:
		return b.add(l, "mask", "mul", masks...)
	}
	return b.add(l, "mask", "maximum", masks...)
}

var (
	// passesMask are the classes of layers whose output has the mask of the input, besides those that keep its features and those of several inputs.
	passesMask = map[string]bool{"Dense": true, "TimeDistributed": true, "LayerNormalization": true, "GroupNormalization": true}
	// usesMask are the classes of layers that compute something else with a mask.
	usesMask = map[string]bool{"Softmax": true}
)

// module adds a module, or its parts, for a layer.
func (b *builder) module(l *settings, v value, m *module) value {
	b.flat[l.path] = v.flat
	for ; m != nil; m = m.next {
		if m.notRun != nil {
			l.fail(m.notRun)
		}
		v.node = b.add(l, m.part, m.config(), v.node)
		if m.part != "" {
			b.modules[l.path+"/"+m.part] = b.emitted[l.path+"/"+m.part]
		}
	}
	return v
}

// actsInTraining reports whether a layer computes something else in training.
func actsInTraining(l *Layer) bool {
	return classes[l.Class].training || l.Config["dropout"] != nil || l.Config["recurrent_dropout"] != nil ||
		l.Model != nil && slices.ContainsFunc(l.Model.Layers, func(inner Layer) bool { return actsInTraining(&inner) })
}

// activated adds the activation that is a setting of the layer.
func (b *builder) activated(l *settings, v value) value {
	if !classes[l.Class].activated {
		return v
	}
	return b.activation(l, "activation", l.Config["activation"], v)
}
