package nn_test

import (
	"testing"

	"github.com/h5dnn/h5dnn/nn"
)

// TestPresetsHaveTheirPublishedSizes compares the number of parameters for 1000 classes with torchvision's.
func TestPresetsHaveTheirPublishedSizes(t *testing.T) {
	for _, c := range []struct {
		name   string
		params int
		input  []int
		output []int
	}{
		{"resnet18", 11689512, []int{3, 64, 64}, []int{1000}},
		{"resnet34", 21797672, []int{3, 64, 64}, []int{1000}},
		{"resnet50", 25557032, []int{3, 64, 64}, []int{1000}},
		{"mobilenet_v2", 3504872, []int{3, 64, 64}, []int{1000}},
		{"efficientnet_b0", 5288548, []int{3, 64, 64}, []int{1000}},
		{"unet", 0, []int{1, 32, 48}, []int{1000, 32, 48}},
		{"unet3d", 0, []int{1, 8, 16, 8}, []int{1000, 8, 16, 8}},
		{"vit_tiny", 5717416, []int{3, 224, 224}, []int{1000}}, // of timm's vit_tiny_patch16_224
		{"vit_tiny_small", 0, []int{3, 32, 32}, []int{1000}},
		{"transformer", 0, []int{100}, []int{1000}},
		{"gpt", 0, []int{100}, []int{1000, 100}},
		{"tcn", 0, []int{6, 40}, []int{1000}},
		{"resnet18_small", 0, []int{3, 32, 32}, []int{1000}},
	} {
		m, err := nn.Preset(c.name, 1000)
		if err != nil {
			t.Fatal(err)
		}
		s, err := nn.Summarize(m, c.input)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := s.Rows[len(s.Rows)-1].Output; len(got) != len(c.output) || got[0] != c.output[0] || got[len(got)-1] != c.output[len(c.output)-1] {
			t.Errorf("%s: output %v; want %v", c.name, got, c.output)
		}
		if c.params > 0 && s.Params != c.params {
			t.Errorf("%s: %d parameters; torchvision's has %d", c.name, s.Params, c.params)
		}
	}
}
