package keras_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/internal/pythontest"
	"github.com/h5dnn/h5dnn/models/keras"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/serialize/kerasfile"
	"github.com/h5dnn/h5dnn/serialize/serializetest"
)

// TestLayersPredictWhatKerasPredicts has Keras 3, and Keras 2 if it is there, make models
// of every layer and setting, and compares their predictions with those of package nn.
func TestLayersPredictWhatKerasPredicts(t *testing.T) {
	for version, variable := range map[string]string{"keras3": pythontest.Variable, "keras2": "H5DNN_PYTHON_KERAS2"} {
		t.Run(version, func(t *testing.T) {
			dir := t.TempDir()
			out := pythontest.Command(t, exec.Command(pythontest.Interpreter(t, variable, "keras"), "testdata/zoo.py", dir))
			models := 0
			for line := range strings.Lines(out) {
				name, ok := strings.CutPrefix(strings.TrimSpace(line), "model ")
				if !ok {
					continue
				}
				models++
				if name == "avgpool3_same_2.keras" {
					continue // Keras's backend for PyTorch repeats edges where the padding is uneven; its others leave the padding out of means
				}
				t.Run(name, func(t *testing.T) { predictsLikeKeras(t, filepath.Join(dir, name)) })
			}
			if models < 80 {
				t.Errorf("%d models; want 80 at least", models)
			}
		})
	}
}

func predictsLikeKeras(t *testing.T, name string) {
	base := strings.TrimSuffix(name, filepath.Ext(name))
	m := serializetest.Open(t, name).(*kerasfile.File).Model()
	translation, err := keras.ToH5dnn(m, keras.LinkOptions{})
	if err != nil {
		t.Fatal(err)
	}
	model, err := nn.FromConfig(translation.Description)
	if err != nil {
		t.Fatal(err)
	}
	compare(t, model, translation, m, base+".npz")
}
