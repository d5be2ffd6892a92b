// Package weights computes the arrays of a model's weights in one framework from those in
// another: links between their names, operations with an inverse, and the rules of a user.
//
// It knows arrays. Layers belong to package models/keras, files to the packages below serialize.
package weights

import (
	"errors"

	"github.com/h5dnn/h5dnn/storage"
)

// A Link says that weights of a layer and parameters of its counterpart in another
// framework are the same numbers, laid out differently.
type Link struct {
	From []string // names of weights: "kernel" of a layer, "dense/kernel" of a model
	To   []string // names of parameters: "weight", "dense.weight"
	Op   Op
}

// An Op computes arrays from others, in both directions. It computes nothing until the
// elements of its results are read.
type Op interface {
	Forward(from []storage.Array) (to []storage.Array, err error)
	Backward(to []storage.Array) (from []storage.Array, err error)
	String() string // such as "transpose(1 0)"
}

// A Tensor is an array of a converted model.
type Tensor struct {
	Name      string
	Array     storage.Array
	From      []string                 // names of the arrays that it is computed from
	Operation string                   // such as "transpose(1 0)"
	Slots     map[string]storage.Array // the optimizer's buffers by Keras's names; nil for what is not trained
}

// ErrUnsupported is the kind of error, for errors.Is, of a layer or a setting that the
// other framework cannot express.
var ErrUnsupported = errors.New("not supported by the other framework")

// ErrAmbiguous is the kind of error, for errors.Is, of a tensor that may be converted in
// several ways.
var ErrAmbiguous = errors.New("ambiguous")

// ErrShape is the kind of error, for errors.Is, of a parameter whose shape does not fit
// the architecture.
var ErrShape = errors.New("shape does not fit the architecture")
