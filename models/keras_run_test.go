package models_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/models"
	_ "github.com/h5dnn/h5dnn/serialize/hdf5"
)

const kerasFiles = "../serialize/kerasfile/testdata/"

// TestRunsOfKerasModelsPredict makes runs of models of Keras and compares what they
// predict with the outputs that Keras stored.
func TestRunsOfKerasModelsPredict(t *testing.T) {
	for _, name := range []string{"keras3_cnn.keras", "keras2_cnn.h5", "keras3_signals.keras", "keras2_volumes.h5", "keras3_mlp.keras", "keras3_transformer.keras", "keras2_transformer.h5"} {
		plan, err := kerasRun(t, kerasFiles+name, models.Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		predictsAsKeras(t, name, plan, kerasFiles+strings.TrimSuffix(name, filepath.Ext(name))+".npz")
	}
	plan, err := kerasRun(t, "testdata/rms.keras", models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	predictsAsKeras(t, "rms.keras", plan, "testdata/rms.npz")
}

// TestLayersThatAreLackingAreNamed holds the error of models that h5dnn does not run yet.
func TestLayersThatAreLackingAreNamed(t *testing.T) {
	_, err := kerasRun(t, kerasFiles+"keras3_recurrent.keras", models.Options{})
	var missing *models.MissingLayerError
	if !errors.As(err, &missing) || missing.Node != "bidirectional" || missing.Layer != "lstm" {
		t.Errorf("error %v; want one about the lstm of bidirectional", err)
	}
}
