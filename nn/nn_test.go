package nn_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/storagetest"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

func fromJSON(t testing.TB, description string) nn.Module {
	t.Helper()
	m, err := nn.FromConfig(json.RawMessage(description))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func names(model any) []string {
	var all []string
	for name := range nn.Parameters(model) {
		all = append(all, name)
	}
	return all
}

func filled(value float64, shape ...int) storage.Array {
	a, err := storage.Make(storage.CPU, dtype.Float32, shape...)
	if err == nil {
		err = storage.Fill(a, value)
	}
	if err != nil {
		panic(err)
	}
	return a
}

// block has every kind of place a parameter can be in.
type block struct {
	nn.Registry
	Hidden, Unused *nn.Linear
	ByValue        nn.Linear
	FirstOut       nn.Module
	Scale          *nn.Parameter
	Shift          *nn.Parameter `nn:"offset"`
	Tied           *nn.Parameter
	Teacher        *nn.Linear `nn:"-"`
	Plain          *tensor.Tensor
	Norm           *nn.BatchNorm1d
	Heads          map[string]*nn.Linear
	Tail           nn.Sequential
	Sizes          []float32
	note           string
}

func newBlock() *block {
	b := &block{
		Hidden: nn.NewLinear(nn.LinearOptions{InFeatures: 2, OutFeatures: 2}), ByValue: *nn.NewLinear(nn.LinearOptions{InFeatures: 2, OutFeatures: 2}), FirstOut: nn.NewLinear(nn.LinearOptions{InFeatures: 2, OutFeatures: 2}),
		Scale: nn.NewParameter(filled(1, 2)), Shift: nn.NewParameter(filled(0, 2)), Teacher: nn.NewLinear(nn.LinearOptions{InFeatures: 2, OutFeatures: 2}),
		Plain: tensor.FromArray(filled(3, 2)), Norm: nn.NewBatchNorm1d(nn.BatchNormOptions{NumFeatures: 2}),
		Heads: map[string]*nn.Linear{"b": nn.NewLinear(nn.LinearOptions{InFeatures: 2, OutFeatures: 1}), "a": nn.NewLinear(nn.LinearOptions{InFeatures: 2, OutFeatures: 1})},
		Tail:  nn.Sequential{nn.ReLU{}, nn.NewLinear(nn.LinearOptions{InFeatures: 2, OutFeatures: 2})}, Sizes: []float32{1}, note: "not a place",
	}
	b.Tied = b.Scale
	b.RegisterParameter("extra", nn.NewParameter(filled(1, 2)))
	b.RegisterModule("late", nn.NewLinear(nn.LinearOptions{InFeatures: 2, OutFeatures: 2}))
	return b
}

func TestParamsAreWhereTheirTypeSaysSo(t *testing.T) {
	want := []string{
		"extra", "late.weight", "late.bias", "hidden.weight", "hidden.bias", "by_value.weight", "by_value.bias",
		"first_out.weight", "first_out.bias", "scale", "offset", "norm.gamma", "norm.beta",
		"heads.a.weight", "heads.a.bias", "heads.b.weight", "heads.b.bias", "tail.1.weight", "tail.1.bias",
	}
	if got := names(newBlock()); !slices.Equal(got, want) {
		t.Errorf("parameters %q\nwant %q", got, want)
	}
	if got := names(*newBlock()); !slices.Equal(got, want) {
		t.Errorf("by value, parameters %q\nwant %q", got, want)
	}
	var buffers []string
	for name := range nn.Buffers(newBlock()) {
		buffers = append(buffers, name)
	}
	if want := []string{"norm.running_mean", "norm.running_var"}; !slices.Equal(buffers, want) {
		t.Errorf("buffers %q, want %q", buffers, want)
	}
	for name := range nn.Parameters(newBlock()) {
		if name == "hidden.weight" {
			break // stopping early must not panic
		}
	}
}

func TestModelsMayContainThemselves(t *testing.T) {
	type node struct {
		Weight *nn.Parameter
		Next   *node
		Others []node
	}
	m := &node{Weight: nn.NewParameter(filled(1, 1)), Others: []node{{Weight: nn.NewParameter(filled(1, 1))}}}
	m.Next = m
	if got, want := names(m), []string{"weight", "others.0.weight"}; !slices.Equal(got, want) {
		t.Errorf("parameters %q, want %q", got, want)
	}
}

func TestModulesComeOnceAndOuterFirst(t *testing.T) {
	inner := nn.NewLinear(nn.LinearOptions{InFeatures: 2, OutFeatures: 2})
	model := &struct{ A, B nn.Sequential }{nn.Sequential{inner, nn.ReLU{}}, nn.Sequential{inner}}
	var got []string
	for name, m := range nn.Modules(model) {
		got = append(got, fmt.Sprintf("%s %T", name, m))
	}
	want := []string{"a *nn.Sequential", "a.0 *nn.Linear", "a.1 nn.ReLU", "b *nn.Sequential"}
	if !slices.Equal(got, want) {
		t.Errorf("modules %q, want %q", got, want)
	}
}

func TestRegistrySkipsNilAndOverwrites(t *testing.T) {
	var m struct{ nn.Registry }
	m.RegisterParameter("w", nil)
	m.RegisterModule("m", nil)
	m.RegisterModule("m", (*nn.Linear)(nil))
	m.RegisterBuffer("b", nil)
	if got := names(&m); len(got) != 0 {
		t.Errorf("parameters %q from nothing", got)
	}
	first, second := nn.NewParameter(filled(1, 2)), nn.NewParameter(filled(2, 2))
	m.RegisterParameter("w", first)
	m.RegisterParameter("w", second)
	if got := m.Parameter("w"); got != second || len(names(&m)) != 1 {
		t.Errorf("w is %v, want the second of the two", got)
	}
	m.RegisterModule("w", nn.NewLinear(nn.LinearOptions{InFeatures: 1, OutFeatures: 1})) // even one of another kind
	if got := names(&m); !slices.Equal(got, []string{"w.weight", "w.bias"}) || m.Parameter("w") != nil {
		t.Errorf("parameters %q, want those of the module", got)
	}
}

func TestSilentLossesAreRefused(t *testing.T) {
	type hidden struct{ weight *nn.Parameter }
	type hiddenLayer struct{ layer *nn.Linear }
	type twice struct {
		A *nn.Parameter
		B *nn.Parameter `nn:"a"`
	}
	for _, model := range []any{
		&hidden{nn.NewParameter(filled(1, 1))}, &hiddenLayer{nn.NewLinear(nn.LinearOptions{InFeatures: 1, OutFeatures: 1})}, &twice{nn.NewParameter(filled(1, 1)), nn.NewParameter(filled(1, 1))},
	} {
		err := tensor.Try(func() { names(model) })
		if !errors.Is(err, storage.ErrState) {
			t.Errorf("%T: error %v, want one of kind ErrState", model, err)
		}
	}
}

func TestToRebindsAndToInPlaceKeeps(t *testing.T) {
	fake := storagetest.NewDevice("fake:0")
	b := newBlock()
	before := maps.Collect(nn.Parameters(b))
	if err := nn.To(b, fake); err != nil {
		t.Fatal(err)
	}
	for name, p := range nn.Parameters(b) {
		if old := before[name]; p == old || p.Device() != fake || old.Device() != storage.CPU {
			t.Errorf("%s: %v, was %v; want another one, on %v", name, p.Array(), old.Array(), fake)
		}
	}
	if b.Tied != b.Scale {
		t.Error("a shared parameter is not shared any more")
	}
	if d := b.Plain.Device(); d != storage.CPU {
		t.Errorf("a plain tensor went to %v", d)
	}
	if d := b.Norm.RunningMean.Data.Device(); d != fake {
		t.Errorf("a buffer stayed on %v", d)
	}
	before = maps.Collect(nn.Parameters(b))
	if err := nn.ToInPlace(b, storage.CPU); err != nil {
		t.Fatal(err)
	}
	for name, p := range nn.Parameters(b) {
		if old := before[name]; p != old || p.Device() != storage.CPU || !p.RequiresGrad() {
			t.Errorf("%s: %v, want the same parameter, on the cpu", name, p.Array())
		}
	}
}

func TestUnbuiltLayersFollowTheirModel(t *testing.T) {
	fake := storagetest.NewDevice("fake:0")
	d := nn.NewDense(nn.DenseOptions{OutFeatures: 2})
	if err := nn.To(nn.Sequential{d}, fake); err != nil {
		t.Fatal(err)
	}
	err := tensor.Try(func() { d.Forward(tensor.FromArray(filled(1, 1, 2))) })
	if !errors.Is(err, storage.ErrDevice) || d.IsBuilt() {
		t.Errorf("input on the cpu, layer for %v: error %v, want ErrDevice and no parameters", fake, err)
	}
}

// layers is one of each, as configurations write them in full.
var layers = []string{
	`{"linear": {"in_features": 3, "out_features": 2, "bias": false, "initializer": "xavier", "dtype": "float32"}}`,
	`{"dense": {"out_features": 4, "bias": true, "initializer": "kaiming"}}`,
	`{"dense": {"out_features": 4, "in_features": 2, "bias": true, "initializer": {"orthogonal": {"gain": 2}}, "dtype": "float64"}}`,
	`{"conv2d": {"out_channels": 2, "in_channels": 1, "kernel_size": [3, 2], "stride": [1, 1], "padding": [1, 0], "bias": true, "initializer": "kaiming", "dtype": "float32"}}`,
	`{"conv2d": {"out_channels": 2, "kernel_size": [3, 3], "stride": [2, 2], "padding": [0, 0], "bias": true, "initializer": "zeros"}}`,
	`{"maxpool2d": {"kernel_size": [2, 2], "stride": [2, 2], "padding": [0, 0]}}`,
	`{"avgpool2d": {"kernel_size": [3, 3], "stride": [1, 1], "padding": [1, 1]}}`,
	`{"batchnorm1d": {"num_features": 3, "eps": 0.001, "momentum": 0, "affine": true, "dtype": "float32"}}`,
	`{"batchnorm2d": {"num_features": 3, "eps": 1e-05, "momentum": 0.1, "affine": false, "dtype": "float64"}}`,
	`{"conv1d": {"out_channels": 4, "kernel_size": [3], "stride": [1], "padding": [2], "padding_after": [0], "dilation": [2], "groups": 2, "bias": true, "initializer": "kaiming"}}`,
	`{"conv3d": {"out_channels": 2, "in_channels": 1, "kernel_size": [3, 2, 1], "stride": [1, 1, 1], "padding": [1, 0, 0], "bias": false, "initializer": "kaiming", "dtype": "float64"}}`,
	`{"conv_transpose2d": {"out_channels": 2, "in_channels": 4, "kernel_size": [3, 3], "stride": [2, 2], "padding": [1, 1], "output_padding": [1, 0], "groups": 2, "bias": true, "initializer": "kaiming", "dtype": "float32"}}`,
	`{"conv_transpose1d": {"out_channels": 2, "kernel_size": [3], "stride": [1], "padding": [0], "output_padding": [0], "bias": true, "initializer": "kaiming"}}`,
	`{"maxpool3d": {"kernel_size": [2, 2, 1], "stride": [2, 2, 1], "padding": [0, 0, 0], "ceil_mode": true}}`,
	`{"avgpool1d": {"kernel_size": [2], "stride": [1], "padding": [1]}}`,
	`{"layernorm": {"normalized_shape": [3, 2], "eps": 1e-05, "affine": true, "dtype": "float32"}}`,
	`{"batchnorm3d": {"num_features": 2, "eps": 1e-05, "momentum": 0.1, "affine": true, "dtype": "float32"}}`,
	`{"leaky_relu": {"negative_slope": 0.2}}`, `"silu"`, `"gelu"`, `{"gelu": {"approximate": "tanh"}}`, `"identity"`, `"add"`, `"mul"`, `{"concat": {"axis": 2}}`, `"globalmaxpool3d"`,
	`{"residual": {"body": ["relu", {"dropout": {"p": 0.5}}]}}`,
	`{"graph": {"inputs": ["a", "b"], "nodes": [{"name": "sum", "layer": "add", "from": ["a", "b"]}, {"name": "out", "layer": ["relu"]}], "outputs": ["sum", "out"]}}`,
	`{"multihead_attention": {"embed_dim": 6, "num_heads": 2, "dropout": 0.1, "bias": true, "kdim": 4, "vdim": 5, "head_dim": 4, "value_dim": 2, "num_kv_heads": 1, "out_features": 3, "causal": true, "rotary_base": 10000, "gate": true, "inputs": ["query", "value"], "dtype": "float32"}}`,
	`{"transformer_encoder": {"num_layers": 2, "norm": true, "d_model": 4, "nhead": 2, "dim_feedforward": 8, "dropout": 0, "activation": "gelu", "layer_norm_eps": 1e-05, "norm_first": true, "norm_type": "rmsnorm", "causal": true, "num_kv_heads": 1, "rotary_base": 100, "dtype": "float64"}}`,
	`{"transformer_encoder_layer": {"d_model": 4, "nhead": 2, "dim_feedforward": 8, "dropout": 0.1, "activation": "relu", "layer_norm_eps": 1e-05, "key_padding_mask": true, "dtype": "float32"}}`,
	`{"transformer_decoder": {"num_layers": 1, "d_model": 4, "nhead": 2, "dim_feedforward": 8, "dropout": 0.1, "activation": "silu", "layer_norm_eps": 1e-05, "dtype": "float32"}}`,
	`{"transformer_decoder_layer": {"d_model": 4, "nhead": 1, "dim_feedforward": 8, "dropout": 0.1, "activation": "gelu_tanh", "layer_norm_eps": 1e-05, "dtype": "float32"}}`,
	`{"class_token": {"embedding_dim": 3, "dtype": "float32"}}`, `{"select": {"index": -1, "axis": 2}}`,
	`{"positions": {"max_len": 5, "embedding_dim": 3, "kind": "sinusoidal", "dtype": "float32"}}`, `{"positions": {"max_len": 5, "embedding_dim": 3, "dtype": "float32"}}`,
	`{"rmsnorm": {"normalized_shape": [4], "eps": 0.001, "affine": true, "dtype": "float32"}}`, `{"reversible_embedding": {"num_embeddings": 5, "embedding_dim": 3, "initializer": "normal", "dtype": "float32"}}`,
	`{"dropout": {"p": 0.25}}`, `{"softmax": {"axis": 1}}`,
	`{"embedding": {"num_embeddings": 5, "embedding_dim": 3, "padding_idx": 0, "initializer": "normal", "dtype": "float64"}}`,
	`{"rnn": {"hidden_size": 3, "input_size": 2, "num_layers": 2, "bias": false, "dropout": 0.5, "return_sequences": true, "nonlinearity": "relu", "initializer": "xavier", "dtype": "float64"}}`,
	`{"lstm": {"hidden_size": 3, "num_layers": 1, "bias": true, "bidirectional": true, "merge_mode": "ave", "return_state": true, "proj_size": 2, "initializer": "kaiming"}}`,
	`{"gru": {"hidden_size": 3, "num_layers": 1, "bias": true, "go_backwards": true, "masked": true, "zero_output_for_mask": true, "initializer": "kaiming", "reset_after": false, "activation": "relu", "recurrent_activation": [{"rescale": {"scale": 0.2, "offset": 0.5}}, {"hardtanh": {"min": 0, "max": 1}}]}}`,
	`"softmax"`, `"relu"`, `"tanh"`, `"sigmoid"`, `"flatten"`, `"globalavgpool2d"`,
	`["relu", ["tanh", {"dropout": {"p": 0.5, "seed": 3}}], []]`,
}

func TestConfigsSurviveARoundTrip(t *testing.T) {
	for _, want := range layers {
		m := fromJSON(t, want)
		description, err := nn.Describe(m)
		if err != nil {
			t.Errorf("%s: %v", want, err)
			continue
		}
		if got := canonical(t, description); got != canonical(t, json.RawMessage(want)) {
			t.Errorf("described as %s, want %s", got, want)
		}
		again, err := nn.FromConfig(description)
		if err != nil {
			t.Errorf("%s: %v", want, err)
			continue
		}
		if got, want := names(again), names(m); !slices.Equal(got, want) {
			t.Errorf("rebuilt with %q, want %q", got, want)
		}
	}
}

// canonical spells any JSON value in one way.
func canonical(t *testing.T, v any) string {
	t.Helper()
	var plain any
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &plain)
	}
	if err == nil {
		text, err = json.Marshal(plain)
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestConfigMistakesNameThePlace(t *testing.T) {
	for _, c := range []struct{ config, want string }{
		{`["relu", {"dnese": 3}]`, "layer 1: dnese: no such layer; did you mean dense?"},
		{`["relu", ["relu", {"conv2d": {"out_channels": 2, "kernel": 3}}]]`, "layer 1: layer 1: conv2d: kernel: no such setting; want kernel_size"},
		{`{"conv2d": {"out_channels": "many"}}`, `conv2d: out_channels: cannot be "many"; want an integer`},
		{`{"conv2d": {"out_channels": 2, "kernel_size": [3, 3, 3]}}`, "conv2d: kernel size [3 3 3]; want one number or 2"},
		{`{"conv2d": {"out_channels": 2, "kernel_size": []}}`, "conv2d: kernel_size: cannot be []; want a number or a list of numbers"},
		{`{"conv2d": {"out_channels": 2}}`, "conv2d: kernel size [0 0], stride [1 1], padding [0 0]; want at least 1, 1 and 0"},
		{`{"conv2d": {"out_channels": 2, "kernel_size": 3, "stride": 0}}`, "conv2d: kernel size [3 3], stride [0 0]"},
		{`{"dense": 0}`, "dense: out_features 0; want at least 1"},
		{`{"dense": {"out_features": 2, "in_features": -1}}`, "dense: in_features -1, out_features 2; want at least 1 of each"},
		{`{"linear": {"in_features": 4000000000, "out_features": 4000000000}}`, "linear: a parameter of shape [4000000000 4000000000]"},
		{`{"dense": {"out_features": 2, "initializer": "keiming"}}`, `dense: initializer: keiming: no such initializer; did you mean kaiming?`},
		{`{"dense": {"out_features": 2, "initializer": {"orthogonal": {"gian": 2}}}}`, "dense: initializer: orthogonal: gian: no such setting; did you mean gain?"},
		{`{"dense": {"out_features": 2, "initializer": {"normal": {"std": -1}}}}`, "std -1; want at least 0"},
		{`{"dense": {"out_features": 2, "dtype": "int8"}}`, "dense: parameters of int8"},
		{`"linear"`, "linear: out_features 0; want at least 1"},
		{`{"conv2d": {"kernel_size": 3}}`, "conv2d: out_channels 0; want at least 1"},
		{`{"batchnorm1d": -1}`, "batchnorm1d: num_features -1; want at least 1"},
		{`{"dropout": 1}`, "dropout: probability 1; want 0 ≤ p < 1"},
		{`{"batchnorm1d": {"num_features": 2, "momentum": 2}}`, "batchnorm1d: momentum 2; want"},
		{`{"conv2d": {"out_channels": 3, "in_channels": 4, "kernel_size": 2, "groups": 2}}`, "conv2d: 2 groups of 4 input and 3 output channels"},
		{`{"conv1d": {"out_channels": 3, "kernel_size": 2, "dilation": 0}}`, "conv1d: dilation [0]; want at least 1"},
		{`{"conv1d": {"out_channels": 3, "kernel_size": 2, "padding_after": -1}}`, "conv1d: padding after [-1]; want at least 0"},
		{`{"conv2d_transpose": {"out_channels": 3, "kernel_size": 2, "stride": [2, 1], "output_padding": 1}}`, "output padding [1 1] and stride [2 1]; want less than the stride"},
		{`{"layernorm": {"normalized_shape": 3, "eps": -1}}`, "layernorm: eps -1"},
		{`{"embedding": {"num_embeddings": 5}}`, "embedding: num_embeddings 5, embedding_dim 0; want at least 1 of each"},
		{`{"embedding": {"num_embeddings": 5, "embedding_dim": 2, "padding_idx": 5}}`, "embedding: padding_idx 5; want 0 to 4"},
		{`{"embedding": {"input_dim": 5}}`, "embedding: input_dim: no such setting; want num_embeddings"},
		{`{"embedding": {"max_norm": 1}}`, "embedding: max_norm: no such setting; known are"},
		{`{"gelu": "erf"}`, `gelu: approximate "erf"`},
		{`{"concat": 0}`, "concat: axis 0"},
		{`{"maxpool2d": {"kernel_size": 2, "padding": 2}}`, "maxpool2d: padding [2 2]; want at most half"},
		{`{"relu": 3}`, "relu: takes no settings, got 3"},
		{`3`, "3 is not a layer"},
		{`{"relu": {}, "tanh": {}}`, "is not a layer"},
	} {
		m, err := nn.FromConfig(json.RawMessage(c.config))
		if err == nil {
			t.Errorf("%s: built %v, want an error", c.config, m)
			continue
		}
		if !strings.HasPrefix(err.Error(), c.want) && !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %q, want %q", c.config, err, c.want)
		}
	}
}

