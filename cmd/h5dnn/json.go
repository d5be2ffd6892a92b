package main

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/h5dnn/h5dnn/arrayfmt"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage/hdf5"
)

// fields is a JSON object whose members keep their order.
type fields []field

type field struct {
	Name  string
	Value any
}

// MarshalJSON implements json.Marshaler.
func (f fields) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for k, member := range f {
		if k > 0 {
			b.WriteByte(',')
		}
		if err := encode(&b, member.Name); err != nil {
			return nil, err
		}
		b.WriteByte(':')
		if err := encode(&b, member.Value); err != nil {
			return nil, err
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
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

// encodeLine is encode with a newline at the end.
func encodeLine(w io.Writer, v any) error {
	if err := encode(w, v); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// jsonValue writes a value of [hdf5.Dataset.Values], or lists of them, as JSON.
func jsonValue(value any) string {
	switch v := value.(type) {
	case string:
		return arrayfmt.JSONString(v)
	case float32:
		return arrayfmt.JSONNumber(dtype.Float32, float64(v))
	case float64:
		return arrayfmt.JSONNumber(dtype.Float64, v)
	case complex128:
		return "[" + jsonValue(real(v)) + "," + jsonValue(imag(v)) + "]"
	case []byte:
		return `"0x` + hex.EncodeToString(v) + `"`
	case []any:
		parts := make([]string, len(v))
		for k := range v {
			parts[k] = jsonValue(v[k])
		}
		return "[" + strings.Join(parts, ",") + "]"
	case hdf5.Record:
		f := make(fields, len(v.Names))
		for k, name := range v.Names {
			f[k] = field{name, json.RawMessage(jsonValue(v.Values[k]))}
		}
		value = f
	}
	var b strings.Builder
	encode(&b, value) // the other types always encode
	return b.String()
}

// orNull returns null for a missing list, and an empty list for an empty one.
func orNull(list []int) any {
	if list == nil {
		return nil
	}
	return list
}
