package keras

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/models/weights"
)

// with returns l with one more setting.
func with(l Layer, name string, value any) Layer {
	config := map[string]any{name: value}
	for key, other := range l.Config {
		config[key] = other
	}
	l.Config = config
	return l
}

// channelsAtFront returns a layer of images (C, H, W).
func channelsAtFront(class string, shape ...int) Layer {
	return with(in(class, shape...), "data_format", "channels_first")
}

// TestFlattenFollowsTheLayoutOfImages compares the order of the features of a Dense after a
// Flatten with what Keras 3 computes on PyTorch: a Flatten without a data_format leaves images
// with the channels first as they are, and so does a Reshape.
func TestFlattenFollowsTheLayoutOfImages(t *testing.T) {
	conv, last := channelsAtFront("MaxPooling2D", 4, 6, 8), in("MaxPooling2D", 6, 8, 4)
	permuted := func(dims ...any) Layer { return with(in("Permute", 4, 3, 4), "dims", dims) }
	reshaped := in("Reshape", 24)
	reshaped.OutputShapes = [][]int{{4, 2, 3}}
	norm := with(in("BatchNormalization", 4, 3, 4), "axis", 1.0)
	for _, c := range []struct {
		about  string
		layers []Layer
		want   string // of the operation on the kernel, before its transpose
		err    error
	}{
		{"channels last", []Layer{last, in("Flatten", 3, 4, 4)}, "features(3 4 4) ", nil},
		{"channels first", []Layer{conv, in("Flatten", 4, 3, 4)}, "", nil},
		{"channels first, moved by Flatten", []Layer{conv, channelsAtFront("Flatten", 4, 3, 4)}, "features(3 4 4) ", nil},
		{"channels first, by Reshape", []Layer{conv, with(in("Reshape", 4, 3, 4), "target_shape", []any{-1.0})}, "", nil},
		{"one axis", []Layer{channelsAtFront("MaxPooling1D", 4, 12), in("Flatten", 4, 6)}, "", nil},
		{"normalized over the first axis", []Layer{in("InputLayer", 4, 3, 4), norm, in("Flatten", 4, 3, 4)}, "", nil},
		{"features to an image", []Layer{reshaped, channelsAtFront("MaxPooling2D", 4, 2, 3), in("Flatten", 4, 1, 1)}, "", nil},
		{"channels last, permuted to the first", []Layer{last, permuted(3.0, 1.0, 2.0), in("Flatten", 4, 3, 4)}, "", nil},
		{"channels first, permuted to the last", []Layer{conv, permuted(2.0, 3.0, 1.0), in("Flatten", 3, 4, 4)}, "features(3 4 4) ", nil},
		{"channels last, moved by Flatten", []Layer{last, channelsAtFront("Flatten", 3, 4, 4)}, "", weights.ErrUnsupported},
		{"channels first, rows and columns exchanged", []Layer{conv, permuted(1.0, 3.0, 2.0), in("Flatten", 4, 4, 3)}, "", weights.ErrAmbiguous},
		{"rows and columns exchanged", []Layer{last, permuted(2.0, 1.0, 3.0), in("Flatten", 4, 3, 4)}, "", weights.ErrAmbiguous},
	} {
		n := 48
		if c.about == "features to an image" {
			n = 4
		}
		dense := in("Dense", n)
		dense.Weights = []Weight{w("kernel", n, 2), w("bias", 2)}
		plans, err := ModelLinks(layers(append(c.layers, dense)...), LinkOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got, refused := "", error(nil)
		for _, p := range plans {
			refused = errors.Join(refused, p.Refused)
			if p.Path == "dense" {
				got = fmt.Sprint(p.Links[0].Op)
			}
		}
		if want := c.want + "transpose(1 0)"; !errors.Is(refused, c.err) || c.err == nil && (got != want || refused != nil) {
			t.Errorf("%s: %q, %v; want %q, %v", c.about, got, refused, want, c.err)
		}
	}
}

// TestReshapeToChannelsFirstKeepsTheOrderOfFeatures: x.view(-1, 4, 2, 3) is the same in both.
func TestReshapeToChannelsFirstKeepsTheOrderOfFeatures(t *testing.T) {
	dense := in("Dense", 5)
	dense.OutputShapes, dense.Weights = [][]int{{24}}, []Weight{w("kernel", 5, 24), w("bias", 24)}
	reshape := in("Reshape", 24)
	reshape.OutputShapes = [][]int{{4, 2, 3}}
	plans, err := ModelLinks(layers(dense, in("ReLU", 24), reshape, in("Dropout", 4, 2, 3), channelsAtFront("MaxPooling2D", 4, 2, 3)), LinkOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(plans[0].Links[0].Op); got != "transpose(1 0)" {
		t.Errorf("the kernel is converted by %s; want transpose(1 0)", got)
	}
	for _, p := range plans {
		if p.Note != "" {
			t.Errorf("%s: %s", p.Path, p.Note)
		}
	}
}

// TestNormalizationOfChannelsFirst: a LayerNormalization of all axes of images with the channels
// first has PyTorch's order.
func TestNormalizationOfChannelsFirst(t *testing.T) {
	norm := with(in("LayerNormalization", 4, 2, 3), "axis", []any{1.0, 2.0, 3.0})
	norm.Weights = []Weight{w("gamma", 4, 2, 3), w("beta", 4, 2, 3)}
	plans, err := ModelLinks(layers(channelsAtFront("MaxPooling2D", 4, 4, 6), norm), LinkOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got, call := fmt.Sprint(plans[0].Links[0].Op), plans[0].Module; got != "copy" || !strings.HasPrefix(call, "nn.LayerNorm((4, 2, 3)") {
		t.Errorf("gamma is converted by %s for %s; want copy for nn.LayerNorm((4, 2, 3)…", got, call)
	}
}

// TestPReLUOfChannelsFirst: alpha of PyTorch is that of the channels, wherever Keras has them.
func TestPReLUOfChannelsFirst(t *testing.T) {
	for shape, want := range map[[3]int]error{{4, 1, 1}: nil, {1, 1, 3}: weights.ErrUnsupported} {
		prelu := in("PReLU", 4, 2, 3)
		prelu.Weights = []Weight{w("alpha", shape[:]...)}
		plans, err := ModelLinks(layers(channelsAtFront("MaxPooling2D", 4, 4, 6), prelu), LinkOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if !errors.Is(plans[0].Refused, want) || want == nil && fmt.Sprint(plans[0].Links[0].Op) != "reshape(-1)" {
			t.Errorf("alpha of shape %v: %v, %v; want %v", shape, plans[0].Refused, plans[0].Links, want)
		}
	}
}
