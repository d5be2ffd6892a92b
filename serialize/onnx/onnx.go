// Package onnx reads the weights of ONNX models: the initializers of the main graph and of
// the graphs in its nodes, and the values of Constant nodes. What is in the graph of a node,
// such as a branch of If, is named NODE/ATTRIBUTE/NAME; what is in a function,
// DOMAIN.FUNCTION/NAME; and what only training needs, training/algorithm/NAME.
//
// The documentation of a tensor is its attribute doc_string.
//
// Elements stay in the file, or in the files beside it that hold external data. The schema
// is onnx.proto of github.com/onnx/onnx.
package onnx

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/protowire"
	"github.com/h5dnn/h5dnn/loss"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
)

func init() {
	serialize.Register(serialize.Format{Name: "onnx", Extensions: []string{".onnx"}, Match: match, Open: open})
}

// Fields of messages.
const (
	modelIRVersion, modelProducer, modelProducerVersion, modelDomain, modelVersion, modelDoc, modelGraph, modelOpset, modelMeta, modelTraining, modelFunction, modelConfiguration = 1, 2, 3, 4, 5, 6, 7, 8, 14, 20, 25, 26
	graphNode, graphName, graphInitializer, graphSparse                                                                                                                           = 1, 2, 5, 15
	nodeOutput, nodeName, nodeOpType, nodeAttribute, nodeDomain                                                                                                                   = 2, 3, 4, 5, 7
	attributeName, attributeTensor, attributeGraph, attributeTensors, attributeGraphs, attributeSparse                                                                            = 1, 5, 6, 10, 11, 22
	pairKey, pairValue                                                                                                                                                            = 1, 2
	opsetDomain, opsetVersion                                                                                                                                                     = 1, 2
	trainingInitialization, trainingAlgorithm                                                                                                                                     = 1, 2
	functionName, functionNode, functionDomain                                                                                                                                    = 1, 7, 10
	sparseValues, sparseDims                                                                                                                                                      = 1, 3
)

// constants are the fields of the attributes of Constant that hold numbers or strings: their
// type, the field of a tensor with such elements, and whether there are several.
var constants = map[int]struct {
	typ   uint64
	field int
	list  bool
}{2: {1, tensorFloats, false}, 3: {7, tensorLongs, false}, 4: {typeString, tensorStrings, false}, 9: {typeString, tensorStrings, true}, 7: {1, tensorFloats, true}, 8: {7, tensorLongs, true}}

// maxDepth bounds graphs in nodes of graphs.
const maxDepth = 100

// match fits a message with a version of the format and, among the fields of a model, a
// graph. Protocol buffers have no signature.
func match(r io.ReaderAt, size int64) serialize.Confidence {
	model := protowire.NewReader(r, 0, size)
	version, graph := false, false
	for model.More() {
		f, err := model.Next()
		known := f.Number <= modelOpset || f.Number == modelMeta || f.Number == modelTraining || f.Number == modelFunction || f.Number == modelConfiguration
		if err != nil || !known {
			return serialize.NoMatch
		}
		version = version || f.Number == modelIRVersion && f.Type == 0 && f.Value > 0 && f.Value < 1000
		graph = graph || f.Number == modelGraph && f.Type == 2
	}
	if version && graph {
		return serialize.ContentMatch
	}
	return serialize.NoMatch
}

// A file is a model that is being opened.
type file struct {
	in       serialize.Input
	sections *serialize.Sections
	external *externals
	meta     map[string]string
	list     *serialize.List
	copies   map[string]int // how many arrays of nodes have a name
	names    int            // bytes of memory of the list and its attributes, about
	decoded  int            // bytes of elements in memory
	nodes    map[string]int // of the graph, by their operation
	omitted  loss.List
}

// A Model is the file of a model: its tensors, and by [Model.Graph] what computes with them.
type Model struct {
	*serialize.List
	omitted loss.List
	file    *file
}

// Omitted implements [serialize.Omitter].
func (m Model) Omitted() loss.List { return m.omitted }

