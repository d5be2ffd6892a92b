package onnxgraph_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/models/onnxgraph"
)

var rewrite = flag.Bool("rewrite", false, "write docs/onnx.md anew")

const (
	page = "../../docs/onnx.md"

	// introduction is the page without the table of operators.
	introduction = `# ONNX models

    h5dnn inspect model.onnx
    h5dnn predict model.onnx data.h5:/images -o predictions.h5

` + "`inspect`" + ` shows inputs and outputs with their shapes and types, opsets, the program that wrote the model, parameters, size and the number
of nodes of each operator. ` + "`predict`" + ` runs the graph on samples along the first axis of each input; sizes that the model leaves
open, such as the number of steps, are those of the data. A model that was exported for a fixed number of samples computes blocks of
that size, of which the last is filled with zeros. Weights may be in files beside the model (external data); paths that leave its folder are refused.

In Go, ` + "`models.OpenONNX`" + ` returns a module of package nn, ` + "`models.ONNXRun`" + ` a run that predicts with it:

` + "```go" + `
m, err := models.OpenONNX("model.onnx")
run, err := models.ONNXRun(m, nil, storage.CPU)
predictor, err := run.Predictor()
y, err := predictor.Predict(x)
` + "```" + `

When a model is opened, functions in it are inlined, nodes of constants are computed, batch normalizations are folded into convolutions, and biases
and activations are joined with the products before them. Sizes that follow from the shapes of the inputs are computed once for each of their shapes.

A value that is quantized to 8 bits and back by one scale (QDQ) stands for integers: ` + "`predict`" + ` computes convolutions and products of it by
constants of 8 bits with a scale for each output channel in integers, exactly, where that is faster than float32. Results differ from ONNX Runtime's where
the last bits of float32 round to another integer.

Strings are the positions of constants: predictions of a classifier with strings as labels are these strings. A ZipMap, which makes a
list of dictionaries in ONNX, returns the matrix of its values, whose columns are the classes.

Models with operators that are not in the table are refused with a list of all of them: If, Loop and Scan, whose graphs depend on data, are among
them. So are settings of an operator that h5dnn does not compute: BatchNormalization and Dropout in training mode, an Attention with keys of earlier
steps, Resize with tf_crop_and_resize, indices of MaxPool by columns.

## Conversion

    h5dnn convert model.onnx run.h5 --framework h5dnn
    h5dnn convert model.onnx model.keras

write the model as layers: a run, which ` + "`h5dnn train`" + ` trains further, or a model of Keras. Nodes are named after the module whose weight they
have, or after themselves. Where a node is no layer of h5dnn, or has settings that the layer does not have, all such operators are named and nothing is
written. GELU and SiLU are one layer where their arithmetic is written out. Products of two values, arithmetic, comparisons and reductions are the layer ` + "`function`" + `.

Operators that change the axes of a value, such as Transpose and Reshape, are layers only where the next one needs another order of the elements, so that
the samples may be on any axis, or share one with others: attention of PyTorch, with the steps first, becomes products, softmax and linear layers.
Steps have added positions, and a class token before them, that are trained where their elements come from an initializer; sines and cosines
stay. Other constants beside values, such as masks and gains of the last axis, do not change in training: up to 16384 numbers, or a causal
mask of any size. The least float32 stands for −∞ in them. A row of scores that are all masked is therefore uniform, where ONNX Runtime has NaN.
A weight that several nodes have becomes one for each, and a note names these layers: they are trained apart. The label that a classifier of scikit-learn has beside its probabilities is left out, and the classes are named in a note. States of recurrent layers may be the first of others. ` + "`--input-shape`" + ` gives the sizes of a sample that the model leaves open. Other formats, such as ` + "`.pt`" + ` and ` + "`.npz`" + `, have the
arrays of the model under its own names; ` + "`h5dnn convert run.h5 model.pt`" + ` writes a state_dict of the layers.

## Operators

Opsets %d to %d are known, by which the semantics of some operators differ. "since" is the first opset with an operator; "layer" says
whether a layer of h5dnn computes the same, so that the model may be converted.

| operator | since | layer |
|---|---|---|
`
)

// TestPageListsOperators compares docs/onnx.md with the operators that are registered.
func TestPageListsOperators(t *testing.T) {
	var b strings.Builder
	oldest, newest := onnxgraph.Opsets()
	fmt.Fprintf(&b, introduction, oldest, newest)
	for _, o := range onnxgraph.Operators() {
		name := o.Name
		if o.Domain != "" {
			name = o.Domain + "." + name
		}
		layer := ""
		if o.Layer {
			layer = "✓"
		}
		fmt.Fprintf(&b, "| %s | %d | %s |\n", name, o.Since, layer)
	}
	if *rewrite {
		if err := os.WriteFile(page, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != b.String() {
		t.Error("docs/onnx.md differs from the operators; go test ./models/onnxgraph -run TestPageListsOperators -rewrite writes it anew")
	}
}
