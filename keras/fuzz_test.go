package keras_test

import (
	"testing"

	"github.com/h5dnn/h5dnn/checkpoint"
	"github.com/h5dnn/h5dnn/keras"
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
		keras.ToH5dnn(m, checkpoint.LinkOptions{})
		if again, err := keras.Describe(m); err == nil {
			if _, err := keras.Parse(again); err != nil {
				t.Errorf("%v of what Describe wrote of %q", err, text)
			}
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
