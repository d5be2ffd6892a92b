// Package onnxgraph computes ONNX models: the graph of operators that [onnx.Model.Graph] reads, on tensors.
//
// A [Model] is a module of nn whose parameters are the initializers of the graph, so that
// [train.NewPredictor] predicts with it. What follows from constants is computed when the model is opened,
// and what follows from the shapes of the inputs once for each of their shapes. The file
// docs/onnx.md lists the operators. Models with others are refused.
//
// The semantics of operators are in the repository onnx/onnx, docs/Operators.md and docs/Changelog.md.
package onnxgraph

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/errkind"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/serialize/onnx"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// A Model is an ONNX model in memory. It is safe for concurrent use.
type Model struct {
	Weights map[string]*nn.Parameter // constants of floats, by the names of their values

	inputs, outputs []Value
	names           []string // of values, by their numbers
	nodes           []*node
	known           []*tensor.Tensor // values that follow from constants; nil for others
	learnt          map[int]bool     // values with the elements of an initializer
	batch           int              // that the graph demands; 0 if it takes any

	plans    sync.Map // of *plan by the shapes of inputs
	recorded atomic.Int64
	widest   atomic.Int64
}

// A Value is an input or output of a model.
type Value struct {
	onnx.Value
	Texts   []string // strings that integers stand for by their positions; nil if they are numbers
	Classes []string // names of the columns; nil if there are none
	number  int
}

// A node is an operator in a model.
type node struct {
	op, name   string
	opset      int
	in, out    []int // numbers of values; −1 where left out
	attributes map[string]onnx.Attribute
	rule       *rule
	tensors    map[string]*tensor.Tensor // attributes
	texts      [][]string                // that the inputs stand for by their positions

	act    tensor.Activation // that follows, joined with the node
	joined bool              // the last input is a bias that was added behind the node
}

// A MissingOperatorsError is the error of a model with operators that h5dnn does not compute.
type MissingOperatorsError struct{ Counts map[string]int }

func (e *MissingOperatorsError) Error() string {
	return "h5dnn does not compute the operators " + strings.Join(onnx.Counted(e.Counts), ", ") + "; h5dnn help onnx lists those that it does"
}

// Missing returns the number of nodes of each operator that h5dnn does not compute, in the graph and its functions.
func Missing(g *onnx.Graph) map[string]int {
	missing := map[string]int{}
	functions := map[operator]bool{}
	for _, f := range g.Functions {
		functions[operator{f.Domain, f.Name}] = true
	}
	count := func(nodes []onnx.Node) {
		for _, n := range nodes {
			if key := (operator{n.Domain, n.Op}); rules[key] == nil && !functions[key] {
				missing[n.FullName()]++
			}
		}
	}
	count(g.Nodes)
	for _, f := range g.Functions {
		count(f.Nodes)
	}
	return missing
}

// Unwrap returns dtype.ErrType, the kind of what is not supported.
func (e *MissingOperatorsError) Unwrap() error { return dtype.ErrType }

// New returns the model of a graph in host memory.
func New(g *onnx.Graph) (*Model, error) {
	return build(g, nil, (*joiner).quantization, (*joiner).gelu, (*joiner).silu, (*joiner).normalization, (*joiner).bias, (*joiner).activation)
}

// build returns the model of a graph with nodes that are joined, after a change of it unless that is nil.
func build(g *onnx.Graph, change func(b *builder), joins ...join) (*Model, error) {
	b := &builder{change: change, joins: joins, graph: g, m: &Model{Weights: map[string]*nn.Parameter{}, learnt: map[int]bool{}}, values: map[string]int{}, missing: map[string]int{}}
	if version, used := g.Opsets[""]; used && (version > newestOpset || version < oldestOpset) {
		return nil, errkind.Errorf(dtype.ErrType, "opset %d of ONNX; h5dnn knows %d to %d; export the model again with one of these", version, oldestOpset, newestOpset)
	}
	if version := g.Opsets[ml]; version > newestML {
		return nil, errkind.Errorf(dtype.ErrType, "opset %d of %s; h5dnn knows 1 to %d; export the model again with one of these", version, ml, newestML)
	}
	var m *Model
	var err error
	failed := tensor.Try(func() { m, err = b.build() })
	return m, cmp.Or(err, failed)
}

// Inputs returns the inputs without initializers, in the order of the graph.
func (m *Model) Inputs() []Value { return slices.Clone(m.inputs) }

// Outputs returns the outputs.
func (m *Model) Outputs() []Value { return slices.Clone(m.outputs) }

// InputNames returns the names of the inputs.
func (m *Model) InputNames() []string { return namesOf(m.inputs) }

// OutputNames returns the names of the outputs.
func (m *Model) OutputNames() []string { return namesOf(m.outputs) }

func namesOf(values []Value) []string {
	names := make([]string, len(values))
	for i, v := range values {
		names[i] = v.Name
	}
	return names
}

// Forward computes the output for the one input.
func (m *Model) Forward(x *tensor.Tensor) *tensor.Tensor { return nn.ForwardOne(m, x) }

// elementType returns the type with a number of TensorProto.DataType.
func elementType(n int) dtype.Type { return onnx.ElementType(n) }

// load reads the elements of t into host memory; of strings, their positions.
func load(t onnx.Tensor) (*tensor.Tensor, error) {
	if t.Err != nil {
		return nil, t.Err
	}
	if t.Elements != nil {
		return tensor.Arange(dtype.Int64, 0, float64(t.Elements.View.Len()), 1).Reshape(t.Elements.View.Shape...), nil
	}
	a, err := t.Array.To(storage.CPU)
	if err != nil {
		return nil, err
	}
	return tensor.FromArray(a), nil
}

// textsIn returns the strings of a tensor of strings.
func textsIn(t onnx.Tensor) ([]string, error) {
	if t.Err != nil || t.Elements == nil {
		return nil, t.Err
	}
	values, err := t.Elements.Values(t.Elements.View)
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = fmt.Sprint(v)
	}
	return texts, err
}
