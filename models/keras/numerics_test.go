package keras_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/models/keras"
	"github.com/h5dnn/h5dnn/serialize"
	_ "github.com/h5dnn/h5dnn/serialize/npy"
	"github.com/h5dnn/h5dnn/storage"
)

// TestRulesAgreeWithTheFrameworks converts weights for which Keras's layers and PyTorch's
// modules have computed the same (testdata/numerics.py), and expects the same numbers.
func TestRulesAgreeWithTheFrameworks(t *testing.T) {
	cases := numerics(t)
	if len(cases) < 20 {
		t.Errorf("%d cases; want all of numerics.py", len(cases))
	}
	for name, c := range cases {
		links, err := keras.LayerLinks(&c.layer)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		made := map[string]bool{}
		for _, link := range links {
			var from []storage.Array
			for _, weight := range link.From {
				w, _ := c.layer.Weight(weight)
				from = append(from, w.Array)
			}
			to, err := link.Op.Forward(from)
			if err != nil {
				t.Errorf("%s: %v: %v", name, link.To, err)
				continue
			}
			for i, parameter := range link.To {
				made[parameter] = true
				sameElements(t, name+": "+parameter, to[i], c.parameters[parameter])
			}
			back, err := link.Op.Backward(arrays(c.parameters, link.To))
			if err != nil {
				t.Errorf("%s: %v: %v", name, link.From, err)
				continue
			}
			for i, weight := range link.From {
				sameElements(t, name+": "+weight, back[i], from[i])
			}
		}
		for parameter := range c.parameters {
			if !made[parameter] {
				t.Errorf("%s: %s is not made", name, parameter)
			}
		}
	}
}

func arrays(by map[string]storage.Array, names []string) []storage.Array {
	var list []storage.Array
	for _, name := range names {
		list = append(list, by[name])
	}
	return list
}

func sameElements(t *testing.T, name string, got, want storage.Array) {
	t.Helper()
	if !slices.Equal(got.Shape, want.Shape) || got.Type != want.Type {
		t.Errorf("%s: %v; want %v", name, got, want)
		return
	}
	x, err1 := storage.Read[float64](got)
	y, err2 := storage.Read[float64](want)
	if err1 != nil || err2 != nil || !slices.Equal(x, y) {
		t.Errorf("%s: %v, %v; want %v, %v", name, x, err1, y, err2)
	}
}

// A numericCase is a layer of Keras, and the parameters with which PyTorch's module
// computes the same.
type numericCase struct {
	layer      keras.Layer
	parameters map[string]storage.Array
}

func numerics(t *testing.T) map[string]*numericCase {
	t.Helper()
	f, err := serialize.Open("testdata/numerics.npz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cases := map[string]*numericCase{}
	for e, err := range f.All() {
		if err != nil {
			t.Fatal(err)
		}
		a, err := e.Array.To(storage.CPU)
		if err != nil {
			t.Fatal(err)
		}
		name, rest, _ := strings.Cut(e.Name, "/")
		if cases[name] == nil {
			cases[name] = &numericCase{parameters: map[string]storage.Array{}}
		}
		c := cases[name]
		kind, inner, _ := strings.Cut(rest, "/")
		switch kind {
		case "config":
			text, _ := a.Bytes()
			var described struct {
				Class  string         `json:"class_name"`
				Config map[string]any `json:"config"`
			}
			if err := json.Unmarshal(text, &described); err != nil {
				t.Fatal(err)
			}
			c.layer.Class, c.layer.Name, c.layer.Config = described.Class, name, described.Config
		case "k":
			c.layer.Weights = append(c.layer.Weights, keras.Weight{Name: inner, Array: a})
		case "t":
			c.parameters[inner] = a
		}
	}
	return maps.Collect(maps.All(cases))
}