func open(in serialize.Input) (serialize.File, error) {
	sections, err := in.Sections()
	if err != nil {
		return nil, err
	}
	f := &file{in: in, sections: sections, meta: map[string]string{}, copies: map[string]int{}, external: newExternals(in), nodes: map[string]int{}}
	f.list = serialize.NewList(0, f.meta, func() error { return errors.Join(f.external.close(), sections.Close()) })
	err = f.model(protowire.NewReader(in, 0, in.Size))
	if err != nil {
		f.external.close()
		sections.Release()
		return nil, err
	}
	f.external.failOverlapping(f.list)
	f.omitGraph()
	return Model{f.list, f.omitted, f}, nil
}

// omitGraph notes that the nodes of the graph are not read, apart from the values in them.
func (f *file) omitGraph() {
	n := 0
	for _, count := range f.nodes {
		n += count
	}
	ops := slices.SortedFunc(maps.Keys(f.nodes), func(a, b string) int {
		return cmp.Or(f.nodes[b]-f.nodes[a], strings.Compare(a, b))
	})
	f.omitted.AddInherent("/", loss.Value, n, "nodes of the graph, such as %s: arrays have the weights, not what computes with them", strings.Join(ops[:min(3, len(ops))], ", "))
}

// omitParameters notes the lists and tensors that an attribute of a node has. Outside of the
// domain ai.onnx these may be learnt parameters, such as the scale of ai.onnx.ml's Scaler.
func (f *file) omitParameters(r *protowire.Reader, path, op, domain string) error {
	name, elements, tensors := "", 0, 0
	err := each(r, func(field protowire.Field) (err error) {
		switch field.Number {
		case attributeName:
			name, err = r.Text(field)
		case attributeTensor, attributeTensors, attributeSparse:
			tensors++
		default:
			if value, ok := constants[field.Number]; ok && value.list {
				n, err := f.count(field, value.field)
				elements += n
				return err
			}
		}
		return err
	})
	if n := elements + tensors; err == nil && n > 0 {
		f.names += len(path) + len(name) + 512
		f.omitted.Add("/"+path+"/"+name, loss.Value, n, "parameter of a %s of %s, which is no tensor of the model", op, domain)
		err = f.in.Budget.Allocate(f.names, int(f.in.Size))
	}
	return err
}

