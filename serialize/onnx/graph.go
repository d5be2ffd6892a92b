package onnx

import (
	"errors"
	"fmt"
	"math"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/protowire"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
)

// A Graph is the computation of a model: nodes that compute values from others, by their names.
type Graph struct {
	Name         string
	Producer     string // name and version of the program that wrote the model
	Opsets       map[string]int
	Inputs       []Value // initializers included, as in models of IR version 3
	Outputs      []Value
	Initializers map[string]Tensor
	Nodes        []Node
	Functions    []Function
	Size         int64 // of the file, in bytes
}

// A Value is an input or an output of a graph.
type Value struct {
	Name  string
	Type  string     // as TensorProto.DataType names it, such as FLOAT; "sequence" or "map" for values that are no tensors
	DType dtype.Type // dtype.Invalid for strings and others that h5dnn does not have
	Shape []Dim      // nil if the graph does not say
}

// A Dim is the size of an axis: a number, or a name.
type Dim struct {
	Size int    // −1 if it is not fixed
	Name string // "" without
}

// String returns the size or the name of d, or ? if it has neither.
func (d Dim) String() string {
	switch {
	case d.Size >= 0:
		return fmt.Sprint(d.Size)
	case d.Name != "":
		return d.Name
	}
	return "?"
}

// A Node computes its outputs from its inputs. An input or output without a name is left out.
type Node struct {
	Name, Op, Domain, Overload string

	Inputs, Outputs []string
	Attributes      map[string]Attribute
}

// An Attribute is a setting of a node.
type Attribute struct {
	Ints    []int64
	Floats  []float32
	Strings []string
	Tensor  Tensor
	Graph   bool   // it is a graph, such as a branch of If
	Of      string // the attribute of the function around the node that it stands for; "" if it has a value of its own
}

// A Tensor has elements, or the error of reading them.
type Tensor struct {
	serialize.Entry
	Err error
}

// A Function is a graph that nodes name as their operator.
type Function struct {
	Name, Domain, Overload string

	Inputs, Outputs, Attributes []string
	Defaults                    map[string]Attribute
	Nodes                       []Node
	Opsets                      map[string]int
}

// Fields of messages that only the computation needs.
const (
	graphInput, graphOutput                                                                                  = 11, 12
	nodeInput, nodeOverload                                                                                  = 1, 8
	attributeFloat, attributeInt, attributeString, attributeFloats, attributeInts, attributeStrings          = 2, 3, 4, 7, 8, 9
	attributeOf                                                                                              = 21
	valueName, valueType, typeTensor, typeSequence, typeMap, tensorElement, tensorShape, shapeDim, sizeValue = 1, 2, 1, 4, 5, 1, 2, 1, 1
	sizeName                                                                                                 = 2
	functionInput, functionOutput, functionAttribute, functionOpset, functionDefault, functionOverload       = 4, 5, 6, 9, 11, 13
)