func FuzzFromConfig(f *testing.F) {
	for _, l := range layers {
		f.Add(l)
	}
	f.Fuzz(func(t *testing.T, description string) {
		if !json.Valid([]byte(description)) || strings.Contains(description, "00") { // large sizes are legal, and slow
			return
		}
		m, err := nn.FromConfig(json.RawMessage(description))
		if err != nil {
			return
		}
		again, err := nn.Describe(m)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := nn.FromConfig(again); err != nil {
			t.Errorf("%s is described as %v, which is refused: %v", description, again, err)
		}
	})
}

func TestMistakesHaveTheirKind(t *testing.T) {
	fake := storagetest.NewDevice("fake:0")
	away, err := filled(1, 2, 3).To(fake)
	if err != nil {
		t.Fatal(err)
	}
	x, images := tensor.FromArray(filled(1, 2, 3)), tensor.FromArray(filled(1, 2, 3, 4, 4))
	for _, c := range []struct {
		name  string
		layer nn.Module
		x     *tensor.Tensor
		kind  error
	}{
		{"linear rank", nn.NewLinear(nn.LinearOptions{InFeatures: 3, OutFeatures: 2}), images, views.ErrShape},
		{"linear features", nn.NewLinear(nn.LinearOptions{InFeatures: 4, OutFeatures: 2}), x, views.ErrShape},
		{"linear device", nn.NewLinear(nn.LinearOptions{InFeatures: 3, OutFeatures: 2}), tensor.FromArray(away), storage.ErrDevice},
		{"linear type", nn.NewLinear(nn.LinearOptions{InFeatures: 3, OutFeatures: 2}), x.Cast(dtype.Float64), dtype.ErrType},
		{"linear without settings", &nn.Linear{}, x, views.ErrShape},
		{"dense rank", nn.NewDense(nn.DenseOptions{OutFeatures: 2}), tensor.Zeros(dtype.Float32, 3), views.ErrShape},
		{"dense of bytes", nn.NewDense(nn.DenseOptions{OutFeatures: 2}), x.Cast(dtype.Uint8), dtype.ErrType},
		{"dense device", nn.NewDense(nn.DenseOptions{OutFeatures: 2, Device: storage.CPU}), tensor.FromArray(away), storage.ErrDevice},
		{"dense built elsewhere", nn.NewDense(nn.DenseOptions{OutFeatures: 2, InFeatures: 3}), tensor.FromArray(away), storage.ErrDevice},
		{"conv2d rank", nn.NewConv2d(nn.ConvOptions{InChannels: 3, OutChannels: 2, KernelSize: nn.Sizes{3}}), x, views.ErrShape},
		{"conv2d channels", nn.NewConv2d(nn.ConvOptions{InChannels: 2, OutChannels: 2, KernelSize: nn.Sizes{3}}), images, views.ErrShape},
		{"conv2d too large", nn.NewConv2d(nn.ConvOptions{InChannels: 3, OutChannels: 2, KernelSize: nn.Sizes{7}}), images, views.ErrShape},
		{"maxpool2d rank", nn.NewMaxPool2d(nn.PoolOptions{KernelSize: nn.Sizes{2}}), x, views.ErrShape},
		{"avgpool2d rank", nn.NewAvgPool2d(nn.PoolOptions{KernelSize: nn.Sizes{2}}), x, views.ErrShape},
		{"globalavgpool2d rank", nn.GlobalAvgPool2d{}, x, views.ErrShape},
		{"batchnorm1d rank", nn.NewBatchNorm1d(nn.BatchNormOptions{NumFeatures: 3}), images, views.ErrShape},
		{"batchnorm1d features", nn.NewBatchNorm1d(nn.BatchNormOptions{NumFeatures: 2}), x, views.ErrShape},
		{"batchnorm1d device", nn.NewBatchNorm1d(nn.BatchNormOptions{NumFeatures: 3}), tensor.FromArray(away), storage.ErrDevice},
		{"batchnorm2d rank", nn.NewBatchNorm2d(nn.BatchNormOptions{NumFeatures: 3}), x, views.ErrShape},
		{"in a sequence", nn.Sequential{nn.ReLU{}, nn.NewLinear(nn.LinearOptions{InFeatures: 4, OutFeatures: 2})}, x, views.ErrShape},
	} {
		err := tensor.Try(func() { c.layer.Forward(c.x) })
		if !errors.Is(err, c.kind) {
			t.Errorf("%s: error %v, want one of kind %q", c.name, err, c.kind)
		}
		if d, ok := c.layer.(*nn.Dense); ok && d.InFeatures == 0 && d.IsBuilt() {
			t.Errorf("%s: the failure left a half-built layer", c.name)
		}
	}
	err = tensor.Try(func() {
		nn.Sequential{nn.ReLU{}, nn.NewLinear(nn.LinearOptions{InFeatures: 4, OutFeatures: 2})}.Forward(x)
	})
	if want := "layer 1: linear: input [2 3] for weight [2 4]; want 4 along axis 1"; err == nil || err.Error() != want {
		t.Errorf("error %q, want %q", err, want)
	}
}

