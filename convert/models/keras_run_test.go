package models_test

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/convert/models"
	"github.com/h5dnn/h5dnn/serialize"
	_ "github.com/h5dnn/h5dnn/serialize/hdf5"
	"github.com/h5dnn/h5dnn/storage"
)

const kerasFiles = "../../serialize/keras/testdata/"

// TestRunsOfKerasModelsPredict makes runs of models of Keras and compares what they
// predict with the outputs that Keras stored.
func TestRunsOfKerasModelsPredict(t *testing.T) {
	for _, name := range []string{"keras3_cnn.keras", "keras2_cnn.h5", "keras3_signals.keras", "keras2_volumes.h5", "keras3_mlp.keras"} {
		source, err := models.Open(kerasFiles + name)
		if err != nil {
			t.Fatal(err)
		}
		defer source.Close()
		plan, err := models.New(context.Background(), source, "hdf5", models.Options{Framework: "h5dnn"})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		run, err := plan.Run(storage.CPU)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		p, err := run.Predictor()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		stored, err := serialize.Open(kerasFiles + strings.TrimSuffix(name, filepath.Ext(name)) + ".npz")
		if err != nil {
			t.Fatal(err)
		}
		defer stored.Close()
		x, err := serialize.Lookup(stored, "x0")
		if err != nil {
			t.Fatal(err)
		}
		host, err := x.Array.To(storage.CPU)
		if err != nil {
			t.Fatal(err)
		}
		y, err := p.Predict(host)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want, err := serialize.Lookup(stored, "y0")
		if err != nil {
			t.Fatal(err)
		}
		expected, err := storage.Read[float32](want.Array)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range storage.Elements[float32](y) {
			if d := math.Abs(float64(v - expected[i])); !(d < 1e-5) {
				t.Errorf("%s: output %d is %v; Keras has %v", name, i, v, expected[i])
			}
		}
	}
}

// TestLayersThatAreLackingAreNamed holds the error of models that h5dnn does not run yet.
func TestLayersThatAreLackingAreNamed(t *testing.T) {
	source, err := models.Open(kerasFiles + "keras3_recurrent.keras")
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	_, err = models.New(context.Background(), source, "hdf5", models.Options{Framework: "h5dnn"})
	var missing *models.MissingLayerError
	if !errors.As(err, &missing) || missing.Node != "bidirectional" || missing.Layer != "lstm" {
		t.Errorf("error %v; want one about the lstm of bidirectional", err)
	}
}
