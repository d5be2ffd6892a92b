package keras

import (
	"errors"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/models/weights"
	"github.com/h5dnn/h5dnn/storage"
)

// TestWeightsThatNoRuleTakes refuses a layer with a weight more: without it the layer computes
// other values.
func TestWeightsThatNoRuleTakes(t *testing.T) {
	w := func(name string, shape ...int) Weight {
		n := 1
		for _, size := range shape {
			n *= size
		}
		return Weight{Name: name, Array: storage.From(make([]float32, n), shape...)}
	}
	for name, want := range map[string]string{"kernel_scale": "kernel_scale", "lora_kernel_a": "lora_kernel_a", "seed_generator/0": ""} {
		l := &Layer{Class: "Dense", Name: "d", Weights: []Weight{w("kernel", 3, 2), w("bias", 2), w(name, 2)}}
		_, err := LayerLinks(l)
		if (want == "") != (err == nil) || err != nil && (!errors.Is(err, weights.ErrUnsupported) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
