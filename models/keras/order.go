package keras

import (
	"cmp"
	"slices"
)

// inKerasOrder sorts the layers of a functional model as Keras does when it builds the model, so
// that files list weights in the order in which Keras loads them: by the longest path to an
// output, and then as they are first met on the way from the outputs back to the inputs
// (map_graph in keras/src/ops/function.py).
func inKerasOrder(m *Model) {
	w := graphWalk{model: m, met: map[string]int{}, finished: map[Ref]bool{}}
	for _, r := range m.Outputs {
		w.visit(r)
	}
	depthOf := map[string]int{}
	nodeDepth := map[Ref]int{}
	for _, node := range slices.Backward(w.nodes) {
		depth := max(nodeDepth[node], depthOf[node.Layer])
		depthOf[node.Layer] = depth
		for _, r := range m.Layer(node.Layer).inputs(node.Node) {
			r.Tensor = 0
			nodeDepth[r] = max(nodeDepth[r], depth+1)
		}
	}
	for i := range m.Layers { // that lead to no output: last, as Keras has unused inputs
		if _, ok := w.met[m.Layers[i].Name]; !ok {
			w.met[m.Layers[i].Name] = -1
		}
	}
	slices.SortStableFunc(m.Layers, func(a, b Layer) int {
		return cmp.Or(depthOf[b.Name]-depthOf[a.Name], w.met[a.Name]-w.met[b.Name])
	})
}

// A graphWalk goes depth first from outputs to inputs.
type graphWalk struct {
	model    *Model
	met      map[string]int // layers, numbered as they are met
	finished map[Ref]bool
	nodes    []Ref // calls of layers, inputs first
}

// visit goes to the call of which r is an output. The model has no cycles.
func (w *graphWalk) visit(r Ref) {
	r.Tensor = 0
	if w.finished[r] {
		return
	}
	if _, ok := w.met[r.Layer]; !ok {
		w.met[r.Layer] = len(w.met)
	}
	for _, in := range w.model.Layer(r.Layer).inputs(r.Node) {
		w.visit(in)
	}
	w.finished[r] = true
	w.nodes = append(w.nodes, r)
}

// inputs returns the inputs of a call, and those among the arguments by name of a function, which come after them.
func (l *Layer) inputs(call int) []Ref {
	refs := slices.Clone(l.Calls[call])
	eachRef(l.Config[callArguments], func(ref []any) {
		refs = append(refs, Ref{Layer: ref[0].(string), Node: nodeOf(ref)})
	})
	return refs
}
