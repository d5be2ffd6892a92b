package onnx_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/serializetest"
)

// TestParametersThatAreNoTensorsAreOmittedByName has a pipeline of scikit-learn, whose scaler is a
// node with its numbers as attributes.
func TestParametersThatAreNoTensorsAreOmittedByName(t *testing.T) {
	f := serializetest.Open(t, "testdata/pipeline.onnx")
	o, ok := f.(serialize.Omitter)
	if !ok {
		t.Fatal("nothing is omitted")
	}
	var lines []string
	for _, item := range o.Omitted() {
		lines = append(lines, item.String())
	}
	want := []string{
		"/Scaler/offset: 3 values lost: parameter of a Scaler of ai.onnx.ml, which is no tensor of the model",
		"/Scaler/scale: 3 values lost: parameter of a Scaler of ai.onnx.ml, which is no tensor of the model",
		"/ZipMap/classlabels_int64s: 2 values lost: parameter of a ZipMap of ai.onnx.ml, which is no tensor of the model",
		"/: 16 values lost: nodes of the graph, such as Cast, Add, MatMul: arrays have the weights, not what computes with them",
	}
	if got := strings.Join(lines, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("omitted are\n%s", got)
	}
	if !o.Omitted().Avoidable() {
		t.Error("the parameters of the scaler are lost without notice")
	}
	plain := serializetest.Open(t, "testdata/raw.onnx").(serialize.Omitter).Omitted()
	if len(plain) != 1 || plain.Avoidable() {
		t.Errorf("omitted are %v; want the graph alone", plain)
	}
}

// TestParametersAreOfOtherDomains: a tensor of a node is a parameter unless the node is of ONNX's own domain.
func TestParametersAreOfOtherDomains(t *testing.T) {
	for domain, want := range map[string]int{"": 1, "ai.onnx": 1, "ai.onnx.ml": 2} { // one line for the graph
		tensor := message(5, "\x08\x01\x10\x01", message(9, "\x00\x00\x00\x00"))
		b := []byte("\x08\x08" + message(7, message(1, message(3, "n"), message(4, "Op"), message(5, message(1, "weights"), tensor), message(7, domain))))
		f, err := serialize.OpenReader(bytes.NewReader(b), int64(len(b)), "x.onnx")
		if err != nil {
			t.Fatal(err)
		}
		if omitted := f.(serialize.Omitter).Omitted(); len(omitted) != want || omitted.Avoidable() != (want == 2) {
			t.Errorf("domain %q: omitted are %v", domain, omitted)
		}
	}
}
