package keras_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/checkpoint"
	"github.com/h5dnn/h5dnn/keras"
	"github.com/h5dnn/h5dnn/nn"
	kerasfile "github.com/h5dnn/h5dnn/serialize/keras"
)

// refusable are the models of the zoo that package nn cannot express, and what the error
// says.
var refusable = map[string]string{
	"avgpool2_same_1": "pads unevenly", "avgpool3_same_1": "do not count", "avgpool3_same_2": "do not count", "avgpool3_same_3": "do not count",
	"avgpool2_same_3": "pads unevenly", "maxpool2_same_1": "pads unevenly", "maxpool2_same_3": "pads unevenly",
}

// TestLayersPredictWhatKerasPredicts has Keras 3, and Keras 2 if it is there, make models
// of every layer and setting, and compares their predictions with those of package nn.
func TestLayersPredictWhatKerasPredicts(t *testing.T) {
	for _, c := range []struct{ version, variable, usual string }{
		{"keras3", "H5DNN_PYTHON", "/opt/peers/bin/python"}, {"keras2", "H5DNN_PYTHON_KERAS2", ""},
	} {
		t.Run(c.version, func(t *testing.T) {
			interpreter := os.Getenv(c.variable)
			if interpreter == "" {
				interpreter = c.usual
			}
			dir := t.TempDir()
			out, err := exec.Command(interpreter, "testdata/zoo.py", dir).CombinedOutput()
			if err != nil && (len(out) == 0 || strings.Contains(string(out), "ModuleNotFoundError")) {
				t.Skipf("no Python with %s; set %s to compare with it", c.version, c.variable)
			}
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			models := 0
			for line := range strings.Lines(string(out)) {
				name, ok := strings.CutPrefix(strings.TrimSpace(line), "model ")
				if !ok {
					continue
				}
				models++
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
	m := opened(t, name).(*kerasfile.File).Model()
	translation, err := keras.ToH5dnn(m, checkpoint.LinkOptions{})
	if want := refusable[filepath.Base(base)]; err != nil && want != "" {
		if !errors.Is(err, checkpoint.ErrUnsupported) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want one that says %q", err, want)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	model, err := nn.FromConfig(translation.Description)
	if err != nil {
		t.Fatal(err)
	}
	compare(t, model, translation, m, base+".npz")
}