// A fullDevice has no memory left.
type fullDevice struct{ storage.Device }

func (fullDevice) Alloc(int) (storage.Storage, error) { return nil, storage.ErrMemory }

// onOtherDevice is storage with another device.
type onOtherDevice struct {
	storage.Storage
	device storage.Device
}

func (h onOtherDevice) Device() storage.Device { return h.device }

// TestMemoryThatRunsOutIsOfItsKind for parameters and for what optimizers keep of them.
func TestMemoryThatRunsOutIsOfItsKind(t *testing.T) {
	d := fullDevice{storagetest.NewDevice("fake:0")}
	weight := filled(1, 3)
	weight.Data = onOtherDevice{weight.Data, d}
	p := nn.NewParameter(weight)
	for about, try := range map[string]func() error{
		"a layer": func() error {
			return tensor.Try(func() { nn.NewLinear(nn.LinearOptions{InFeatures: 3, OutFeatures: 2, Device: d}) })
		},
		"adam": func() error {
			return nn.NewAdam(nn.AdamOptions{LearningRate: 1}).Step(maps.All(map[string]*nn.Parameter{"weight": p}), tensor.Grads{p.Tensor: p.Tensor})
		},
	} {
		if err := try(); !errors.Is(err, storage.ErrMemory) {
			t.Errorf("%s: error %v, want one of kind %q", about, err, storage.ErrMemory)
		}
	}
}

