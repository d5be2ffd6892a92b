// Package onnx reads the weights of ONNX models: the initializers of the main graph, and
// the tensors of its Constant nodes.
//
// Elements stay in the file, or in the files beside it that hold external data. The schema
// is onnx.proto of github.com/onnx/onnx.
package onnx

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/h5dnn/h5dnn/internal/protowire"
	"github.com/h5dnn/h5dnn/serialize"
)

func init() {
	serialize.Register(serialize.Format{Name: "onnx", Extensions: []string{".onnx"}, Match: match, Open: open})
}

// Fields of messages.
const (
	modelIRVersion, modelProducer, modelProducerVersion, modelDomain, modelVersion, modelDoc, modelGraph, modelOpset, modelMeta = 1, 2, 3, 4, 5, 6, 7, 8, 14
	graphNode, graphName, graphInitializer, graphSparse                                                                         = 1, 2, 5, 15
	nodeOutput, nodeName, nodeOpType, nodeAttribute                                                                             = 2, 3, 4, 5
	attributeName, attributeTensor                                                                                              = 1, 5
	pairKey, pairValue                                                                                                          = 1, 2
	opsetDomain, opsetVersion                                                                                                   = 1, 2
	sparseValues                                                                                                                = 1
)

// match fits a message with a version of the format and, among the fields of a model, a
// graph. Protocol buffers have no signature.
func match(r io.ReaderAt, size int64) serialize.Confidence {
	model := protowire.NewReader(r, 0, size)
	version, graph := false, false
	for model.More() {
		f, err := model.Next()
		known := f.Number <= modelOpset || f.Number == modelMeta || f.Number == 20 || f.Number == 25 || f.Number == 26 // training, functions, configuration
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
}

func open(in serialize.Input) (serialize.File, error) {
	sections, err := in.Sections()
	if err != nil {
		return nil, err
	}
	f := &file{in: in, sections: sections, meta: map[string]string{}, external: newExternals(in)}
	f.list = serialize.NewList(0, f.meta, func() error { return errors.Join(f.external.close(), sections.Close()) })
	if err := f.model(protowire.NewReader(in, 0, in.Size)); err != nil {
		f.external.close()
		sections.Release()
		return nil, err
	}
	return f.list, nil
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
			return f.graph(r.Sub(field))
		}
		return err
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

func (f *file) graph(r *protowire.Reader) error {
	nodes := 0
	return each(r, func(field protowire.Field) (err error) {
		switch field.Number {
		case graphName:
			f.meta["graph"], err = r.Text(field)
		case graphInitializer:
			return f.add(r.Sub(field), "")
		case graphSparse:
			return f.sparse(r.Sub(field))
		case graphNode:
			nodes++
			return f.node(r.Sub(field), nodes)
		}
		return err
	})
}

// sparse lists a sparse initializer, which is named by its values, with an error.
func (f *file) sparse(r *protowire.Reader) error {
	name := ""
	err := each(r, func(field protowire.Field) error {
		if field.Number != sparseValues {
			return nil
		}
		t, err := f.tensor(r.Sub(field))
		name = t.name
		return err
	})
	if err != nil {
		return err
	}
	return f.list.Add(serialize.Unsupported(name, nil, "sparse tensor"))
}

// node adds the tensor of a Constant under the name of its output.
func (f *file) node(r *protowire.Reader, count int) error {
	op, output := "", fmt.Sprintf("node %d", count)
	var attributes []protowire.Field
	err := each(r, func(field protowire.Field) (err error) {
		switch field.Number {
		case nodeOpType:
			op, err = r.Text(field)
		case nodeOutput:
			output, err = r.Text(field)
		case nodeAttribute:
			attributes = append(attributes, field)
		}
		return err
	})
	if err != nil || op != "Constant" {
		return err
	}
	for _, attribute := range attributes {
		a := r.Sub(attribute)
		err := each(a, func(field protowire.Field) error {
			if field.Number != attributeTensor {
				return nil
			}
			return f.add(a.Sub(field), output)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// add adds a tensor, under its own name if name is "".
func (f *file) add(r *protowire.Reader, name string) error {
	t, err := f.tensor(r)
	if err != nil {
		return err
	}
	if name != "" {
		t.name = name
	}
	if t.name == "" {
		return errors.New("an initializer has no name")
	}
	e, err := f.entry(t)
	if err != nil && !strings.HasPrefix(err.Error(), t.name+": ") {
		err = fmt.Errorf("%s: %w", t.name, err)
	}
	return f.list.Add(e, err)
}
