package main

// #include <stdlib.h>
// #include "exports.h"
import "C"

import (
	"encoding/json"
	"unsafe"

	"github.com/h5dnn/h5dnn/arrayfmt"
	"github.com/h5dnn/h5dnn/inspect"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/views"
)

// An object describes an object of a file in JSON.
type object struct {
	Path       string           `json:"path"`
	Kind       string           `json:"kind"`
	Target     string           `json:"target,omitempty"`
	TargetFile string           `json:"target_file,omitempty"`
	Shape      []int            `json:"shape"`
	MaxShape   []int            `json:"maxshape"` // -1: unlimited
	Chunks     []int            `json:"chunks"`
	DType      string           `json:"dtype,omitempty"`
	Detail     string           `json:"detail,omitempty"` // a longer description of the type
	Numbers    bool             `json:"numbers"`
	String     string           `json:"string,omitempty"`
	Fields     []string         `json:"fields,omitempty"` // of a compound, "name: type"
	Enum       map[string]int64 `json:"enum,omitempty"`
	Filters    []inspect.Filter `json:"filters,omitempty"`
	Size       int              `json:"size"`   // in bytes, decoded; -1 if unknown
	Stored     int              `json:"stored"` // in bytes; -1 if unknown
	Attributes []attribute      `json:"attributes,omitempty"`
	Error      string           `json:"error,omitempty"`
}

// An attribute is an attribute in JSON.
type attribute struct {
	Name  string          `json:"name"`
	Shape []int           `json:"shape"`
	DType string          `json:"dtype"`
	Value json.RawMessage `json:"value,omitempty"` // absent without a value, or if it cannot be read
}

// describeObject returns an object for JSON, with the values of its attributes if they are wanted.
func describeObject(o inspect.Object, values bool) object {
	d := object{Path: o.Path, Kind: o.Kind, Target: o.Target, TargetFile: o.Other, DType: o.Type, Fields: o.Fields, Size: -1, Stored: -1}
	if o.Err != nil {
		d.Error = o.Err.Error()
	}
	if s := o.Data; s != nil {
		d.Shape, d.MaxShape, d.Chunks, d.DType, d.Numbers, d.String = s.Shape, s.MaxShape, s.Chunks, s.DType, s.Numbers, s.Text
		d.Detail = s.Detail
		if len(s.Element) > 0 {
			d.Shape = append(append([]int{}, d.Shape...), s.Element...)
		}
		d.Filters, d.Size, d.Stored = s.Filters, s.Size, s.Stored
		for i, name := range s.Names {
			if d.Enum == nil {
				d.Enum = map[string]int64{}
			}
			d.Enum[name] = s.Values[i]
		}
	}
	for _, a := range o.Attrs {
		one := attribute{Name: a.Name, Shape: a.Shape, DType: a.DType}
		if values {
			if value, err := a.Get(); err == nil && value != nil {
				one.Value = json.RawMessage(jsonValue(value))
			}
		}
		d.Attributes = append(d.Attributes, one)
	}
	return d
}

//export h5dnn_object
func h5dnn_object(h C.h5dnn_file, name *C.text, out **C.char) C.h5dnn_status {
	return list(h, name, out, true)
}

//export h5dnn_objects
func h5dnn_objects(h C.h5dnn_file, name *C.text, out **C.char) C.h5dnn_status {
	return list(h, name, out, false)
}

// list describes the object of that name, or all objects at and below it.
func list(h C.h5dnn_file, name *C.text, out **C.char, first bool) C.h5dnn_status {
	return call(func() error {
		f, err := held[*file](h)
		if err != nil {
			return err
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		objects, err := f.Entries(C.GoString(name))
		if err != nil {
			return err
		}
		all := []object{}
		for o := range objects {
			if first {
				return putJSON(out, describeObject(o, true))
			}
			all = append(all, describeObject(o, false))
		}
		return putJSON(out, all)
	})
}

//export h5dnn_values
func h5dnn_values(h C.h5dnn_file, name, index *C.text, out **C.char) C.h5dnn_status {
	return call(func() error {
		f, err := held[*file](h)
		if err != nil {
			return err
		}
		s, err := f.find(C.GoString(name))
		if err != nil {
			return err
		}
		x, err := views.Parse(C.GoString(index))
		if err == nil {
			s, err = s.Select(x, nil)
		}
		if err == nil {
			err = s.CheckSize()
		}
		if err != nil {
			return err
		}
		values := make([]any, 0)
		if s.Numbers() {
			return putJSON(out, map[string]any{"shape": s.View().Shape, "values": values})
		}
		if values, err = s.Elements.Values(s.View()); err != nil {
			return err
		}
		return putJSON(out, struct {
			Shape  []int           `json:"shape"`
			Values json.RawMessage `json:"values"`
		}{s.View().Shape, json.RawMessage(jsonValue(values))})
	})
}

//export h5dnn_free_text
func h5dnn_free_text(line *C.char) C.h5dnn_status {
	C.free(unsafe.Pointer(line))
	return C.H5DNN_OK
}

// putJSON stores a value as JSON at the address that C gave.
func putJSON(out **C.char, value any) error {
	if out == nil {
		return errNull
	}
	text, err := json.Marshal(value)
	if err == nil {
		*out = C.CString(string(text))
	}
	return err
}

// jsonValue writes a value of [hdf5.Dataset.Values], or lists of them, as JSON. Compounds are
// lists, and references are paths.
func jsonValue(value any) string {
	return arrayfmt.JSONValue(value, func(value any) any {
		switch v := value.(type) {
		case hdf5.Record:
			return v.Values
		case hdf5.Reference:
			return v.Path
		}
		return value
	})
}
