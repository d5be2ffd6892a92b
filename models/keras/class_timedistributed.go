package keras

import (
	"strings"

	"github.com/h5dnn/h5dnn/models/weights"
)

// TimeDistributed applies a layer to each step, as PyTorch's Linear does by itself.
var _ = register(class{
	variables: timeDistributed, shapes: timeDistributedShapes, order: denseOrder,
	links: func(l *settings) []weights.Link {
		inner := l.within()
		if links := classes[inner.Class].links; links != nil {
			return links(inner)
		}
		l.fail(notInPyTorch("layer of class %s", inner.Class))
		return nil
	},
	module: func(l *settings, in [][]int) *module {
		inner := l.within()
		if inner.Class != "Dense" {
			return &module{differs: notInPyTorch("layer %s for each step; PyTorch's modules take batches: merge both axes", inner.Class)}
		}
		return denseModule(inner, in)
	},
	nodes: timeDistributedNodes, own: timeDistributedLinks,
	samples: []Layer{
		sample(map[string]any{"layer": map[string]any{"class_name": "Dense", "config": map[string]any{"units": 5.0}}}, w("kernel", 3, 5), w("bias", 5)),
		sample(map[string]any{"layer": map[string]any{"class_name": "Dense", "config": map[string]any{"units": 5.0, "use_bias": false}}}, w("kernel", 3, 5)),
	},
}, "TimeDistributed")

// within returns the layer that l is around, with its name and weights.
func (l *settings) within() *settings {
	inner := l.wrapped("layer")
	inner.Name, inner.Weights = l.Name, l.Weights
	return inner
}

func timeDistributedShapes(l *settings, in [][]int) [][]int {
	inner := l.wrapped("layer")
	c, ok := classes[inner.Class]
	var shapes [][]int
	switch {
	case len(in[0]) < 2 || !ok && inner.Model == nil:
		l.refuse("around a %s", inner.Class)
		return nil
	case inner.Model != nil:
		shapes = inferModel(inner.Model, [][]int{in[0][1:]})
	case c.shapes == nil:
		return in[:1]
	default:
		shapes = c.shapes(inner, [][]int{in[0][1:]})
	}
	if len(shapes) != 1 || shapes[0] == nil {
		return nil
	}
	return [][]int{append([]int{in[0][0]}, shapes[0]...)}
}

// timeDistributedNodes adds a dense layer, which acts on the last axis anyway, or a layer around the graph of another layer or model.
func timeDistributedNodes(b *builder, l *settings, in []value) value {
	inner := l.within()
	if inner.Class == "Dense" {
		return b.activated(inner, denseNodes(b, inner, in))
	}
	v := b.last(in[0])
	steps := newBuilder(&Model{Version: b.version}, LinkOptions{})
	steps.taken["x"], steps.flattens = true, map[string]bool{}
	if inner.Model != nil {
		for path := range inner.Model.All() {
			steps.flattens[inner.Name+"/"+path] = false // in the order of Keras, as the weights are
			if strings.Contains(path, "/") {
				l.refuse("around a model in a model")
			}
		}
	}
	outputs, err := steps.call(inner.Layer, inner.Name, Arguments{}, []value{{node: "x", shape: v.shape[1:]}})
	if err != nil || len(outputs) != 1 {
		l.fail(first(err, unsupported("%d outputs", len(outputs))))
		return v
	}
	last := steps.last(outputs[0])
	if l.fail(steps.err); steps.err != nil || len(steps.nodes) == 0 {
		return v
	}
	graph := map[string]any{"graph": map[string]any{"inputs": "x", "nodes": steps.nodes, "outputs": last.node}}
	v.node = b.add(l, "", map[string]any{"time_distributed": map[string]any{"layer": graph}}, v.node)
	for path, name := range steps.modules {
		b.modules[l.path+strings.TrimPrefix(path, inner.Name)] = v.node + ".layer." + name
	}
	b.notes = append(b.notes, steps.notes...)
	return v
}

// timeDistributedLinks returns the links of the layer within, or of the layers of a model within.
func timeDistributedLinks(l *settings) (links []weights.Link) {
	inner := l.within()
	if inner.Model == nil {
		return ownLinks(inner)
	}
	for path, layer := range inner.Model.All() {
		one := *layer
		one.Weights = weightsBelow(l, path+"/")
		for _, link := range ownLinks(l.of(&one)) {
			links = append(links, weights.Link{From: affixed(path+"/", link.From, ""), To: affixed(ModuleName(path)+".", link.To, ""), Op: link.Op})
		}
	}
	return links
}

func timeDistributed(l *settings) []Variable {
	inner := l.wrapped("layer")
	if inner.Model == nil {
		return within("", "layer", variablesOf(inner))
	}
	on := l.Config["trainable"] != false && inner.Config["trainable"] != false
	return within("", "layer", TrainedFirst(variablesWithin(l, inner.Model, on)))
}
