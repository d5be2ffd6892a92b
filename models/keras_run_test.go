package models_test

import (
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
	for _, name := range []string{"keras3_cnn.keras", "keras2_cnn.h5", "keras3_signals.keras", "keras2_volumes.h5", "keras3_mlp.keras", "keras3_transformer.keras", "keras2_transformer.h5", "keras3_recurrent.keras", "keras2_recurrent.h5"} {
		plan, err := kerasRun(t, kerasFiles+name, models.Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		predictsAsKeras(t, name, plan, kerasFiles+strings.TrimSuffix(name, filepath.Ext(name))+".npz")
	}
	for _, name := range []string{"rms.keras", "rnn.keras", "sequences.keras", "sequences2.h5"} {
		plan, err := kerasRun(t, "testdata/"+name, models.Options{})
		if err != nil {
			t.Fatal(err)
		}
		predictsAsKeras(t, name, plan, "testdata/"+strings.TrimSuffix(name, filepath.Ext(name))+".npz")
	}
}
