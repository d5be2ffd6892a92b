package keras

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/models/weights"
)

// layers returns a Sequential of layers given as class, settings and the shape of the input.
func layers(list ...Layer) *Model {
	m := &Model{Class: "Sequential"}
	for i, l := range list {
		l.Name = strings.ToLower(l.Class)
		for _, other := range list[:i] {
			if other.Class == l.Class {
				l.Name += "_1"
			}
		}
		l.Calls = [][]Ref{nil}
		if i > 0 {
			l.Calls = [][]Ref{{{Layer: m.Layers[i-1].Name}}}
		}
		m.Layers = append(m.Layers, l)
		m.Outputs = []Ref{{Layer: l.Name}}
	}
	return m
}

func in(class string, shape ...int) Layer { return Layer{Class: class, InputShapes: [][]int{shape}} }

// TestFlattenedFeaturesAreReordered compares with the definition: Keras's feature
// (h, w, c) is PyTorch's (c, h, w).
func TestFlattenedFeaturesAreReordered(t *testing.T) {
	const height, width, channels, units = 2, 3, 4, 5
	n := height * width * channels
	norm := in("BatchNormalization", n)
	norm.Config = map[string]any{"center": false}
	norm.Weights = []Weight{w("gamma", n), w("moving_mean", n), w("moving_variance", n)}
	dense := in("Dense", n)
	dense.Weights = []Weight{w("kernel", n, units), w("bias", units)}
	second := in("Dense", units)
	second.Weights = []Weight{w("kernel", units, 2), w("bias", 2)}
	m := layers(in("MaxPooling2D", 4, 6, channels), in("Flatten", height, width, channels), in("Dropout", n), norm, in("ReLU", n), dense, second)
	plans, err := ModelLinks(m, LinkOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]float64{}
	for _, p := range plans {
		if p.Refused != nil {
			t.Fatal(p.Refused)
		}
		for _, link := range p.Links {
			var names []string
			for _, name := range link.From {
				names = append(names, strings.TrimPrefix(name, p.Path+"/"))
			}
			out, err := link.Op.Forward(weightsNamed(t, p.Layer, names))
			if err != nil {
				t.Fatal(err)
			}
			for i, a := range out {
				got[link.To[i]] = elements(t, a)
			}
		}
	}
	for c := range channels {
		for y := range height {
			for x := range width {
				keras, torch := (y*width+x)*channels+c, (c*height+y)*width+x
				for u := range units {
					if have, want := got["dense.weight"][u*n+torch], float64(keras*units+u+1); have != want {
						t.Fatalf("dense.weight[%d, %d] is %v; want %v", u, torch, have, want)
					}
				}
				for _, name := range []string{"weight", "running_mean", "running_var"} {
					if have := got["batchnormalization."+name][torch]; have != float64(keras+1) {
						t.Fatalf("%s[%d] is %v; want %v", name, torch, have, keras+1)
					}
				}
			}
		}
	}
	if got["dense_1.weight"][1] != 3 {
		t.Errorf("the second Dense was reordered: %v", got["dense_1.weight"])
	}
}

// TestFeatureOrders follows the order of features through models.
func TestFeatureOrders(t *testing.T) {
	unknown := in("Flatten", -1, -1, 3)
	for _, c := range []struct {
		name  string
		model *Model
		given map[string][]int
		want  [][]int // of the last layer's input
		err   string
	}{
		{name: "images", model: layers(in("Conv2D", 8, 8, 3), in("Flatten", 6, 6, 4), in("Dense", 144)), want: [][]int{{6, 6, 4}}},
		{name: "input", model: layers(in("InputLayer", 8, 8, 3), in("Flatten", 8, 8, 3), in("Dense", 192)), want: [][]int{{8, 8, 3}}},
		{name: "one channel", model: layers(in("Conv2D", 8, 8, 3), in("Flatten", 6, 6, 1), in("Dense", 36))},
		{name: "one pixel", model: layers(in("Conv2D", 8, 8, 3), in("Flatten", 1, 1, 4), in("Dense", 4))},
		{name: "sequence", model: layers(in("LSTM", 5, 3), in("Flatten", 5, 4), in("Dense", 20))},
		{name: "convolved sequence", model: layers(in("Conv1D", 7, 3), in("ReLU", 5, 4), in("Flatten", 5, 4), in("Dense", 20)), want: [][]int{{5, 4}}},
		{name: "pooled", model: layers(in("Conv2D", 8, 8, 3), in("GlobalAveragePooling2D", 6, 6, 4), in("Dense", 4))},
		{name: "unknown", model: layers(in("Conv2D", -1, -1, 3), unknown, in("Dense", -1)), err: "[-1 -1 3] of the input of flatten"},
		{name: "given", model: layers(in("Conv2D", -1, -1, 3), unknown, in("Dense", -1)), given: map[string][]int{"flatten": {2, 3, 4}}, want: [][]int{{2, 3, 4}}},
		{name: "given to Dense", model: layers(Layer{Class: "Dense"}), given: map[string][]int{"dense": {2, 3, 4}}, want: [][]int{{2, 3, 4}}},
	} {
		if err := checkGiven(c.model, c.given); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		trace, _ := traceFeatures(c.model, LinkOptions{Flatten: c.given})
		orders := trace.inputs
		got := orders[c.model.Layers[len(c.model.Layers)-1].Name]
		if c.err != "" {
			if !errors.Is(got.err, weights.ErrAmbiguous) || !strings.Contains(got.err.Error(), c.err) {
				t.Errorf("%s: %v; want %s", c.name, got.err, c.err)
			}
			continue
		}
		if got.err != nil || !slices.EqualFunc(got.flattened, c.want, slices.Equal) {
			t.Errorf("%s: %v, %v; want %v", c.name, got.flattened, got.err, c.want)
		}
	}
	if err := checkGiven(layers(in("Dense", 3)), map[string][]int{"flaten": {1}}); err == nil {
		t.Error("a shape for a layer that does not exist was taken")
	}
}

