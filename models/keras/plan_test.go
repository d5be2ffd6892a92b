package keras

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/models/weights"
)

// forward returns the parameters that PyTorch has for the weights of m, and what ModelLinks
// notes.
func forward(t *testing.T, m *Model, o LinkOptions) (parameters map[string][]float64, notes string) {
	t.Helper()
	plans, err := ModelLinks(m, o)
	if err != nil {
		t.Fatal(err)
	}
	return forwardPlans(t, plans)
}

// forwardPlans returns the parameters that plans make, and their notes.
func forwardPlans(t *testing.T, plans []LayerPlan) (parameters map[string][]float64, notes string) {
	t.Helper()
	parameters = map[string][]float64{}
	for _, p := range plans {
		if p.Refused != nil {
			t.Fatal(p.Refused)
		}
		notes += p.Note
		for _, link := range p.Links {
			var names []string
			for _, name := range link.From {
				names = append(names, strings.TrimPrefix(name, p.Path+"/"))
			}
			from := weightsNamed(t, p.Layer, names)
			out, err := link.Op.Forward(from)
			if err != nil {
				t.Fatal(err)
			}
			back, err := link.Op.Backward(out)
			if err != nil {
				t.Fatal(err)
			}
			for i := range from {
				if !slices.Equal(elements(t, from[i]), elements(t, back[i])) {
					t.Errorf("%s: %v becomes %v on the way back", p.Path, elements(t, from[i]), elements(t, back[i]))
				}
			}
			for i, a := range out {
				parameters[link.To[i]] = elements(t, a)
			}
		}
	}
	return parameters, notes
}

// TestFeaturesThatBecomeImagesAreReordered compares with the definition: feature
// (h·W + w)·C + c of Keras is (c·H + h)·W + w of PyTorch, also in the layers between a Dense
// and a Reshape.
func TestFeaturesThatBecomeImagesAreReordered(t *testing.T) {
	const height, width, channels, inputs = 2, 3, 4, 2
	const n = height * width * channels
	decoder := func() *Model {
		dense := in("Dense", inputs)
		dense.Weights = []Weight{w("kernel", inputs, n), w("bias", n)}
		norm := in("BatchNormalization", n)
		norm.Weights = []Weight{w("gamma", n), w("beta", n), w("moving_mean", n), w("moving_variance", n)}
		reshape := in("Reshape", n)
		reshape.OutputShapes = [][]int{{height, width, channels}}
		conv := in("Conv2D", height, width, channels)
		conv.Weights = []Weight{w("kernel", 1, 1, channels, 1), w("bias", 1)}
		return layers(dense, norm, in("ReLU", n), reshape, conv)
	}
	got, note := forward(t, decoder(), LinkOptions{})
	if want := "x.view(-1, 4, 2, 3) in PyTorch: the outputs of dense are reordered"; !strings.Contains(note, want) {
		t.Errorf("note %q; want %q", note, want)
	}
	for c := range channels {
		for y := range height {
			for x := range width {
				keras, torch := (y*width+x)*channels+c, (c*height+y)*width+x
				for i := range inputs {
					if have, want := got["dense.weight"][torch*inputs+i], float64(i*n+keras+1); have != want {
						t.Fatalf("dense.weight[%d, %d] is %v; want %v", torch, i, have, want)
					}
				}
				for _, name := range []string{"dense.bias", "batchnormalization.weight", "batchnormalization.running_var"} {
					if have, want := got[name][torch], float64(keras+1); have != want {
						t.Fatalf("%s[%d] is %v; want %v", name, torch, have, want)
					}
				}
			}
		}
	}
	run := Translation{Modules: map[string]string{"dense": "dense", "batchnormalization": "batchnormalization", "conv2d": "conv2d"}}
	plans, err := run.Links(decoder(), LinkOptions{})
	if err != nil {
		t.Fatal(err)
	}
	kept, note := forwardPlans(t, plans)
	if kept["dense.bias"][1] != 2 || note != "" {
		t.Errorf("with the channels last, the bias is %v, note %q", kept["dense.bias"], note)
	}
}