// TestGoroutinesShareModelsAndInputs outside training; the race detector watches.
func TestGoroutinesShareModelsAndInputs(t *testing.T) {
	model := fromJSON(t, `[{"batchnorm2d": {"num_features": 1, "affine": false}}, {"maxpool2d": 2}, {"dropout": 0.5}, "flatten", {"linear": {"in_features": 4, "out_features": 2}}]`)
	nn.Eval(model)
	x := tensor.FromArray(filled(1, 2, 1, 4, 4))
	var all sync.WaitGroup
	got := make([][]float32, 4)
	for i := range got {
		all.Go(func() { got[i] = tensor.Values[float32](model.Forward(x)) })
	}
	all.Wait()
	want := tensor.Values[float32](model.Forward(x))
	for _, values := range got {
		if !slices.Equal(values, want) {
			t.Errorf("%v, alone %v", values, want)
		}
	}
}

func TestDenseBuildsItselfOnce(t *testing.T) {
	d := nn.NewDense(nn.DenseOptions{OutFeatures: 2})
	if d.IsBuilt() || len(names(d)) != 0 {
		t.Error("built before it saw data")
	}
	d.Forward(tensor.FromArray(filled(1, 1, 3)))
	weight := d.Weight
	d.Forward(tensor.FromArray(filled(1, 4, 3)))
	if d.Weight != weight || !slices.Equal(weight.Shape(), []int{2, 3}) || d.InFeatures != 3 {
		t.Errorf("weight %v, in_features %d; want one weight of [2 3]", d.Weight.Shape(), d.InFeatures)
	}
	description, err := nn.Describe(d)
	if err != nil {
		t.Fatal(err)
	}
	again, err := nn.FromConfig(description)
	if err != nil {
		t.Fatal(err)
	}
	if !again.(*nn.Dense).IsBuilt() {
		t.Errorf("%v does not build a layer that can be loaded into", description)
	}
	if err := nn.LoadStateDict(again, nn.StateDict(d)); err != nil {
		t.Error(err)
	}
}

