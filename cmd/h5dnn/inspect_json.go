package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/h5dnn/h5dnn/arrayfmt"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/inspect"
	"github.com/h5dnn/h5dnn/storage"
)

// A jsonPrinter prints one JSON object, with one line for each entry.
type jsonPrinter struct {
	w     io.Writer
	begun bool
}

func (o *jsonPrinter) Begin(at address, format string, size int) error {
	name, err := json.Marshal(storage.WithoutSecrets(at.file))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(o.w, "{\"file\":%s,\"format\":%q,\"size\":%d,\"objects\":[", name, format, size)
	return err
}

func (o *jsonPrinter) Entry(e inspect.Object, m objectDetails) error {
	separator := ",\n"
	if !o.begun {
		o.begun, separator = true, "\n"
	}
	if _, err := io.WriteString(o.w, separator); err != nil {
		return err
	}
	return encode(o.w, objectFields(e, m))
}

func (o *jsonPrinter) End() error {
	_, err := io.WriteString(o.w, "\n]}\n")
	return err
}

func objectFields(e inspect.Object, m objectDetails) fields {
	f := fields{{"path", e.Path}, {"kind", e.Kind}}
	switch e.Kind {
	case "soft":
		f = append(f, field{"target", e.Target})
	case "external":
		f = append(f, field{"target", e.Target}, field{"target_file", e.Other})
	case "datatype":
		f = append(f, field{"dtype", e.Type})
	}
	if e.Data != nil {
		f = append(f, datasetFields(e.Data)...)
	}
	if m.json != "" {
		f = append(f, field{"value", json.RawMessage(m.json)})
	}
	if m.stats != nil {
		f = append(f, field{"stats", m.stats.fields()})
	}
	if m.columns != nil {
		columns := []fields{}
		for _, c := range m.columns {
			columns = append(columns, append(fields{{"name", c.name}}, c.fields()...))
		}
		f = append(f, field{"column_stats", columns})
	}
	if e.Kind != "soft" && e.Kind != "external" {
		attrs := fields{}
		for _, a := range e.Attrs {
			attrs = append(attrs, field{a.Name, fields{{"shape", orNull(a.Shape)}, {"dtype", a.DType}, {"value", attrValue(a)}}})
		}
		f = append(f, field{"attrs", attrs})
	}
	f = f.optional("omitted", e.Omitted)
	if e.Err != nil {
		f = append(f, field{"error", withoutKind(e.Err.Error())})
	}
	return f
}

// attrValue returns the value of an attribute as JSON, or null if it has none or cannot be read.
func attrValue(a inspect.Attr) json.RawMessage {
	value, err := a.Get()
	if value == nil || err != nil {
		return json.RawMessage("null")
	}
	return json.RawMessage(jsonValue(value))
}

func datasetFields(d *inspect.Dataset) fields {
	ids := []int{}
	pipeline := []inspect.Filter{}
	for _, f := range d.Filters {
		f.Params = append([]uint32{}, f.Params...) // [] rather than null
		ids = append(ids, f.ID)
		pipeline = append(pipeline, f)
	}
	f := fields{{"shape", orNull(d.Shape)}, {"dtype", d.DType}}
	f = f.optional("element_shape", d.Element).optional("numpy", d.NumPy).optional("string", d.Text)
	if d.Big {
		f = append(f, field{"byteorder", "big"})
	}
	if d.Names != nil {
		members := fields{}
		for i, name := range d.Names {
			members = append(members, field{name, d.Values[i]})
		}
		f = append(f, field{"members", members})
	}
	f = f.optional("sources", d.Sources).optional("encoding", d.Encoding).optional("axes", d.Axes)
	f = f.optional("renamed", d.Renamed).optional("shares", d.Shares).optional("strides", d.Strides)
	f = append(f, field{"layout", d.Layout}, field{"chunks", orNull(d.Chunks)}, field{"maxshape", unlimited(d.MaxShape)},
		field{"filters", ids}, field{"pipeline", pipeline}, field{"external", d.External})
	if d.Size >= 0 {
		f = append(f, field{"size", d.Size})
	}
	if d.Stored >= 0 {
		f = append(f, field{"stored", d.Stored})
	}
	return f
}

// unlimited returns a maximum shape with null for unlimited axes.
func unlimited(shape []int) any {
	if shape == nil {
		return nil
	}
	list := make([]any, len(shape))
	for axis, n := range shape {
		if n >= 0 {
			list[axis] = n
		}
	}
	return list
}

func (s *summary) fields() fields {
	number := func(x float64) json.RawMessage { return json.RawMessage(arrayfmt.JSONNumber(dtype.Float64, x)) }
	edges := []json.RawMessage{}
	for _, x := range s.Edges {
		edges = append(edges, number(x))
	}
	counts := s.Counts
	if counts == nil {
		counts = []int{}
	}
	return fields{{"count", s.Count}, {"nan", s.NaN}, {"inf", s.Inf}, {"zeros", s.Zeros},
		{"min", number(s.Min)}, {"max", number(s.Max)}, {"mean", number(s.Mean)}, {"std", number(s.Std)},
		{"histogram", fields{{"edges", edges}, {"counts", counts}}}}
}
