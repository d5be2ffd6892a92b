package main

// #include "exports.h"
import "C"

import (
	"context"

	"github.com/h5dnn/h5dnn/inspect"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage/hdf5"
)

// A problem is what is wrong with an object of a file, in JSON.
type problem struct {
	Path    string `json:"path"` // "" for the whole file
	Message string `json:"message"`
}

//export h5dnn_verify
func h5dnn_verify(path *C.text, out **C.char) C.h5dnn_status {
	return call(func() error {
		problems, err := verify(C.GoString(path))
		if err != nil {
			return err
		}
		return putJSON(out, problems)
	})
}

// verify checks a file as the command does.
func verify(name string) ([]problem, error) {
	format, err := serialize.FormatOf(name)
	if err == nil && format.Name != "h5ck" && serialize.Fits(name, "hdf5") {
		return verifyHDF5(name)
	}
	f, err := inspect.Open(name, serialize.Options{Format: format.Name})
	if err != nil {
		return nil, err
	}
	defer f.Close()
	problems := []problem{}
	for path, err := range serialize.Verify(context.Background(), inspect.Arrays(f)) {
		if err != nil {
			problems = append(problems, problem{path, err.Error()})
		}
	}
	return problems, nil
}

func verifyHDF5(name string) ([]problem, error) {
	report, err := hdf5.Verify(context.Background(), name, nil)
	problems := []problem{}
	for _, f := range append(report.Problems, report.Skipped...) {
		problems = append(problems, problem{f.Path, f.Message})
	}
	return problems, err
}