// TestConcatenatedFeatures joins flattened images and a vector.
func TestConcatenatedFeatures(t *testing.T) {
	m := &Model{Class: "Functional", Inputs: []Ref{{Layer: "image"}, {Layer: "vector"}}, Layers: []Layer{
		{Class: "InputLayer", Name: "image", Calls: [][]Ref{nil}, OutputShapes: [][]int{{2, 3, 4}}},
		{Class: "InputLayer", Name: "vector", Calls: [][]Ref{nil}, OutputShapes: [][]int{{5}}},
		{Class: "Flatten", Name: "flatten", Calls: [][]Ref{{{Layer: "image"}}}, InputShapes: [][]int{{2, 3, 4}}},
		{Class: "Concatenate", Name: "join", Calls: [][]Ref{{{Layer: "flatten"}, {Layer: "vector"}}}, InputShapes: [][]int{{24}, {5}}},
		{Class: "Dense", Name: "dense", Calls: [][]Ref{{{Layer: "join"}}}, InputShapes: [][]int{{29}}},
		{Class: "Add", Name: "sum", Calls: [][]Ref{{{Layer: "flatten"}, {Layer: "vector"}}}, InputShapes: [][]int{{24}, {24}}},
		{Class: "Dense", Name: "mixed", Calls: [][]Ref{{{Layer: "sum"}}}, InputShapes: [][]int{{24}}},
	}}
	trace, _ := traceFeatures(m, LinkOptions{})
	orders := trace.inputs
	if got := orders["dense"]; got.err != nil || !slices.EqualFunc(got.flattened, [][]int{{2, 3, 4}, {5}}, slices.Equal) {
		t.Errorf("concatenated: %v, %v", got.flattened, got.err)
	}
	if got := orders["mixed"]; !errors.Is(got.err, weights.ErrAmbiguous) {
		t.Errorf("a sum of two orders: %v", got)
	}
	if _, err := weights.FeaturesOp(0, []int{2, 3, 4}).Forward(weightsNamed(t, &Layer{Weights: []Weight{w("x", 29)}}, []string{"x"})); err == nil || !strings.Contains(err.Error(), "features of shape 2 3 4 are 24 when they are flattened, but axis 0 of shape [29] has 29") {
		t.Errorf("features of another number: %v", err)
	}
	a, err := weights.FeaturesOp(0, []int{2, 3, 4}, []int{5}).Forward(weightsNamed(t, &Layer{Weights: []Weight{w("x", 29)}}, []string{"x"}))
	if err != nil {
		t.Fatal(err)
	}
	if got := elements(t, a[0]); got[1] != 5 || got[6] != 2 || got[24] != 25 {
		t.Errorf("reordered: %v", got)
	}
}

// TestEinsumDenseTakesFlattenedFeatures in the order of PyTorch, as a Dense does.
func TestEinsumDenseTakesFlattenedFeatures(t *testing.T) {
	einsum := in("EinsumDense", 24)
	einsum.Config, einsum.Weights = map[string]any{"equation": "ab,bc->ac"}, []Weight{w("kernel", 24, 5)}
	plans, err := ModelLinks(layers(in("MaxPooling2D", 4, 6, 4), in("Flatten", 2, 3, 4), einsum), LinkOptions{})
	if err != nil || plans[0].Refused != nil {
		t.Fatal(err, plans[0].Refused)
	}
	if got := plans[0].Links[0].Op.String(); got != "features(2 3 4) transpose(1 0)" {
		t.Errorf("kernel: %s", got)
	}
}