// each calls do with every field of a message.
func each(r *protowire.Reader, do func(protowire.Field) error) error {
	for r.More() {
		field, err := r.Next()
		if err == nil {
			err = do(field)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (f *file) model(r *protowire.Reader) error {
	graphs := 0
	names := map[int]string{modelProducer: "producer_name", modelProducerVersion: "producer_version", modelDomain: "domain", modelDoc: "doc_string"}
	return each(r, func(field protowire.Field) (err error) {
		switch field.Number {
		case modelIRVersion:
			f.meta["ir_version"] = strconv.FormatUint(field.Value, 10)
		case modelVersion:
			f.meta["model_version"] = strconv.FormatInt(int64(field.Value), 10)
		case modelProducer, modelProducerVersion, modelDomain, modelDoc:
			f.meta[names[field.Number]], err = r.Text(field)
		case modelOpset:
			err = f.opset(r.Sub(field))
		case modelMeta:
			var key, value string
			if key, value, err = pair(r.Sub(field)); err == nil {
				f.meta[key] = value
			}
		case modelGraph:
			if graphs++; graphs > 1 {
				return errors.New("the model has several graphs")
			}
			return f.graph(r.Sub(field), "", 0)
		case modelTraining:
			return f.training(r.Sub(field))
		case modelFunction:
			return f.function(r, field)
		}
		return err
	})
}

// training adds what is in the graphs of a TrainingInfoProto.
func (f *file) training(r *protowire.Reader) error {
	return each(r, func(field protowire.Field) error {
		switch field.Number {
		case trainingInitialization:
			return f.graph(r.Sub(field), "training/initialization/", 1)
		case trainingAlgorithm:
			return f.graph(r.Sub(field), "training/algorithm/", 1)
		}
		return nil
	})
}

// function adds what is in the nodes of a FunctionProto, whose domain comes after them.
func (f *file) function(in *protowire.Reader, message protowire.Field) error {
	domain, name := "", ""
	r := in.Sub(message)
	err := each(r, func(field protowire.Field) (err error) {
		switch field.Number {
		case functionName:
			name, err = r.Text(field)
		case functionDomain:
			domain, err = r.Text(field)
		}
		return err
	})
	if err != nil {
		return err
	}
	nodes := 0
	r = in.Sub(message)
	return each(r, func(field protowire.Field) error {
		if field.Number != functionNode {
			return nil
		}
		nodes++
		return f.node(r.Sub(field), domain+"."+name+"/", nodes, 1)
	})
}

func (f *file) opset(r *protowire.Reader) error {
	domain, version := "ai.onnx", uint64(0)
	err := each(r, func(field protowire.Field) (err error) {
		switch field.Number {
		case opsetDomain:
			if text, err := r.Text(field); err != nil || text != "" {
				domain = text
			}
		case opsetVersion:
			version = field.Value
		}
		return err
	})
	f.meta["opset."+domain] = strconv.FormatUint(version, 10)
	return err
}

// pair reads a StringStringEntryProto.
func pair(r *protowire.Reader) (key, value string, err error) {
	err = each(r, func(field protowire.Field) (err error) {
		switch field.Number {
		case pairKey:
			key, err = r.Text(field)
		case pairValue:
			value, err = r.Text(field)
		}
		return err
	})
	return key, value, err
}

// graph adds the tensors of a graph, with a prefix of their names.
func (f *file) graph(r *protowire.Reader, prefix string, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("more than %d graphs within each other: %w", maxDepth, storage.ErrState)
	}
	nodes, initializers := 0, 0
	return each(r, func(field protowire.Field) (err error) {
		switch field.Number {
		case graphName:
			if depth == 0 {
				f.meta["graph"], err = r.Text(field)
			}
		case graphInitializer:
			initializers++
			return f.initializer(r.Sub(field), prefix, initializers)
		case graphSparse:
			return f.sparse(r.Sub(field), prefix, "")
		case graphNode:
			nodes++
			return f.node(r.Sub(field), prefix, nodes, depth)
		}
		return err
	})
}

// sparse lists a sparse tensor, which is named by its values if name is "", with an error.
func (f *file) sparse(r *protowire.Reader, prefix, name string) error {
	var t tensor
	err := each(r, func(field protowire.Field) error {
		switch field.Number {
		case sparseValues:
			values, err := f.tensor(r.Sub(field))
			if name == "" {
				name = values.name
			}
			return err
		case sparseDims:
			return t.addDims(r, field)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if name, err = f.unused(prefix, name); err != nil {
		return err
	}
	e, err := serialize.Unsupported(name, t.dims, "sparse tensor")
	if e.Elements != nil {
		err = fmt.Errorf("sparse tensors are not read; store it as a dense one: %w", dtype.ErrType)
	}
	f.list.AddMarkingDuplicates(e, err)
	return nil
}

// node adds the values of a Constant under the name of its output, and what is in the graphs
// of a node.
func (f *file) node(r *protowire.Reader, prefix string, count, depth int) error {
	op, name, domain, output := "", "", "", fmt.Sprintf("node %d", count)
	var attributes []protowire.Field
	err := each(r, func(field protowire.Field) (err error) {
		switch field.Number {
		case nodeOpType:
			op, err = r.Text(field)
		case nodeName:
			name, err = r.Text(field)
		case nodeOutput:
			output, err = r.Text(field)
		case nodeDomain:
			domain, err = r.Text(field)
		case nodeAttribute:
			attributes = append(attributes, field)
		}
		return err
	})
	if err != nil {
		return err
	}
	if name == "" {
		name = fmt.Sprintf("%s %d", op, count)
	}
	if op != "Constant" {
		if f.nodes[op]++; f.nodes[op] == 1 {
			f.names += len(op) + 64
		}
	}
	for _, attribute := range attributes {
		if op == "Constant" {
			err = f.constant(r.Sub(attribute), prefix, output)
		} else {
			err = f.graphs(r.Sub(attribute), prefix+name, depth)
		}
		if err == nil && domain != "" && domain != "ai.onnx" {
			err = f.omitParameters(r.Sub(attribute), prefix+name, op, domain)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// constant adds the value in an attribute of a Constant.
func (f *file) constant(r *protowire.Reader, prefix, name string) error {
	t := tensor{name: name}
	err := each(r, func(field protowire.Field) error {
		switch field.Number {
		case attributeTensor:
			t, err := f.tensor(r.Sub(field))
			if err != nil {
				return err
			}
			t.name = name
			return f.addTensor(t, prefix)
		case attributeSparse:
			return f.sparse(r.Sub(field), prefix, name)
		}
		value, isNumber := constants[field.Number]
		if !isNumber {
			return nil
		}
		n, err := f.count(field, value.field)
		if t.typ = value.typ; value.list && len(t.dims) == 0 {
			t.dims = []int{0}
		}
		if value.list {
			t.dims[0] += n
		}
		field.Number = value.field
		t.parts = append(t.parts, field)
		return err
	})
	if err != nil || t.typ == 0 {
		return err
	}
	return f.addTensor(t, prefix)
}

// count returns the number of elements in a field.
func (f *file) count(field protowire.Field, number int) (n int, err error) {
	switch {
	case field.Type != 2, number == tensorStrings:
		return 1, nil
	case number == tensorFloats:
		return int(field.Size / 4), nil
	}
	for r := protowire.NewReader(f.in, field.At, field.Size); r.More() && err == nil; n++ {
		_, err = r.Varint()
	}
	return n, err
}

// graphs adds what is in the graphs of an attribute.
func (f *file) graphs(r *protowire.Reader, node string, depth int) error {
	name, count := "", 0
	return each(r, func(field protowire.Field) (err error) {
		switch field.Number {
		case attributeName:
			name, err = r.Text(field)
		case attributeGraph:
			return f.graph(r.Sub(field), node+"/"+name+"/", depth+1)
		case attributeGraphs:
			count++
			return f.graph(r.Sub(field), fmt.Sprintf("%s/%s %d/", node, name, count), depth+1)
		}
		return err
	})
}

// unused returns a name in the graph of a node that no other array has: nodes may have the
// same name. It is followed by ', '2, '3 and so on then.
func (f *file) unused(prefix, name string) (string, error) {
	const cost = 512 // bytes of memory for an array beside its name, about
	f.names += len(prefix) + len(name) + cost
	if err := f.in.Budget.Allocate(f.names, int(f.in.Size)); err != nil { // names in nodes have a common beginning
		return "", fmt.Errorf("names: %w", err)
	}
	name = prefix + name
	if prefix == "" {
		return name, nil
	}
	unused := name
	for f.list.Has(unused) {
		f.copies[name]++
		if unused = name + "'"; f.copies[name] > 1 {
			unused += strconv.Itoa(f.copies[name])
		}
	}
	return unused, nil
}

// initializer adds the tensor that is number n in a graph. One without a name is called after
// its number.
func (f *file) initializer(r *protowire.Reader, prefix string, n int) error {
	t, err := f.tensor(r)
	if err != nil {
		return err
	}
	if t.name == "" {
		t.name = fmt.Sprintf("initializer %d", n)
	}
	return f.addTensor(t, prefix)
}

func (f *file) addTensor(t tensor, prefix string) error {
	var err error
	f.names += len(t.doc)
	if t.name, err = f.unused(prefix, t.name); err != nil {
		return err
	}
	e, err := f.entry(t)
	if t.doc != "" {
		e.Attrs = map[string]any{"doc_string": t.doc}
	}
	f.list.AddMarkingDuplicates(e, err)
	return nil
}
