package onnxgraph_test

import (
	"bytes"
	"testing"

	"github.com/h5dnn/h5dnn/models/onnxgraph"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/onnx"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// FuzzNew opens damaged models, and computes those that are small: none may panic or take memory beyond a limit.
func FuzzNew(f *testing.F) {
	all, err := arrays("testdata/operators.npz")
	if err != nil {
		f.Fatal(err)
	}
	for name, a := range all {
		if bytes.HasSuffix([]byte(name), []byte("model")) {
			f.Add(tensor.Values[uint8](tensor.FromArray(a)))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		file, err := serialize.OpenReader(bytes.NewReader(b), int64(len(b)), "x.onnx", serialize.Options{Budget: storage.NewBudget(16 << 20)})
		if err != nil {
			return
		}
		defer file.Close()
		model, ok := file.(onnx.Model)
		if !ok {
			return
		}
		g, err := model.Graph()
		if err != nil {
			return
		}
		m, err := onnxgraph.New(g)
		if err != nil {
			return
		}
		var inputs []*tensor.Tensor
		for _, in := range m.Inputs() {
			var shape []int
			for _, d := range in.Shape {
				shape = append(shape, max(d.Size, 1))
			}
			if !in.DType.Valid() || len(shape) > 8 {
				return
			}
			if _, err := views.New(shape, 1<<20); err != nil {
				return
			}
			inputs = append(inputs, tensor.NewMeta(in.DType, shape...))
		}
		if err := tensor.Try(func() { m.ForwardAll(inputs) }); err != nil && len(err.Error()) == 0 {
			t.Error("an error without a text")
		}
	})
}