func TestEqualSeedsGiveEqualModels(t *testing.T) {
	build := func(seed uint64, initFirst bool) map[string][]float32 {
		m, err := nn.Preset("lenet", 10)
		if err != nil {
			t.Fatal(err)
		}
		if initFirst {
			nn.Init(m, seed)
		}
		if _, err := nn.Build(m, []int{1, 12, 12}); err != nil {
			t.Fatal(err)
		}
		if !initFirst {
			nn.Init(m, seed)
		}
		values := map[string][]float32{}
		for name, p := range nn.Parameters(m) {
			values[name] = tensor.Values[float32](p.Tensor)
		}
		return values
	}
	a, b, c := build(7, true), build(7, false), build(8, true)
	for name := range a {
		if !slices.Equal(a[name], b[name]) {
			t.Errorf("%s depends on when the model was built", name)
		}
		if slices.Equal(a[name], c[name]) {
			t.Errorf("%s does not depend on the seed", name)
		}
	}
	twins := nn.Sequential{nn.NewLinear(nn.LinearOptions{InFeatures: 3, OutFeatures: 3}), nn.NewLinear(nn.LinearOptions{InFeatures: 3, OutFeatures: 3})}
	differ := func(when string) {
		params := maps.Collect(nn.Parameters(twins))
		if slices.Equal(tensor.Values[float32](params["0.weight"].Tensor), tensor.Values[float32](params["1.weight"].Tensor)) {
			t.Errorf("%s, two parameters were drawn from one stream", when)
		}
	}
	differ("as made")
	nn.Init(twins, 1)
	differ("by a seed")
}

