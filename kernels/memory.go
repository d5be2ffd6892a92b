package kernels

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
)

// start returns the bytes of host memory from a's first element on; nil for nil.
func start(a *storage.Array) []byte {
	if a == nil {
		return nil
	}
	return a.Data.(storage.Host).Bytes()[a.Offset*a.Type.Size():]
}

// at returns the bytes of host memory from the first element of g's operand i on.
func at(g *native.Grid, i int, a *storage.Array) []byte {
	return a.Data.(storage.Host).Bytes()[g.First[i]*a.Type.Size():]
}

// fromFirst returns a's storage from its first element on; nil for nil.
func fromFirst[T dtype.Go](a *storage.Array) []T {
	if a == nil {
		return nil
	}
	return storage.Elements[T](*a)[a.Offset:]
}
