package keras

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/models/weights"
	"github.com/h5dnn/h5dnn/storage"
)

// TestRulesAreInvertible converts the samples of every rule to PyTorch and back, whole and
// by parts, and expects the same elements.
func TestRulesAreInvertible(t *testing.T) {
	for name, c := range classes {
		if len(c.samples) == 0 && c.links != nil {
			t.Errorf("%s: no samples", name)
		}
		for i, l := range c.samples {
			t.Run(fmt.Sprint(name, i), func(t *testing.T) {
				links, err := LayerLinks(&l)
				if err != nil {
					t.Fatal(err)
				}
				var from, to []string
				for _, link := range links {
					in := weightsNamed(t, &l, link.From)
					out, err := link.Op.Forward(in)
					if err != nil || len(out) != len(link.To) {
						t.Fatalf("%v: %d arrays, %v; want %v", link.Op, len(out), err, link.To)
					}
					back, err := link.Op.Backward(out)
					if err != nil || len(back) != len(in) {
						t.Fatalf("%v: back: %d arrays, %v; want %v", link.Op, len(back), err, link.From)
					}
					for k := range in {
						if !slices.Equal(back[k].Shape, in[k].Shape) {
							t.Errorf("%s: %v and back: shape %v; want %v", link.From[k], link.Op, back[k].Shape, in[k].Shape)
						} else if got, want := elements(t, back[k]), elements(t, in[k]); !slices.Equal(got, want) {
							t.Errorf("%s: %v and back: %v; want %v", link.From[k], link.Op, got, want)
						}
					}
					for _, a := range slices.Concat(out, back) {
						sameInParts(t, a)
					}
					from, to = append(from, link.From...), append(to, link.To...)
				}
				for _, w := range l.Weights {
					if !slices.Contains(from, w.Name) {
						t.Errorf("weight %s is in no link", w.Name)
					}
				}
				if at := slices.Index(to, "bias"); at >= 0 && at < slices.Index(to, "weight") {
					t.Errorf("parameters %v; PyTorch numbers the weight before the bias in the state of optimizers", to)
				}
				slices.Sort(to)
				if n := len(to); len(slices.Compact(to)) != n {
					t.Errorf("parameters %v; want distinct ones", to)
				}
				if c.links != nil {
					if text, err := moduleOf(&l); err != nil || !strings.Contains(text, "nn.") || strings.Contains(text, "?") {
						t.Errorf("module %q, %v", text, err)
					}
				}
			})
		}
	}
}

func weightsNamed(t *testing.T, l *Layer, names []string) []storage.Array {
	t.Helper()
	var list []storage.Array
	for _, name := range names {
		w, ok := l.Weight(name)
		if !ok {
			t.Fatalf("no weight %s", name)
		}
		list = append(list, w.Array)
	}
	return list
}

func elements(t *testing.T, a storage.Array) []float64 {
	t.Helper()
	elems, err := storage.Read[float64](a)
	if err != nil {
		t.Fatal(err)
	}
	return elems
}

// sameInParts reads a as a whole, by rows, and transposed.
func sameInParts(t *testing.T, a storage.Array) {
	t.Helper()
	whole := elements(t, a)
	if a.Rank() == 0 {
		return
	}
	var rows []float64
	for i := range a.Shape[0] {
		row, err := a.Select(0, i)
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, elements(t, a.With(row))...)
	}
	if !slices.Equal(rows, whole) {
		t.Errorf("rows of %v: %v; want %v", a, rows, whole)
	}
	v, err := a.View.Transpose()
	if err != nil {
		t.Fatal(err)
	}
	packed, err := a.To(storage.CPU)
	if err != nil {
		t.Fatal(err)
	}
	w, err := packed.View.Transpose()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := elements(t, a.With(v)), elements(t, packed.With(w)); !slices.Equal(got, want) {
		t.Errorf("%v transposed: %v; want %v", a, got, want)
	}
}