// Graph reads the computation of the model. Elements of tensors stay in the file.
func (m Model) Graph() (*Graph, error) {
	f := m.file
	g := &Graph{Opsets: map[string]int{}, Initializers: map[string]Tensor{}, Size: f.in.Size}
	parse := &graphReader{file: f}
	version := ""
	err := each(protowire.NewReader(f.in, 0, f.in.Size), func(field protowire.Field) (err error) {
		r := protowire.NewReader(f.in, field.At, field.Size)
		switch field.Number {
		case modelProducer:
			g.Producer, err = r.Text(field)
		case modelProducerVersion:
			version, err = r.Text(field)
		case modelOpset:
			err = parse.opset(r, g.Opsets)
		case modelGraph:
			err = parse.graph(r, g)
		case modelFunction:
			var function Function
			function, err = parse.function(r)
			g.Functions = append(g.Functions, function)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("graph: %w", err)
	}
	if version != "" {
		g.Producer += " " + version
	}
	return g, nil
}

// A graphReader counts the memory of what it reads.
type graphReader struct {
	*file
	bytes int
}

// text reads the text of a field.
func (p *graphReader) text(r *protowire.Reader, field protowire.Field) (string, error) {
	if err := p.take(int(min(field.Size, math.MaxInt32)) + 16); err != nil {
		return "", err
	}
	return r.Text(field)
}

// take charges n bytes of memory.
func (p *graphReader) take(n int) error {
	p.bytes += n
	return p.in.Budget.Allocate(p.bytes, int(p.in.Size))
}

// texts appends the text of a field to a list.
func (p *graphReader) texts(list *[]string, r *protowire.Reader, field protowire.Field) error {
	text, err := p.text(r, field)
	*list = append(*list, text)
	return err
}

func (p *graphReader) opset(r *protowire.Reader, opsets map[string]int) error {
	domain, version := "", 0
	err := each(r, func(field protowire.Field) (err error) {
		switch field.Number {
		case opsetDomain:
			domain, err = p.text(r, field)
		case opsetVersion:
			version = int(min(field.Value, math.MaxInt32))
		}
		return err
	})
	opsets[plainDomain(domain)] = version
	return err
}

// plainDomain returns a domain, of which ONNX's own has two names.
func plainDomain(domain string) string {
	if domain == "ai.onnx" {
		return ""
	}
	return domain
}

func (p *graphReader) graph(r *protowire.Reader, g *Graph) error {
	return each(r, func(field protowire.Field) (err error) {
		sub := r.Sub(field)
		switch field.Number {
		case graphName:
			g.Name, err = p.text(r, field)
		case graphInput, graphOutput:
			var v Value
			if v, err = p.value(sub); field.Number == graphInput {
				g.Inputs = append(g.Inputs, v)
			} else {
				g.Outputs = append(g.Outputs, v)
			}
		case graphInitializer:
			var t Tensor
			var name string
			if t, name, err = p.elements(sub); err == nil {
				if _, twice := g.Initializers[name]; twice {
					return fmt.Errorf("two initializers are named %q: %w", name, storage.ErrState)
				}
				g.Initializers[name] = t
			}
		case graphSparse:
			err = fmt.Errorf("sparse initializers are not read; store them as dense ones: %w", dtype.ErrType)
		case graphNode:
			var n Node
			n, err = p.node(sub)
			g.Nodes = append(g.Nodes, n)
		}
		return err
	})
}

// elements reads a tensor, whose elements may be refused later.
func (p *graphReader) elements(r *protowire.Reader) (t Tensor, name string, err error) {
	read, err := p.tensor(r)
	if err != nil {
		return t, "", err
	}
	if err := p.take(len(read.name) + 512); err != nil {
		return t, "", err
	}
	t.Entry, t.Err = p.entry(read)
	return t, read.name, nil
}

// value reads a ValueInfoProto.
func (p *graphReader) value(r *protowire.Reader) (v Value, err error) {
	err = each(r, func(field protowire.Field) (err error) {
		switch field.Number {
		case valueName:
			v.Name, err = p.text(r, field)
		case valueType:
			err = p.typeOf(r.Sub(field), &v)
		}
		return err
	})
	return v, err
}

func (p *graphReader) typeOf(r *protowire.Reader, v *Value) error {
	return each(r, func(field protowire.Field) error {
		switch field.Number {
		case typeSequence:
			v.Type = "sequence"
		case typeMap:
			v.Type = "map"
		case typeTensor:
			sub := r.Sub(field)
			return each(sub, func(field protowire.Field) error {
				switch field.Number {
				case tensorElement:
					element := elementTypes[field.Value]
					v.Type, v.DType = element.name, element.typ
				case tensorShape:
					v.Shape = []Dim{}
					return p.shape(sub.Sub(field), v)
				}
				return nil
			})
		}
		return nil
	})
}

func (p *graphReader) shape(r *protowire.Reader, v *Value) error {
	return each(r, func(field protowire.Field) error {
		if field.Number != shapeDim {
			return nil
		}
		d, sub := Dim{Size: -1}, r.Sub(field)
		err := each(sub, func(field protowire.Field) (err error) {
			switch field.Number {
			case sizeValue:
				if field.Value > math.MaxInt32 {
					return fmt.Errorf("%s: axis %d has size %d: %w", v.Name, len(v.Shape), int64(field.Value), storage.ErrState)
				}
				d.Size = int(field.Value)
			case sizeName:
				d.Name, err = p.text(sub, field)
			}
			return err
		})
		if v.Shape = append(v.Shape, d); len(v.Shape) > maxRank {
			return fmt.Errorf("%s: more than %d axes", v.Name, maxRank)
		}
		return err
	})
}

func (p *graphReader) node(r *protowire.Reader) (n Node, err error) {
	if err := p.take(256); err != nil {
		return n, err
	}
	n.Attributes = map[string]Attribute{}
	err = each(r, func(field protowire.Field) (err error) {
		switch field.Number {
		case nodeInput:
			err = p.texts(&n.Inputs, r, field)
		case nodeOutput:
			err = p.texts(&n.Outputs, r, field)
		case nodeName:
			n.Name, err = p.text(r, field)
		case nodeOpType:
			n.Op, err = p.text(r, field)
		case nodeDomain:
			n.Domain, err = p.text(r, field)
		case nodeOverload:
			n.Overload, err = p.text(r, field)
		case nodeAttribute:
			var a Attribute
			var name string
			a, name, err = p.attribute(r.Sub(field))
			n.Attributes[name] = a
		}
		return err
	})
	n.Domain = plainDomain(n.Domain)
	return n, err
}

func (p *graphReader) attribute(r *protowire.Reader) (a Attribute, name string, err error) {
	if err := p.take(256); err != nil {
		return a, "", err
	}
	err = each(r, func(field protowire.Field) (err error) {
		switch field.Number {
		case attributeName:
			name, err = p.text(r, field)
		case attributeFloat, attributeFloats:
			return p.numbers(r, field, 4, func(x uint64) { a.Floats = append(a.Floats, math.Float32frombits(uint32(x))) })
		case attributeInt, attributeInts:
			return p.numbers(r, field, 0, func(x uint64) { a.Ints = append(a.Ints, int64(x)) })
		case attributeString, attributeStrings:
			err = p.texts(&a.Strings, r, field)
		case attributeTensor:
			a.Tensor, _, err = p.elements(r.Sub(field))
		case attributeGraph, attributeGraphs:
			a.Graph = true
		case attributeSparse, attributeTensors:
			a.Tensor.Err = errors.New("attributes of several or sparse tensors are not read")
		case attributeOf:
			a.Of, err = p.text(r, field)
		}
		return err
	})
	return a, name, err
}

// numbers calls add with the numbers of a field: one, or several, of width bytes or, if width is
// 0, of variable length.
func (p *graphReader) numbers(r *protowire.Reader, field protowire.Field, width int64, add func(uint64)) error {
	if field.Type != 2 {
		add(field.Value)
		return p.take(8)
	}
	if err := p.take(8 * int(min(field.Size, math.MaxInt32))); err != nil {
		return err
	}
	packed := r.Sub(field)
	if width > 0 {
		b := make([]byte, field.Size)
		if err := p.in.ReadFull(b, field.At); err != nil {
			return err
		}
		for ; len(b) >= 4; b = b[4:] {
			add(uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24)
		}
		return nil
	}
	for packed.More() {
		x, err := packed.Varint()
		if err != nil {
			return err
		}
		add(x)
	}
	return nil
}

func (p *graphReader) function(r *protowire.Reader) (f Function, err error) {
	f.Opsets, f.Defaults = map[string]int{}, map[string]Attribute{}
	err = each(r, func(field protowire.Field) (err error) {
		sub := r.Sub(field)
		switch field.Number {
		case functionName:
			f.Name, err = p.text(r, field)
		case functionDomain:
			f.Domain, err = p.text(r, field)
		case functionOverload:
			f.Overload, err = p.text(r, field)
		case functionInput:
			err = p.texts(&f.Inputs, r, field)
		case functionOutput:
			err = p.texts(&f.Outputs, r, field)
		case functionAttribute:
			err = p.texts(&f.Attributes, r, field)
		case functionDefault:
			var a Attribute
			var name string
			a, name, err = p.attribute(sub)
			f.Defaults[name] = a
		case functionOpset:
			err = p.opset(sub, f.Opsets)
		case functionNode:
			var n Node
			n, err = p.node(sub)
			f.Nodes = append(f.Nodes, n)
		}
		return err
	})
	f.Domain = plainDomain(f.Domain)
	return f, err
}
