package models_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/models"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"

	_ "github.com/h5dnn/h5dnn/serialize/hdf5"
	_ "github.com/h5dnn/h5dnn/serialize/onnx"
)

const onnxFiles = "onnxgraph/testdata/"

// TestONNXModelsBecomeRuns converts models that PyTorch exported to layers of nn, which predict what ONNX Runtime did.
func TestONNXModelsBecomeRuns(t *testing.T) {
	for _, name := range []string{"small_cnn", "small_lstm", "small_states"} {
		plan, err := kerasRun(t, onnxFiles+name+".onnx", models.Options{})
		if err != nil {
			t.Fatal(err)
		}
		predictsAs(t, name, plan, onnxFiles+name+".npz", "in_0", "out_0")
	}
}

// TestONNXModelsBecomeModelsOfKeras converts a model to Keras and back: names and weights stay.
func TestONNXModelsBecomeModelsOfKeras(t *testing.T) {
	source, err := models.Open(onnxFiles + "small_cnn.onnx")
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	plan, err := models.New(source, "keras", models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "x.keras")
	if err := plan.Write(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	m, err := models.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for name := range nn.StateDict(m) {
		if strings.HasSuffix(name, "weight") || strings.HasSuffix(name, "bias") {
			found++
		}
	}
	if found < 4 {
		t.Errorf("%d weights; want those of a convolution and a linear layer", found)
	}
}

// TestONNXModelsPredict runs a classifier as its graph says, and converts it to a run without the label.
func TestONNXModelsPredict(t *testing.T) {
	m, err := models.OpenONNX(onnxFiles + "classifier.onnx")
	if err != nil {
		t.Fatal(err)
	}
	run, err := models.ONNXRun(m, nil, storage.CPU)
	if err != nil {
		t.Fatal(err)
	}
	p, err := run.Predictor()
	if err != nil {
		t.Fatal(err)
	}
	y, err := p.Predict(storage.From([]float32{-2, 0, 0, 0, 3, 0, 0, 0}, 2, 4))
	if err != nil {
		t.Fatal(err)
	}
	if labels, err := storage.Read[int64](y); err != nil || labels[0] != 1 || labels[1] != 0 {
		t.Errorf("labels %v, %v; want 1 and 0", labels, err)
	}
	plan, err := kerasRun(t, onnxFiles+"classifier.onnx", models.Options{})
	if want := "1 output left out: label, which names the class by the values of probabilities: high, low"; err != nil || !slices.Contains(plan.Notes, want) {
		t.Errorf("%v, %v; want the note %s", plan, err, want)
	}
}