// TestReshapesThatKeepTheOrder: features that something else takes, too, that no Dense
// computes, or that become a sequence.
func TestReshapesThatKeepTheOrder(t *testing.T) {
	reshape := func(shape ...int) Layer {
		l := in("Reshape", 24)
		l.OutputShapes = [][]int{shape}
		return l
	}
	dense := in("Dense", 2)
	dense.Weights = []Weight{w("kernel", 2, 24), w("bias", 24)}
	branched := layers(dense, reshape(2, 3, 4), in("Conv2D", 2, 3, 4), in("Add"))
	branched.Layers[3].Calls = [][]Ref{{{Layer: "dense"}, {Layer: "conv2d"}}}
	for _, c := range []struct {
		name  string
		model *Model
		note  string
	}{
		{"branched", branched, "x.view(-1, 2, 3, 4).permute(0, 3, 1, 2) in PyTorch: its input keeps Keras's order"},
		{"an input", layers(in("InputLayer", 24), reshape(2, 3, 4), in("ReLU", 2, 3, 4)), "keeps Keras's order"},
		{"a sequence", layers(dense, reshape(6, 4), in("LSTM", 6, 4)), ""},
		{"one channel", layers(dense, reshape(6, 4, 1), in("Conv2D", 6, 4, 1)), ""},
	} {
		for i := range c.model.Layers {
			if c.model.Layers[i].Class != "Dense" {
				c.model.Layers[i].Weights = nil
			}
		}
		plans, err := ModelLinks(c.model, LinkOptions{})
		if err != nil {
			t.Fatal(err)
		}
		note := ""
		for _, p := range plans {
			note += p.Note
			for _, link := range p.Links {
				if p.Layer.Class == "Dense" && strings.Contains(link.Op.String(), "features") {
					t.Errorf("%s: %s: %v", c.name, p.Path, link.Op)
				}
			}
		}
		if (note == "") != (c.note == "") || !strings.Contains(note, c.note) {
			t.Errorf("%s: note %q; want %q", c.name, note, c.note)
		}
	}
	convolved := layers(dense, reshape(6, 4), in("ReLU", 6, 4), in("Conv1D", 6, 4))
	convolved.Layers[3].Weights = []Weight{w("kernel", 1, 4, 1)}
	got, _ := forward(t, convolved, LinkOptions{})
	if have := got["dense.bias"][1]; have != 5 {
		t.Errorf("feature 1 of PyTorch, step 1 of channel 0, is %v; want feature 4 of Keras, 5", have)
	}
}

// TestNormalizationsOfImagesHaveTheChannelsFirst: gamma (H, W, C) of Keras is weight
// (C, H, W) of PyTorch, unless it is for sequences.
func TestNormalizationsOfImagesHaveTheChannelsFirst(t *testing.T) {
	norm := func(axes []any, shape ...int) Layer {
		l := in("LayerNormalization", shape...)
		l.Config = map[string]any{"axis": axes}
		l.Weights = []Weight{w("gamma", shape...), w("beta", shape...)}
		return l
	}
	images := layers(in("MaxPooling2D", 4, 6, 4), norm([]any{1.0, 2.0, 3.0}, 2, 3, 4))
	got, _ := forward(t, images, LinkOptions{})
	if have := got["layernormalization.weight"][1]; have != 5 { // channel 0, row 0, column 1
		t.Errorf("weight[0, 0, 1] is %v; want 5", have)
	}
	plans, err := ModelLinks(images, LinkOptions{})
	if err != nil || !strings.HasPrefix(plans[0].Module, "nn.LayerNorm((4, 2, 3)") {
		t.Errorf("module %v, %v; want nn.LayerNorm((4, 2, 3)", plans[0].Module, err)
	}
	sequences := layers(in("LSTM", 3, 2), norm([]any{1.0, 2.0}, 3, 4))
	sequences.Layers[0].Weights, sequences.Layers[0].Class = nil, "Softmax"
	if got, _ := forward(t, sequences, LinkOptions{}); got["layernormalization.weight"][1] != 2 {
		t.Errorf("of sequences: %v", got["layernormalization.weight"])
	}
	part := layers(in("MaxPooling2D", 4, 6, 4), norm([]any{2.0, 3.0}, 2, 3, 4))
	if plans, err = ModelLinks(part, LinkOptions{}); err != nil || plans[0].Refused == nil {
		t.Errorf("axes 2 and 3 of an image are accepted: %v", err)
	}
}

