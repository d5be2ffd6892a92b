package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"reflect"

	"github.com/h5dnn/h5dnn/arrayfmt"
	"github.com/h5dnn/h5dnn/storage/hdf5"
)

// fields is a JSON object whose members keep their order.
type fields []field

type field struct {
	Name  string
	Value any
}

// optional returns f with a member, unless its value is zero or nil.
func (f fields) optional(name string, value any) fields {
	if reflect.ValueOf(value).IsZero() {
		return f
	}
	return append(f, field{name, value})
}

// MarshalJSON implements json.Marshaler.
func (f fields) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	err := f.write(&b)
	return b.Bytes(), err
}

// UnmarshalJSON implements json.Unmarshaler; values stay as they are.
func (f *fields) UnmarshalJSON(b []byte) error {
	in := json.NewDecoder(bytes.NewReader(b))
	if open, err := in.Token(); err != nil || open != json.Delim('{') {
		return cmp.Or(err, errors.New("not a JSON object"))
	}
	for in.More() {
		name, err := in.Token()
		if err != nil {
			return err
		}
		var value json.RawMessage
		if err := in.Decode(&value); err != nil {
			return err
		}
		*f = append(*f, field{name.(string), value})
	}
	return nil
}

// encode writes v as JSON without a newline and without escaping <, > and &.
func encode(w io.Writer, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
	return err
}

// A sequence is an array whose elements are made one after the other.
type sequence iter.Seq[any]

// write writes an object, of which a sequence is not in memory as a whole.
func (f fields) write(w io.Writer) error {
	b := &lasting{w: w}
	io.WriteString(b, "{")
	for k, member := range f {
		if k > 0 {
			io.WriteString(b, ",")
		}
		if err := encode(b, member.Name); err != nil {
			return err
		}
		io.WriteString(b, ":")
		if err := encodeMember(b, member.Value); err != nil {
			return err
		}
	}
	io.WriteString(b, "}")
	return b.err
}

// encodeMember writes a value, which may be a sequence.
func encodeMember(w io.Writer, value any) error {
	list, ok := value.(sequence)
	if !ok {
		return encode(w, value)
	}
	separator := "["
	for element := range list {
		io.WriteString(w, separator)
		if err := encode(w, element); err != nil {
			return err
		}
		separator = ","
	}
	if separator == "[" {
		io.WriteString(w, separator)
	}
	_, err := io.WriteString(w, "]")
	return err
}

// encodeLine is encode with a newline at the end.
func encodeLine(w io.Writer, v any) error {
	write := func() error { return encode(w, v) }
	if f, ok := v.(fields); ok {
		write = func() error { return f.write(w) }
	}
	if err := write(); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// jsonValue writes a value of [hdf5.Dataset.Values], or lists of them, as JSON. Compounds are objects.
func jsonValue(value any) string {
	return arrayfmt.JSONValue(value, func(value any) any {
		record, ok := value.(hdf5.Record)
		if !ok {
			return value
		}
		f := make(fields, len(record.Names))
		for k, name := range record.Names {
			f[k] = field{name, json.RawMessage(jsonValue(record.Values[k]))}
		}
		return f
	})
}

// orNull returns null for a missing list, and an empty list for an empty one.
func orNull(list []int) any {
	if list == nil {
		return nil
	}
	return list
}
