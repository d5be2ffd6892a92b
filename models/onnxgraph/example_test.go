package onnxgraph_test

import (
	"fmt"
	"log"

	"github.com/h5dnn/h5dnn/models/onnxgraph"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/onnx"
	"github.com/h5dnn/h5dnn/tensor"
)

// Example computes the outputs of a classifier of scikit-learn: the label and the probabilities of the classes.
func Example() {
	f, err := serialize.Open("testdata/classifier.onnx")
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	g, err := f.(onnx.Model).Graph()
	if err != nil {
		log.Fatal(err)
	}
	m, err := onnxgraph.New(g)
	if err != nil {
		log.Fatal(err)
	}
	x := tensor.FromSlice([]float32{2, 0, 0, 0}, 1, 4)
	outputs := m.ForwardAll([]*tensor.Tensor{x})
	fmt.Println(m.OutputNames(), m.Outputs()[0].Texts[int(outputs[0].Item())], m.Outputs()[1].Classes)
	// Output:
	// [label probabilities] high [high low]
}
