package main

// #include "exports.h"
import "C"

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"

	"github.com/h5dnn/h5dnn/config"
	"github.com/h5dnn/h5dnn/convert"
	"github.com/h5dnn/h5dnn/inspect"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/diff"
	"github.com/h5dnn/h5dnn/storage"
)

// A conversion is the settings of h5dnn_convert.
type conversion struct {
	Format string `json:"format"` // of the output; by its extension if empty
	Force  bool   `json:"force"`
	Verify bool   `json:"verify"`
}

//export h5dnn_convert
func h5dnn_convert(path, out, settings *C.text, lost **C.char) C.h5dnn_status {
	return call(func() error {
		var s conversion
		if err := config.Decode(json.RawMessage(C.GoString(settings)), &s); err != nil {
			return fmt.Errorf("convert: %w", err)
		}
		plan, err := s.run(C.GoString(path), C.GoString(out))
		if err != nil {
			return err
		}
		items := []problem{}
		for _, item := range plan.Lost {
			items = append(items, problem{item.Path, item.Text()})
		}
		return putJSON(lost, items)
	})
}

// run converts a file as the command does, to the arrays of another.
func (s conversion) run(in, out string) (*convert.Plan, error) {
	format, err := serialize.ByExtension(out)
	if s.Format != "" {
		format, err = serialize.ByName(s.Format)
	}
	if err == nil {
		err = s.checkOutput(in, out)
	}
	if err != nil {
		return nil, err
	}
	choose := inspect.Objects
	if format.Name != "hdf5" {
		choose = inspect.ObjectsOrCheckpoint
	}
	file, err := inspect.Open(in, serialize.Options{Choose: choose})
	if err != nil {
		return nil, err
	}
	defer file.Close()
	plan, err := convert.New(context.Background(), file, "", format.Name, convert.Options{Verify: s.Verify, Out: out})
	if err == nil {
		err = plan.Write(context.Background(), out)
	}
	return plan, err
}

// checkOutput returns an error if a file must not be written.
func (s conversion) checkOutput(in, out string) error {
	if storage.IsURL(out) {
		return fmt.Errorf("%s: files at URLs are read and not written: %w", out, config.ErrInvalid)
	}
	there, err := os.Stat(out)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if source, err := os.Stat(in); err == nil && os.SameFile(source, there) {
		return fmt.Errorf("convert: %s and %s are the same file: %w", in, out, config.ErrInvalid)
	}
	if !s.Force {
		return fmt.Errorf("convert: %s exists; it is replaced with force: %w", out, config.ErrInvalid)
	}
	return nil
}

// A comparison is the settings of h5dnn_diff.
type comparison struct {
	Absolute    float64 `json:"atol"`
	Relative    float64 `json:"rtol"`
	IgnoreTypes bool    `json:"ignore_types"`
}

// A difference is how two arrays of one name differ, or that only one file has it, in JSON.
type difference struct {
	Name   string   `json:"name"`
	Only   string   `json:"only,omitempty"` // "a" or "b"
	DType  []string `json:"dtype,omitempty"`
	Shape  [][]int  `json:"shape,omitempty"`
	Error  string   `json:"error,omitempty"` // why the elements were not compared
	Count  int      `json:"different"`       // elements
	Most   any      `json:"absolute,omitempty"`
	Factor any      `json:"relative,omitempty"`
	Worst  []int    `json:"worst,omitempty"` // index of the largest relative error
}

//export h5dnn_diff
func h5dnn_diff(a, b, settings *C.text, out **C.char) C.h5dnn_status {
	return call(func() error {
		var s comparison
		if err := config.Decode(json.RawMessage(C.GoString(settings)), &s); err != nil {
			return fmt.Errorf("diff: %w", err)
		}
		differences, err := s.run(C.GoString(a), C.GoString(b))
		if err != nil {
			return err
		}
		return putJSON(out, differences)
	})
}

// run compares two files as the command does.
func (s comparison) run(a, b string) ([]difference, error) {
	if !(s.Absolute >= 0 && s.Relative >= 0) {
		return nil, config.Errorf("diff: atol %v and rtol %v: tolerances are not negative", s.Absolute, s.Relative)
	}
	first, formatA, err := serialize.OpenDetected(a)
	if err != nil {
		return nil, err
	}
	defer first.Close()
	second, formatB, err := serialize.OpenDetected(b)
	if err != nil {
		return nil, err
	}
	defer second.Close()
	report, err := diff.Files(context.Background(), first, second, diff.Options{
		Absolute: s.Absolute, Relative: s.Relative, IgnoreTypes: s.IgnoreTypes,
		IgnoreNames: diff.NamedByFile(a, first, formatA) || diff.NamedByFile(b, second, formatB),
	})
	if err != nil {
		return nil, err
	}
	all := []difference{}
	for _, d := range report.Differ {
		all = append(all, describeDifference(d))
	}
	for _, name := range report.OnlyA {
		all = append(all, difference{Name: name, Only: "a"})
	}
	for _, name := range report.OnlyB {
		all = append(all, difference{Name: name, Only: "b"})
	}
	return all, nil
}

func describeDifference(d diff.Array) difference {
	one := difference{Name: d.Name, DType: []string{d.TypeA, d.TypeB}, Shape: [][]int{d.ShapeA, d.ShapeB}, Count: d.Different}
	if d.Err != nil {
		one.Error = d.Err.Error()
	} else if d.Different > 0 {
		one.Most, one.Factor, one.Worst = jsonFloat(d.Absolute), jsonFloat(d.Relative), d.Worst
	}
	return one
}

// jsonFloat returns a number, or text for numbers that JSON does not have.
func jsonFloat(x float64) any {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return fmt.Sprint(x)
	}
	return x
}