func TestLoadIsStrictAndAllOrNothing(t *testing.T) {
	m := nn.NewLinear(nn.LinearOptions{InFeatures: 2, OutFeatures: 2})
	was := slices.Clone(tensor.Values[float32](m.Weight.Tensor))
	good := map[string]storage.Array{"weight": filled(1, 2, 2), "bias": filled(2, 2)}
	with := func(name string, a storage.Array) map[string]storage.Array {
		changed := maps.Clone(good)
		changed[name] = a
		return changed
	}
	without := maps.Clone(good)
	delete(without, "bias")
	for _, c := range []struct {
		arrays map[string]storage.Array
		kind   error
		want   string
	}{
		{without, storage.ErrState, "load model: missing bias; want all 2 arrays of the model"},
		{with("wieght", filled(0, 1)), storage.ErrState, "load model: the model has no wieght"},
		{with("bias", filled(0, 3)), views.ErrShape, "load model: bias is [3]; want [2]"},
	} {
		err := nn.LoadStateDict(m, maps.All(c.arrays))
		if !errors.Is(err, c.kind) || err.Error() != c.want {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
	if got := tensor.Values[float32](m.Weight.Tensor); !slices.Equal(got, was) {
		t.Error("a failed load has changed the model")
	}
	weight := m.Weight
	if err := nn.LoadStateDict(m, maps.All(good)); err != nil {
		t.Fatal(err)
	}
	if got := tensor.Values[float32](m.Weight.Tensor); m.Weight != weight || got[0] != 1 {
		t.Errorf("weight %v, want ones in the same parameter", got)
	}
	err := nn.LoadStateDict(nn.Sequential{nn.NewDense(nn.DenseOptions{OutFeatures: 2})}, maps.All(map[string]storage.Array{"0.weight": filled(1, 2, 2), "0.bias": filled(1, 2)}))
	if err == nil || !strings.Contains(err.Error(), `layer "0" is not built`) {
		t.Errorf("error %v, want one that names the layer to build", err)
	}
}

func TestDropoutFollowsItsMode(t *testing.T) {
	x := tensor.FromArray(filled(1, 100, 100))
	d := nn.NewDropout(nn.DropoutOptions{P: 0.25})
	y := tensor.Values[float32](d.Forward(x))
	kept := 0
	for _, v := range y {
		switch v {
		case 0:
		case float32(1 / 0.75):
			kept++
		default:
			t.Fatalf("element %v, want 0 or 4/3", v)
		}
	}
	if kept < 7300 || kept > 7700 { // 5000·√(3/16)/√(10⁴)·… : seven deviations of 43
		t.Errorf("%d of 10000 kept, want about 7500", kept)
	}
	if slices.Equal(y, tensor.Values[float32](d.Forward(x))) {
		t.Error("two calls drop the same elements")
	}
	nn.SetTraining(nn.Sequential{d}, false)
	if d.Forward(x) != x {
		t.Error("out of training, dropout is not the identity")
	}
}

func TestSeededStepsDropTheSame(t *testing.T) {
	m := nn.Sequential{nn.NewDropout(nn.DropoutOptions{P: 0.5}), nn.NewDropout(nn.DropoutOptions{P: 0.5})}
	run := func(step uint64) (out []float32) {
		if err := tensor.Step(func(tape *tensor.Tape) error {
			tape.Seed(1, step)
			out = slices.Clone(tensor.Values[float32](m.Forward(tape.Input(filled(1, 8, 8)))))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return out
	}
	if a, b := run(3), run(3); !slices.Equal(a, b) {
		t.Error("one step, two masks")
	}
	if a, b := run(3), run(4); slices.Equal(a, b) {
		t.Error("two steps, one mask")
	}
}

// TestFusedIsTheSameAsApart compares a layer and an activation in a Sequential with the
// two by themselves, forward and backward.
func TestFusedIsTheSameAsApart(t *testing.T) {
	for _, description := range []string{
		`{"linear": {"in_features": 4, "out_features": 3}}`, `{"dense": {"in_features": 4, "out_features": 3}}`,
		`{"batchnorm1d": 4}`, `{"batchnorm1d": {"num_features": 4, "affine": false}}`,
		`{"batchnorm2d": 2}`, `{"conv2d": {"in_channels": 2, "out_channels": 3, "kernel_size": 2}}`,
		`{"conv1d": {"in_channels": 2, "out_channels": 4, "kernel_size": 2, "groups": 2}}`,
		`{"conv_transpose2d": {"in_channels": 2, "out_channels": 3, "kernel_size": 2, "stride": 2}}`,
	} {
		for _, act := range []nn.Module{nn.ReLU{}, nn.Tanh{}, nn.Sigmoid{}} {
			layer := fromJSON(t, description)
			x := filled(0, 4, 4)
			switch nn.SpatialAxes(layer, "") {
			case 1:
				x = filled(0, 3, 2, 5)
			case 2:
				x = filled(0, 3, 2, 4, 5)
			}
			tensor.FillNormal(x, 0, 1, tensor.Key{Seed: 1})
			run := func(f func(x *tensor.Tensor) *tensor.Tensor) (out, dx []float64, grads [][]float64) {
				err := tensor.Step(func(tape *tensor.Tape) error {
					in := tape.Input(x).RequireGrad()
					y := f(in)
					out = slices.Clone(tensor.Values[float64](y))
					all := tensor.Gradients(y.Mul(y.Detach()).Sum())
					dx = slices.Clone(tensor.Values[float64](all[in]))
					for _, p := range nn.Parameters(layer) {
						grads = append(grads, slices.Clone(tensor.Values[float64](all[p.Tensor])))
					}
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
				return out, dx, grads
			}
			name, p := fmt.Sprintf("%s %T", description, act), precision{dtype.Float32, 1e-5}
			fused, fusedX, fusedGrads := run(nn.Sequential{layer, act}.Forward)
			apart, apartX, apartGrads := run(func(x *tensor.Tensor) *tensor.Tensor { return act.Forward(layer.Forward(x)) })
			near(t, p, name, fused, apart)
			near(t, p, name+" gradient of x", fusedX, apartX)
			for i := range fusedGrads {
				near(t, p, name+" gradient of a parameter", fusedGrads[i], apartGrads[i])
			}
		}
	}
}

func TestOptimizerStateSurvivesARoundTrip(t *testing.T) {
	x, y := filled(0.5, 4, 3), storage.From([]int64{0, 1, 1, 0}, 4)
	for kind, config := range oracleOptimizers {
		build := func() (nn.Module, nn.Optimizer) {
			m := nn.Sequential{nn.NewLinear(nn.LinearOptions{InFeatures: 3, OutFeatures: 4}), nn.ReLU{}, nn.NewLinear(nn.LinearOptions{InFeatures: 4, OutFeatures: 2})}
			nn.Init(m, 1)
			o, err := nn.OptimizerFromConfig(config)
			if err != nil {
				t.Fatal(err)
			}
			return m, o
		}
		m, o := build()
		for range 3 {
			step(t, m, o, x, y)
		}
		m2, o2 := build()
		if err := nn.LoadStateDict(m2, nn.StateDict(m)); err != nil {
			t.Fatal(err)
		}
		if err := o2.Load(nn.Parameters(m2), o.State()); err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		for range 3 {
			a, b := step(t, m, o, x, y), step(t, m2, o2, x, y)
			if a != b {
				t.Errorf("%s: loss %v, resumed %v", kind, a, b)
			}
		}
		described, err := nn.DescribeOptimizer(o)
		if err != nil {
			t.Fatal(err)
		}
		again, err := nn.OptimizerFromConfig(described)
		if err != nil {
			t.Fatal(err)
		}
		if second, _ := nn.DescribeOptimizer(again); canonical(t, second) != canonical(t, described) {
			t.Errorf("%s: rebuilt as %v, want %v", kind, second, described)
		}
	}
}

func TestOptimizersRefuseForeignState(t *testing.T) {
	m := nn.Sequential{nn.NewLinear(nn.LinearOptions{InFeatures: 3, OutFeatures: 2})}
	one := storage.From([]int64{1})
	for _, c := range []struct {
		state map[string]storage.Array
		want  string
	}{
		{map[string]storage.Array{"step": one, "momentum/1.weight": filled(0, 2, 3)}, "unexpected momentum/1.weight"},
		{map[string]storage.Array{"step": one, "first_moment/0.weight": filled(0, 2, 3)}, "unexpected first_moment/0.weight"},
		{map[string]storage.Array{"step": one, "momentum/0.weight": filled(0, 3, 2)}, "momentum/0.weight: shape [3 2]; want [2 3]"},
		{map[string]storage.Array{"momentum/0.weight": filled(0, 2, 3)}, "no step count"},
	} {
		o, err := nn.OptimizerFromConfig(oracleOptimizers["momentum"])
		if err != nil {
			t.Fatal(err)
		}
		if err := o.Load(nn.Parameters(m), maps.All(c.state)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
	half := map[string]storage.Array{"step": one, "first_moment/0.weight": filled(0, 2, 3)}
	if err := nn.NewAdam(nn.AdamOptions{LearningRate: 0.1}).Load(nn.Parameters(m), maps.All(half)); err == nil {
		t.Error("one moment of two was taken for a state")
	}
}

func TestSettingsOfOptimizersAreChecked(t *testing.T) {
	for config, want := range map[string]string{
		`"admw"`:                             "admw: no such optimizer; did you mean adamw?",
		`{"sgd": {"learning_rat": 1}}`:       "sgd: learning_rat: no such setting",
		`{"sgd": -1}`:                        "sgd: lr -1; want at least 0",
		`{"adam": {"beta1": 1}}`:             "adam: beta1 1; want at least 0 and less than 1",
		`{"sgd": {"nesterov": true}}`:        "sgd: nesterov without momentum",
		`{"adam": {"lr": 1, "momentum": 1}}`: "adam: momentum: no such setting",
	} {
		_, err := nn.OptimizerFromConfig(json.RawMessage(config))
		if err == nil || !strings.HasPrefix(err.Error(), want) || !errors.Is(err, nn.ErrConfig) {
			t.Errorf("%s: error %v, want %q", config, err, want)
		}
	}
}

func TestStepsAllocateAConstant(t *testing.T) {
	count := func(batch int) float64 {
		m := nn.Sequential{nn.NewLinear(nn.LinearOptions{InFeatures: 32, OutFeatures: 16}), nn.ReLU{}, nn.NewLinear(nn.LinearOptions{InFeatures: 16, OutFeatures: 4})}
		o := nn.NewAdam(nn.AdamOptions{LearningRate: 1e-3})
		x, y := filled(0.5, batch, 32), storage.From(make([]int64, batch), batch)
		least := math.Inf(1)
		for range 20 { // a garbage collection or the race detector may empty the pools of any one step
			least = min(least, testing.AllocsPerRun(1, func() { step(t, m, o, x, y) }))
		}
		return least
	}
	few, many := count(8), count(512)
	if many > few+2 {
		t.Errorf("%v allocations at batch 8, %v at 512", few, many)
	}
	t.Logf("%v allocations a step", few)
}

// TestStepsCanBeProfiled crashed the process while the pool's threads took the
// profiler's signals on stacks that oneDNN keeps data below.
func TestStepsCanBeProfiled(t *testing.T) {
	if err := pprof.StartCPUProfile(io.Discard); err != nil {
		t.Skipf("the tests are being profiled already: %v", err)
	}
	defer pprof.StopCPUProfile()
	m := nn.Sequential{nn.NewLinear(nn.LinearOptions{InFeatures: 784, OutFeatures: 128}), nn.ReLU{}, nn.NewLinear(nn.LinearOptions{InFeatures: 128, OutFeatures: 10})}
	x, y := filled(0.5, 512, 784), storage.From(make([]int64, 512), 512)
	for range 300 {
		step(t, m, nn.NewSGD(nn.SGDOptions{LearningRate: 0.01}), x, y)
	}
}

func ExampleParameters() {
	type Net struct{ Hidden, Out *nn.Linear }
	for name, p := range nn.Parameters(&Net{nn.NewLinear(nn.LinearOptions{InFeatures: 2, OutFeatures: 8}), nn.NewLinear(nn.LinearOptions{InFeatures: 8, OutFeatures: 1})}) {
		fmt.Println(name, p.Shape())
	}
	// Output:
	// hidden.weight [8 2]
	// hidden.bias [8]
	// out.weight [1 8]
	// out.bias [1]
}

func Example() {
	model := nn.Sequential{nn.NewDense(nn.DenseOptions{OutFeatures: 16}), nn.ReLU{}, nn.NewDense(nn.DenseOptions{OutFeatures: 2})}
	nn.Init(model, 1)
	x := storage.From([]float32{0, 0, 0, 1, 1, 0, 1, 1}, 4, 2)
	y := storage.From([]int64{0, 1, 1, 0}, 4)
	optimizer := nn.NewAdam(nn.AdamOptions{LearningRate: 0.05})
	for range 200 {
		err := tensor.Step(func(t *tensor.Tape) error {
			loss := tensor.CrossEntropy(model.Forward(t.Input(x)), t.Input(y))
			if err := optimizer.Step(nn.Parameters(model), tensor.Gradients(loss)); err != nil {
				fmt.Println(err)
			}
			return nil
		})
		if err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println(tensor.Values[int64](model.Forward(tensor.FromArray(x)).ArgMax(1)))
	// Output: [0 1 1 0]
}

func ExampleSummarize() {
	model, err := nn.Preset("lenet", 10)
	if err != nil {
		fmt.Println(err)
		return
	}
	summary, err := nn.Summarize(model, []int{1, 28, 28})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(summary.Params)
	fmt.Println(summary.Rows[0])
	// Output:
	// 61706
	// {0 conv2d [6 28 28] 156 117600}
}

func TestPaddingByName(t *testing.T) {
	for _, c := range []struct {
		layer string
		want  []int
	}{
		{`{"conv2d": {"out_channels": 2, "kernel_size": [4, 3], "dilation": [1, 2], "padding": "same"}}`, []int{1, 2, 7, 9}},
		{`{"conv1d": {"out_channels": 2, "kernel_size": 5, "padding": "valid"}}`, []int{1, 2, 3}},
	} {
		m, err := nn.FromConfig(json.RawMessage(c.layer))
		if err != nil {
			t.Error(err)
			continue
		}
		x := tensor.Zeros(dtype.Float32, append([]int{1, 3}, c.want[2:]...)...)
		if c.want[2] == 3 {
			x = tensor.Zeros(dtype.Float32, 1, 3, 7)
		}
		if got := m.Forward(x).Shape(); !slices.Equal(got, c.want) {
			t.Errorf("%s: output %v; want %v", c.layer, got, c.want)
		}
	}
	_, err := nn.FromConfig(json.RawMessage(`{"conv1d": {"out_channels": 2, "kernel_size": 5, "stride": 2, "padding": "same"}}`))
	if err == nil || !strings.Contains(err.Error(), "want stride 1") {
		t.Errorf("error %v; want one about the stride", err)
	}
}