// TestUnsupportedSettingsAreNamed lists what PyTorch cannot express.
func TestUnsupportedSettingsAreNamed(t *testing.T) {
	for _, c := range []struct {
		class  string
		config map[string]any
		want   string
	}{
		{"GRU", map[string]any{"reset_after": false}, "reset_after=False"},
		{"LSTM", map[string]any{"recurrent_activation": "hard_sigmoid"}, "recurrent_activation hard_sigmoid"},
		{"LSTM", map[string]any{"activation": "relu"}, "activation relu"},
		{"LSTM", map[string]any{"go_backwards": true}, "go_backwards"},
		{"Bidirectional", map[string]any{"layer": map[string]any{"class_name": "LSTM", "config": map[string]any{"units": 2.0, "go_backwards": true}}}, "go_backwards"},
		{"SimpleRNN", map[string]any{"activation": "elu"}, "activation elu"},
		{"Bidirectional", map[string]any{"merge_mode": "sum"}, "merge_mode sum"},
		{"MultiHeadAttention", map[string]any{"num_heads": 2.0, "key_dim": 3.0, "value_dim": 4.0}, "value_dim 4"},
		{"LayerNormalization", map[string]any{"rms_scaling": true}, "rms_scaling"},
		{"LayerNormalization", map[string]any{"axis": -2.0}, "axis [-2]"},
		{"EinsumDense", map[string]any{"equation": "abc,cde->abde"}, "abc,cde->abde"},
		{"EinsumDense", map[string]any{"equation": "abc,cd->abd", "bias_axes": "bd"}, `axes "bd"`},
		{"Lambda", nil, "Lambda"},
		{"Conv2D", map[string]any{"kernel_size": 3.0, "strides": 2.0, "padding": "same"}, `"same" with strides [2 2]`},
		{"Conv1D", map[string]any{"kernel_size": 3.0, "padding": "causal"}, "causal"},
		{"MaxPooling2D", map[string]any{"pool_size": 3.0, "strides": 2.0, "padding": "same"}, `"same"`},
		{"Conv2DTranspose", map[string]any{"kernel_size": 3.0, "strides": 2.0, "padding": "same"}, `"same" crops`},
		{"Embedding", map[string]any{"mask_zero": true}, "mask_zero"},
	} {
		m := &Model{Layers: []Layer{{Class: c.class, Name: "x", Config: c.config}}}
		plans, err := ModelLinks(m, LinkOptions{})
		if err != nil || len(plans) != 1 {
			t.Errorf("%s %v: %d plans, %v", c.class, c.config, len(plans), err)
			continue
		}
		got := errors.Join(plans[0].Refused, plans[0].Differs)
		if !errors.Is(got, weights.ErrUnsupported) || !strings.Contains(got.Error(), c.want) || !strings.Contains(got.Error(), c.class) || strings.Contains(got.Error(), "other framework") {
			t.Errorf("%s %v: %v; want the class and %s", c.class, c.config, got, c.want)
		}
	}
	odd := Layer{Class: "Strange", Name: "x", Weights: []Weight{w("kernel", 2)}}
	if _, err := LayerLinks(&odd); !errors.Is(err, weights.ErrUnsupported) {
		t.Errorf("a class without a rule: %v", err)
	}
	gru := Layer{Class: "GRU", Name: "x", Weights: []Weight{w("kernel", 3, 6), w("recurrent_kernel", 2, 6), w("bias", 6)}}
	if _, err := LayerLinks(&gru); !errors.Is(err, weights.ErrUnsupported) {
		t.Errorf("a GRU whose bias has one row: %v", err)
	}
	mha := Layer{Class: "MultiHeadAttention", Name: "x", Weights: attention(6, 6, 6, false)}
	mha.Weights[3] = w("attention_output/kernel", 2, 3, 8)
	if _, err := LayerLinks(&mha); !errors.Is(err, weights.ErrUnsupported) {
		t.Errorf("heads of another size: %v", err)
	}
}

// TestSamePaddingThatPyTorchHas computes padding where the input is known.
func TestSamePaddingThatPyTorchHas(t *testing.T) {
	for _, c := range []struct {
		n, kernel, stride int
		want              string // "" if refused
	}{
		{32, 3, 1, "padding='same'"},
		{33, 3, 2, "padding=1"},
		{32, 3, 2, ""},
		{32, 2, 2, "stride=2)"},
		{31, 2, 2, ""},
		{30, 5, 3, "padding=1"},
	} {
		l := sample(map[string]any{"kernel_size": c.kernel, "strides": c.stride, "padding": "same", "use_bias": true}, w("kernel", c.kernel, 2, 4), w("bias", 4))
		l.Class, l.InputShapes = "Conv1D", [][]int{{c.n, 2}}
		text, err := moduleOf(&l)
		if (err == nil) != (c.want != "") || err == nil && !strings.Contains(text, c.want) {
			t.Errorf("%d elements, window %d, stride %d: %s, %v; want %q", c.n, c.kernel, c.stride, text, err, c.want)
		}
	}
}

// TestNormalizationsHaveTheAxesOfTheirInput: PyTorch has a class for each number of axes.
func TestNormalizationsHaveTheAxesOfTheirInput(t *testing.T) {
	for class, names := range map[string][]string{"Normalization": {"mean", "variance"}, "BatchNormalization": {"gamma", "beta", "moving_mean", "moving_variance"}} {
		for want, shape := range map[string][]int{"nn.BatchNorm1d(3": {3}, "nn.BatchNorm2d(3": {8, 9, 3}, "nn.BatchNorm3d(3": {7, 8, 9, 3}} {
			l := Layer{Class: class, Name: "l", InputShapes: [][]int{shape}}
			for _, name := range names {
				l.Weights = append(l.Weights, w(name, 3))
			}
			if text, err := moduleOf(&l); err != nil || !strings.HasPrefix(text, want) {
				t.Errorf("%s of %v: %s, %v; want %s", class, shape, text, err, want)
			}
		}
	}
}

// TestDocumentationListsTheRules holds docs/models.md to the rules.
func TestDocumentationListsTheRules(t *testing.T) {
	page, err := os.ReadFile("../../docs/models.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{} // by class
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 {
			continue
		}
		for _, class := range strings.Split(cells[1], ",") {
			rows[strings.TrimSpace(class)] = cells[2]
		}
	}
	for name, c := range classes {
		if c.links == nil {
			continue
		}
		m := c.module(settingsOf(&c.samples[0]), inputsOf(&c.samples[0]))
		pytorch, _, _ := strings.Cut(m.constructor, " ")
		if row, ok := rows[name]; !ok || !strings.Contains(row, pytorch) {
			t.Errorf("docs/models.md says of %s %q; want %s", name, strings.TrimSpace(row), pytorch)
		}
	}
}
