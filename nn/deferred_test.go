package nn_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

var (
	// inputSizes are the settings that are a size of the first input.
	inputSizes = []string{"in_features", "in_channels", "num_features", "num_channels", "normalized_shape", "input_channels", "input_size", "embed_dim", "d_model", "embedding_dim", "features"}
	// notInInputs are the settings that some layer needs and that the first input does not tell.
	notInInputs = []string{
		"axes", "before", "bidirectional", "body", "branches", "dtype", "embedding_dim", "factor", "head_dim", "hidden_size", "inputs", "kdim", "kernel_size",
		"key_padding_mask", "layer", "max_len", "mode", "name", "nhead", "nodes", "num_embeddings", "num_groups", "num_heads", "num_layers", "out_channels",
		"out_features", "output_size", "scale", "settings", "shape", "size", "squeeze_channels", "stride", "values", "vdim",
	}
)

// TestLayersTakeSizesFromInputs leaves each setting of each layer out, one at a time. Without a size of its input the layer is built as with it, on
// both devices; no layer needs any other setting than notInInputs.
func TestLayersTakeSizesFromInputs(t *testing.T) {
	gpu := cudatest.Devices(t, cudatest.Deferred)[0]
	needed := map[string]bool{}
	for _, c := range layerCases(t) {
		described := mustDescribe(t, fromJSON(t, c.description))
		all, ok := described.(map[string]any)
		if !ok {
			continue // a layer without settings
		}
		for name, settings := range all {
			for setting, value := range settings.(map[string]any) {
				fewer := maps.Clone(settings.(map[string]any))
				delete(fewer, setting)
				axes, _ := value.([]any)
				inferred := slices.Contains(inputSizes, setting) && len(axes) < 2 && name != "embedding" && name != "reversible_embedding"
				switch got, err := c.builtOn(t, storage.CPU, map[string]any{name: fewer}); {
				case setting == "dtype" && name != "cast": // the type of other settings' parameters
				case !inferred && err != nil:
					needed[setting] = true
				case inferred && (err != nil || canonical(t, got) != canonical(t, described)):
					t.Errorf("%s without %s: %v, error %v", c.description, setting, got, err)
				case inferred:
					if got, err := c.builtOn(t, gpu, map[string]any{name: fewer}); err != nil || canonical(t, got) != canonical(t, described) {
						t.Errorf("%s without %s on %v: %v, error %v", c.description, setting, gpu, got, err)
					}
				}
			}
		}
	}
	if got := slices.Sorted(maps.Keys(needed)); !slices.Equal(got, notInInputs) {
		t.Errorf("layers need %q; want %q", got, notInInputs)
	}
}

// builtOn returns the settings of a layer that has seen the inputs of c on d, and what keeps it from that.
func (c layerCase) builtOn(t *testing.T, d storage.Device, description any) (any, error) {
	t.Helper()
	m, err := nn.FromConfig(description)
	if err != nil {
		return nil, err
	}
	if err := nn.To(m, d); err != nil {
		t.Fatal(err)
	}
	xs, _ := c.inputs()
	in := make([]*tensor.Tensor, len(xs))
	for i, x := range xs {
		there, err := x.To(d)
		if err != nil {
			t.Fatal(err)
		}
		in[i] = tensor.FromArray(there)
	}
	err = tensor.Try(func() { nn.Call("", m, in...) })
	for name, p := range nn.Parameters(m) {
		if err == nil && p.Device() != d {
			t.Errorf("%v: %s is on %v; want %v", description, name, p.Device(), d)
		}
	}
	return mustDescribe(t, m), err
}

// TestDeferredLayersDrawAsOthers compares initial parameters of layers that were given their sizes with those that took them from an input.
func TestDeferredLayersDrawAsOthers(t *testing.T) {
	const known = `[{"linear": {"in_features": 8, "out_features": 8}}, {"positions": {"max_len": 3, "embedding_dim": 8}}, {"class_token": 8},
		{"transformer_encoder": {"num_layers": 1, "nhead": 2, "d_model": 8, "dim_feedforward": 4}}, {"rmsnorm": 8}]`
	const unknown = `[{"linear": {"out_features": 8}}, {"positions": {"max_len": 3}}, "class_token",
		{"transformer_encoder": {"num_layers": 1, "nhead": 2, "dim_feedforward": 4}}, "rmsnorm"]`
	a, b := fromJSON(t, known), fromJSON(t, unknown)
	nn.Init(a, 5)
	nn.Init(b, 5)
	if _, err := nn.Build(b, []int{3, 8}); err != nil {
		t.Fatal(err)
	}
	got, want := maps.Collect(nn.StateDict(b)), maps.Collect(nn.StateDict(a))
	if len(got) != len(want) || len(want) < 15 {
		t.Fatalf("%d parameters; want %d", len(got), len(want))
	}
	for name, p := range want {
		if !slices.Equal(storage.Elements[float32](got[name]), storage.Elements[float32](p)) {
			t.Errorf("%s differs", name)
		}
	}
}

// TestAttentionTakesSizesFromKeysAndValues where neither they nor embed_dim are settings.
func TestAttentionTakesSizesFromKeysAndValues(t *testing.T) {
	m := fromJSON(t, `{"multihead_attention": {"num_heads": 2}}`)
	zeros := func(shape ...int) *tensor.Tensor {
		return tensor.FromSlice(make([]float32, 2*4*7), 2*4*7).Narrow(0, 0, shape[0]*shape[1]*shape[2]).Reshape(shape...)
	}
	err := tensor.Try(func() { nn.Call("", m, zeros(2, 3, 6), zeros(2, 4, 5), zeros(2, 4, 7)) })
	want := mustDescribe(t, fromJSON(t, `{"multihead_attention": {"num_heads": 2, "embed_dim": 6, "kdim": 5, "vdim": 7}}`))
	if got := mustDescribe(t, m); err != nil || canonical(t, got) != canonical(t, want) {
		t.Errorf("%v, error %v; want %v", got, err, want)
	}
}