// TestStacksOfRecurrentLayers: layers that a user gives one module are its layers in order.
func TestStacksOfRecurrentLayers(t *testing.T) {
	gru := func(inputs int) Layer {
		return Layer{Class: "GRU", Config: map[string]any{"units": 2.0}, Weights: []Weight{w("kernel", inputs, 6), w("recurrent_kernel", 2, 6), w("bias", 2, 6)}}
	}
	rules := LinkOptions{Rules: weights.Rules{Modules: map[string]string{"gru": "rnn", "gru_1": "rnn"}}}
	m := layers(gru(3), Layer{Class: "Dropout"}, gru(2))
	got, _ := forward(t, m, rules)
	for _, name := range []string{"rnn.weight_ih_l0", "rnn.bias_hh_l0", "rnn.weight_ih_l1", "rnn.weight_hh_l1", "rnn.bias_ih_l1", "rnn.bias_hh_l1"} {
		if got[name] == nil {
			t.Errorf("%s is missing", name)
		}
	}
	plans, err := ModelLinks(m, rules)
	if want := "nn.GRU(3, 2, batch_first=True, num_layers=2)"; err != nil || plans[0].Module != want || plans[1].Module != "" {
		t.Errorf("modules %q, %v; want %q alone", []string{plans[0].Module, plans[1].Module}, err, want)
	}
	other := gru(2)
	other.Config = map[string]any{"units": 3.0}
	for name, m := range map[string]*Model{
		"something else between them": layers(gru(3), Layer{Class: "ReLU"}, gru(2)),
		"of other kinds or settings":  layers(gru(3), other),
	} {
		if _, err := ModelLinks(m, rules); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestOutputPaddingOfTransposedConvolutions: with padding "valid" it is PyTorch's setting of
// that name. With "same" PyTorch crops in another place unless it is 0.
func TestOutputPaddingOfTransposedConvolutions(t *testing.T) {
	for _, c := range []struct {
		padding string
		output  []any
		want    string // in the call, or in the error
	}{
		{"valid", []any{1.0, 0.0}, "stride=(2, 2), output_padding=(1, 0)"},
		{"same", []any{0.0, 0.0}, "stride=(2, 2), padding=(1, 1))"},
		{"same", []any{1.0, 1.0}, `output_padding [1 1] with padding "same"`},
		{"valid", []any{2.0, 2.0}, "2 more elements at the end, for a stride of 2"},
	} {
		l := Layer{Class: "Conv2DTranspose", Config: map[string]any{
			"kernel_size": []any{3.0, 3.0}, "strides": []any{2.0, 2.0}, "padding": c.padding, "output_padding": c.output,
		}}
		text, err := moduleOf(&l)
		if err != nil {
			text = err.Error()
		}
		if !strings.Contains(text, c.want) {
			t.Errorf("%s, %v: %s; want %s", c.padding, c.output, text, c.want)
		}
	}
}

// TestCallsOfAttention: kdim and vdim are numbers, and said if either is another width.
func TestCallsOfAttention(t *testing.T) {
	for want, weights := range map[string][]Weight{
		"nn.MultiheadAttention(6, 2, batch_first=True)":                 attention(6, 6, 6, true),
		"nn.MultiheadAttention(6, 2, batch_first=True, kdim=5, vdim=4)": attention(6, 5, 4, true),
		"nn.MultiheadAttention(6, 2, batch_first=True, kdim=6, vdim=4)": attention(6, 6, 4, true),
	} {
		l := Layer{Class: "MultiHeadAttention", Config: map[string]any{"num_heads": 2.0, "key_dim": 3.0}, Weights: weights}
		if got, err := moduleOf(&l); got != want {
			t.Errorf("%s, %v; want %s", got, err, want)
		}
	}
}

// TestOutputsInAnotherOrderAreSaid: flattened features that are an output have the channels
// first in PyTorch, and sums of these with others are refused, also without a layer after them.
func TestOutputsInAnotherOrderAreSaid(t *testing.T) {
	dense := Layer{Class: "Dense", Name: "dense", Calls: [][]Ref{{{Layer: "flatten"}}}, InputShapes: [][]int{{24}}, Weights: []Weight{w("kernel", 24, 24), w("bias", 24)}}
	m := &Model{Class: "Functional", Inputs: []Ref{{Layer: "image"}}, Layers: []Layer{
		{Class: "InputLayer", Name: "image", Calls: [][]Ref{nil}, OutputShapes: [][]int{{2, 3, 4}}},
		{Class: "Flatten", Name: "flatten", Calls: [][]Ref{{{Layer: "image"}}}, InputShapes: [][]int{{2, 3, 4}}},
		dense,
		{Class: "Add", Name: "sum", Calls: [][]Ref{{{Layer: "flatten"}, {Layer: "dense"}}}, InputShapes: [][]int{{24}, {24}}},
	}}
	for output, want := range map[string]struct {
		note    bool
		refused error
	}{"flatten": {note: true}, "dense": {}, "sum": {refused: weights.ErrAmbiguous}} {
		part := *m
		part.Layers = m.Layers[:slices.IndexFunc(m.Layers, func(l Layer) bool { return l.Name == output })+1]
		part.Outputs = []Ref{{Layer: output}}
		plans, err := ModelLinks(&part, LinkOptions{})
		if err != nil {
			t.Fatal(err)
		}
		note, refused := false, error(nil)
		for _, p := range plans {
			note = note || strings.Contains(p.Note, "another order in PyTorch")
			if p.Refused != nil {
				refused = p.Refused
			}
		}
		if note != want.note || !errors.Is(refused, want.refused) {
			t.Errorf("%s: note %v, refused %v; want %v, %v", output, note, refused, want.note, want.refused)
		}
	}
}

// TestFlattenedFeaturesThatAreReshaped: back to the image that they were, which is the same in
// both, or to anything else, which is refused.
func TestFlattenedFeaturesThatAreReshaped(t *testing.T) {
	for _, c := range []struct {
		shape   []int
		refused bool
	}{{[]int{2, 3, 4}, false}, {[]int{4, 3, 2}, true}, {[]int{6, 4}, true}} {
		reshape := in("Reshape", 24)
		reshape.OutputShapes = [][]int{c.shape}
		m := layers(in("MaxPooling2D", 4, 6, 4), in("Flatten", 2, 3, 4), in("ReLU", 24), reshape, in("GlobalMaxPooling", c.shape...))
		plans, err := ModelLinks(m, LinkOptions{})
		if err != nil {
			t.Fatal(err)
		}
		refused := false
		for _, p := range plans {
			refused = refused || errors.Is(p.Refused, weights.ErrAmbiguous)
			if p.Note != "" {
				t.Errorf("%v: note %q", c.shape, p.Note)
			}
		}
		if refused != c.refused {
			t.Errorf("%v: refused %v; want %v", c.shape, refused, c.refused)
		}
	}
}
