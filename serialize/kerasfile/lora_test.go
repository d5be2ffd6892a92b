package kerasfile_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/serializetest"
	"github.com/h5dnn/h5dnn/storage"
)

// TestLoRA: a .keras has the LoRA of a layer merged into its kernel, and an .h5 has it beside the
// kernel, if the description of the model says so.
func TestLoRA(t *testing.T) {
	const config = `{"class_name": "Sequential", "config": {"name": "s", "layers": [
		{"class_name": "InputLayer", "config": {"name": "i", "batch_shape": [null, 3]}},
		{"class_name": "Dense", "config": {"name": "d", "units": 2, "lora_rank": 1, "lora_alpha": 1}}]}}`
	kernel := serialize.Entry{Name: "d/kernel", Array: storage.From(make([]float32, 6), 3, 2)}
	bias := serialize.Entry{Name: "d/bias", Array: storage.From([]float32{1, 2}, 2)}
	a := serialize.Entry{Name: "d/lora_kernel_a", Array: storage.From([]float32{1, 2, 3}, 3, 1)}
	b := serialize.Entry{Name: "d/lora_kernel_b", Array: storage.From([]float32{4, 5}, 1, 2)}
	save := func(name, format string, entries ...serialize.Entry) error {
		return serialize.Save(name, format, serialize.Contents{Meta: map[string]string{"model_config": config, "keras_version": "3.1.0"}, Entries: func(yield func(serialize.Entry, error) bool) {
			for _, e := range entries {
				if !yield(e, nil) {
					return
				}
			}
		}})
	}
	dir := t.TempDir()
	merged := filepath.Join(dir, "merged.h5")
	if err := save(merged, "keras-h5", kernel, bias); err != nil {
		t.Fatal(err)
	}
	if text := serializetest.Open(t, merged).Meta()["model_config"]; strings.Contains(text, "lora") {
		t.Errorf("a kernel alone, and a description with LoRA: %s", text)
	}
	beside := filepath.Join(dir, "beside.h5")
	if err := save(beside, "keras-h5", kernel, bias, a, b); err != nil {
		t.Fatal(err)
	}
	var names []string
	f := serializetest.Open(t, beside)
	for e, err := range f.All() {
		if err != nil {
			t.Error(err)
		}
		names = append(names, e.Name)
	}
	if want := []string{"d/bias", "d/lora_kernel_a", "d/lora_kernel_b", "d/kernel"}; !slices.Equal(names, want) {
		t.Errorf("arrays %v; want %v, the order of Keras", names, want)
	}
	if !strings.Contains(f.Meta()["model_config"], "lora_rank") {
		t.Error("the description has lost the LoRA")
	}
	for _, format := range []string{"keras", "keras-weights"} {
		if err := save(filepath.Join(dir, format), format, kernel, bias, a, b); err == nil || !strings.Contains(err.Error(), "merged into the kernel") {
			t.Errorf("%s: %v; want an error about the LoRA", format, err)
		}
	}
}
