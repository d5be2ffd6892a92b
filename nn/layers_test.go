package nn_test

import (
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// A layerCase is a layer with what PyTorch computed by it (testdata/layers.py).
type layerCase struct {
	oracle
	key         string // of its arrays
	description string
	training    bool
}

// layerCases returns the cases of the fixture, in the order of their keys.
func layerCases(t *testing.T) (all []layerCase) {
	t.Helper()
	o := openFile(t, "testdata/layers.npz")
	for _, name := range slices.Sorted(maps.Keys(o)) {
		if key, ok := strings.CutSuffix(name, "/out"); ok {
			description, evaluating := strings.CutPrefix(key, "evaluating ")
			all = append(all, layerCase{o, key, description, !evaluating})
		}
	}
	return all
}

// inputs returns the inputs, and their indices in the names of arrays.
func (c layerCase) inputs() (xs []storage.Array, names []string) {
	if x, ok := c.oracle[c.key+"/x"]; ok {
		return []storage.Array{x}, []string{""}
	}
	for i := 0; ; i++ {
		x, ok := c.oracle[fmt.Sprintf("%s/x%d", c.key, i)]
		if !ok {
			return xs, names
		}
		xs, names = append(xs, x), append(names, fmt.Sprint(i))
	}
}

// build returns the layer with PyTorch's parameters, on d.
func (c layerCase) build(t *testing.T, d storage.Device) nn.Module {
	t.Helper()
	m := fromJSON(t, c.description)
	if err := nn.LoadStateDict(m, c.under(t, c.key+"/state", dtype.Float64)); err != nil {
		t.Fatal(err)
	}
	described, err := nn.Describe(m)
	if err != nil {
		t.Fatal(err)
	}
	again, err := nn.FromConfig(described)
	if err == nil {
		err = nn.LoadStateDict(again, c.under(t, c.key+"/state", dtype.Float64))
	}
	if err == nil && d != storage.CPU {
		err = nn.To(again, d)
	}
	if err != nil {
		t.Fatalf("described as %v: %v", described, err)
	}
	nn.SetTraining(again, c.training)
	return again
}

// TestLayersAgreeWithPyTorch tries each layer, built again from its own description, on both devices: outputs, gradients of inputs and parameters, and
// buffers are PyTorch's.
func TestLayersAgreeWithPyTorch(t *testing.T) {
	for _, d := range []storage.Device{storage.CPU, cudatest.Devices(t, cudatest.Deferred)[0]} {
		for _, c := range layerCases(t) {
			t.Run(fmt.Sprintf("%v %s", d, c.key), func(t *testing.T) { c.compare(t, d) })
		}
	}
}

func (c layerCase) compare(t *testing.T, d storage.Device) {
	exact := precision{dtype.Float64, 1e-10}
	if d != storage.CPU {
		exact.tolerance = 1e-8 // exp and others of 1 ulp there are approximations of more here
	}
	m := c.build(t, d)
	xs, names := c.inputs()
	err := tensor.Step(func(tape *tensor.Tape) error {
		in, given := make([]*tensor.Tensor, len(xs)), make([]*tensor.Tensor, len(xs))
		for i, x := range xs {
			there, err := x.To(d)
			if err != nil {
				return err
			}
			if in[i] = tape.Input(there); x.Type.IsFloat() {
				in[i] = in[i].RequireGrad()
			}
			if given[i] = in[i]; x.Type.IsFloat() {
				given[i] = in[i].MulScalar(1) // so that a layer that returns its input does not return a leaf
			}
		}
		out := nn.Call("", m, given...)[0]
		c.same(t, exact, c.key+"/out", out.CPU())
		dy, err := c.oracle[c.key+"/dy"].To(d)
		if err != nil {
			return err
		}
		if !out.RequiresGrad() { // constants
			return nil
		}
		grads := tensor.Gradients(out, tape.Input(dy))
		for i := range in {
			if name := c.key + "/dx" + names[i]; xs[i].Type.IsFloat() {
				c.same(t, exact, name, grads[in[i]].CPU())
			}
		}
		for param, p := range nn.Parameters(m) {
			c.same(t, exact, c.key+"/grads/"+param, grads[p.Tensor].CPU())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	samples := make([][]int, len(xs))
	for i, x := range xs {
		samples[i] = x.Shape[1:]
	}
	s, err := nn.Summarize(c.build(t, d), samples...)
	if err != nil {
		t.Errorf("summary: %v", err)
	} else if last := s.Rows[len(s.Rows)-1].Output; last != nil && !slices.Equal(last, c.oracle[c.key+"/out"].Shape[1:]) { // nil for several outputs
		t.Errorf("summary %v", s)
	}
	for buffer, b := range nn.Buffers(m) {
		c.same(t, exact, c.key+"/after/"+buffer, tensor.FromArray(b.Array).CPU())
	}
}

// TestGradientsOfLayers compares the gradient of each layer by its inputs with finite differences.
func TestGradientsOfLayers(t *testing.T) {
	for _, c := range layerCases(t) {
		xs, names := c.inputs()
		if !xs[0].Type.IsFloat() || !c.training {
			continue
		}
		t.Run(c.key, func(t *testing.T) {
			// Buffers change in training, so that each evaluation has a layer of its own.
			loss := func(i, place int, step float64) float64 {
				in := make([]*tensor.Tensor, len(xs))
				for k, x := range xs {
					if in[k] = tensor.FromArray(x); k != i {
						continue
					}
					values := slices.Clone(tensor.Values[float64](tensor.FromArray(x)))
					values[place] += step
					in[k] = tensor.FromSlice(values, x.Shape...)
				}
				out := nn.Call("", c.build(t, storage.CPU), in...)[0]
				return out.Mul(tensor.FromArray(c.oracle[c.key+"/dy"])).Sum().Item()
			}
			for i, x := range xs {
				if !x.Type.IsFloat() {
					continue
				}
				want := tensor.Values[float64](tensor.FromArray(c.oracle[c.key+"/dx"+names[i]]))
				for place := 0; place < x.Len(); place += 1 + x.Len()/3 {
					const h = 1e-6
					near(t, precision{dtype.Float64, 1e-4}, fmt.Sprintf("derivative by element %d", place), []float64{(loss(i, place, h) - loss(i, place, -h)) / (2 * h)}, want[place:place+1])
				}
			}
		})
	}
}

// TestDropoutsKeepTheMean of large inputs, and drop whole channels or samples where they say so.
func TestDropoutsKeepTheMean(t *testing.T) {
	const n, c, l, p = 200, 40, 6, 0.3
	x := tensor.Ones(dtype.Float64, n, c, l)
	for description, part := range map[string]int{`{"dropout": 0.3}`: 1, `{"dropout2d": 0.3}`: l, `{"drop_path": 0.3}`: c * l} {
		y := tensor.Values[float64](fromJSON(t, description).Forward(x).Contiguous())
		dropped := 0
		for i := 0; i < len(y); i += part {
			if slices.ContainsFunc(y[i:i+part], func(v float64) bool { return v != y[i] }) || y[i] != 0 && !almost(y[i], 1/(1-p)) {
				t.Fatalf("%s: %v from element %d on; want %d equal, 0 or %v", description, y[i:i+part], i, part, 1/(1-p))
			}
			if y[i] == 0 {
				dropped++
			}
		}
		parts := float64(len(y) / part)
		if got, deviation := float64(dropped)/parts, math.Sqrt(p*(1-p)/parts); math.Abs(got-p) > 5*deviation {
			t.Errorf("%s: %v of the parts dropped", description, got)
		}
	}
	normal := tensor.Key{Seed: 3}.Randn(dtype.Float64, n, c*l)
	y := fromJSON(t, `{"alpha_dropout": 0.3}`).Forward(normal)
	if mean, variance := y.Mean().Item(), y.Var().Item(); math.Abs(mean) > 0.03 || math.Abs(variance-1) > 0.03 {
		t.Errorf("alpha_dropout: mean %v, variance %v of normal inputs", mean, variance)
	}
}

const layersPage = `# Layers

Every layer of package nn by its name in configurations: how many of its settings are compared with PyTorch's layer, or with a formula of PyTorch's operations
(output, gradients of inputs and parameters, buffers after a step, in float64); whether the gradient equals finite differences; whether the CPU and NVIDIA GPUs
compute it; whether the layer that a configuration describes is described and built again; whether the summary shows its shapes. ✓ means yes, · not applicable: integers have no gradient, and dropout is random in training. The tests of package nn write this table
(` + "`make golden`" + `) and fail where it is not so. The GPU of these tests is an interpreter of the code that ships.

| layer | PyTorch | gradient | CPU | GPU | configuration | summary |
|---|---|---|---|---|---|---|
`

// TestLayersTable holds docs/layers.md to the registry and the fixture.
func TestLayersTable(t *testing.T) {
	count, gradient := map[string]int{}, map[string]string{}
	for _, c := range layerCases(t) {
		m := fromJSON(t, c.description)
		name := nn.LayerName(m)
		count[name]++
		xs, _ := c.inputs()
		switch {
		case c.training && xs[0].Type.IsFloat():
			gradient[name] = "✓"
		case gradient[name] == "":
			gradient[name] = "·"
		}
	}
	page := layersPage
	for _, r := range nn.Registrations() {
		if r.Kind != "layer" || strings.HasPrefix(r.Name, "outside") || r.Name == "fused_layer" {
			continue
		}
		if count[r.Name] == 0 {
			t.Errorf("layer %s is in no fixture", r.Name)
		}
		page += fmt.Sprintf("| %s | %d | %s | ✓ | ✓ | ✓ | ✓ |\n", r.Name, count[r.Name], gradient[r.Name])
	}
	const file, keras = "../docs/layers.md", "\n## Classes of Keras" // which the tests of package models/keras write
	text, err := os.ReadFile(file)
	have, rest, _ := strings.Cut(string(text), keras)
	if *rewrite {
		have = page
		if err := os.WriteFile(file, []byte(page+keras+rest), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err != nil || have != page {
		t.Errorf("docs/layers.md is not what is registered and compared (%v); run make golden", err)
	}
}

// TestSizesNameEachAxis: one number, of layers that take sequences, images and volumes, is no number for both axes of an image.
func TestSizesNameEachAxis(t *testing.T) {
	for _, description := range []string{`{"upsample": 2}`, `{"upsample": {"size": 2}}`, `{"adaptive_avg_pool": 2}`, `{"adaptive_max_pool": 2}`, `{"zeropad": 2}`, `{"crop": 2}`, `{"pad": 2}`} {
		if _, err := nn.Build(fromJSON(t, description), []int{3, 8, 6}); err == nil || !strings.Contains(err.Error(), ": [2, 2]") {
			t.Errorf("%s of an image: error %v", description, err)
		}
		if _, err := nn.Build(fromJSON(t, description), []int{3, 8}); err != nil {
			t.Errorf("%s of a sequence: %v", description, err)
		}
	}
}
