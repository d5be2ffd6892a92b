package checkpoint

import "github.com/h5dnn/h5dnn/storage"

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
