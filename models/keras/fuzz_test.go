package keras_test

import (
	"testing"

	"github.com/h5dnn/h5dnn/models/keras"
	"github.com/h5dnn/h5dnn/serialize"
)

// FuzzParse reads damaged configurations: they are errors or models, which are translated
// or refused.
func FuzzParse(f *testing.F) {
	for _, name := range []string{"keras3_graph.keras", "keras2_graph.h5", "keras3_recurrent.keras", "keras2_signals.h5"} {
		text := metaOf(f, files+name)
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := keras.Parse(text)
		if err != nil {
			return
		}
		keras.ToH5dnn(m, keras.LinkOptions{})
		if again, err := keras.Describe(m); err == nil {
			if _, err := keras.Parse(again); err != nil {
				t.Errorf("%v of what Describe wrote of %q", err, text)
			}
		}
	})
}

// FuzzTranslate rewrites damaged configurations for Keras 3. What was a model is one after that,
// with at least as many layers.
func FuzzTranslate(f *testing.F) {
	for _, name := range []string{"keras2_graph.h5", "keras2_signals.h5", "keras2_cnn.h5", "keras3_graph.keras"} {
		f.Add(metaOf(f, files+name), true)
		f.Add(metaOf(f, files+name), false)
	}
	f.Fuzz(func(t *testing.T, text string, current bool) {
		translated, err := keras.Translate(text, current)
		if err == nil {
			translated, _, err = keras.RenameLayers(translated)
		}
		if err != nil {
			return
		}
		before, err := keras.Parse(text)
		if err != nil {
			return
		}
		after, err := keras.Parse(translated)
		if err != nil {
			t.Fatalf("%v of what Translate wrote of %q: %s", err, text, translated)
		}
		if len(after.Layers) < len(before.Layers) {
			t.Errorf("%d layers, %d before: %q", len(after.Layers), len(before.Layers), text)
		}
	})
}

func metaOf(f *testing.F, name string) string {
	file, err := serialize.Open(name)
	if err != nil {
		f.Fatal(err)
	}
	defer file.Close()
	return file.Meta()["model_config"]
}
