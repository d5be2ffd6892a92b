package nn_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// gpts are models of tokens that are generated from, whose positions are learnt, sinusoidal and rotary.
var gpts = map[string]string{
	"learnt": `[{"embedding": {"num_embeddings": 7, "embedding_dim": 8}}, {"positions": {"max_len": 12, "embedding_dim": 8}},
		{"transformer_encoder": {"num_layers": 2, "d_model": 8, "nhead": 2, "dim_feedforward": 16, "causal": true, "norm": true, "norm_first": true, "activation": "gelu"}},
		{"dense": 7}, {"permute": [2, 1]}]`,
	"sinusoidal": `[{"embedding": {"num_embeddings": 7, "embedding_dim": 6}}, {"positions": {"max_len": 20, "embedding_dim": 6, "kind": "sinusoidal"}},
		{"transformer_encoder": {"num_layers": 1, "d_model": 6, "nhead": 3, "dim_feedforward": 16, "causal": true}}, {"dense": 7}, {"permute": [2, 1]}]`,
	"rotary, tied": `{"graph": {"nodes": [{"name": "tokens", "layer": {"reversible_embedding": {"num_embeddings": 7, "embedding_dim": 8}}},
		{"name": "blocks", "layer": {"transformer_encoder": {"num_layers": 2, "d_model": 8, "nhead": 4, "num_kv_heads": 2, "rotary_base": 100, "dim_feedforward": 16, "causal": true, "norm": true, "norm_first": true, "norm_type": "rmsnorm", "activation": "silu"}}},
		{"name": "head", "share": "tokens"}, {"name": "classes", "layer": {"permute": [2, 1]}}]}}`,
}

// TestCachesChangeNoToken generates more tokens than the context has, with a cache and without, on both devices.
func TestCachesChangeNoToken(t *testing.T) {
	for name, description := range gpts {
		for _, d := range []storage.Device{storage.CPU, cudatest.Devices(t, cudatest.Deferred)[0]} {
			m := fromJSON(t, description)
			nn.Init(m, 3)
			if _, err := nn.Build(m, []int{5}); err != nil {
				t.Fatal(err)
			}
			if err := nn.To(m, d); err != nil {
				t.Fatal(err)
			}
			for _, o := range []nn.GenerateOptions{{Tokens: 20, Device: d}, {Tokens: 20, Temperature: 2, TopK: 5, Seed: 4, Device: d, Context: 9}} {
				if o.NoCache = false; d != storage.CPU {
					o.Tokens = 6 // the interpreter is slow
				}
				got := generated(t, m, []int{1, 2, 3}, o)
				o.NoCache = true
				if want := generated(t, m, []int{1, 2, 3}, o); len(got) != o.Tokens || !slices.Equal(got, want) {
					t.Errorf("%s on %v: %v with a cache, %v without", name, d, got, want)
				}
			}
		}
	}
}

func generated(t *testing.T, m nn.Module, prompt []int, o nn.GenerateOptions) (tokens []int) {
	t.Helper()
	for token, err := range nn.Generate(m, prompt, o) {
		if err != nil {
			t.Fatal(err)
		}
		tokens = append(tokens, token)
	}
	return tokens
}

// TestGenerateRefusesOtherModels names why a model cannot be generated from.
func TestGenerateRefusesOtherModels(t *testing.T) {
	for _, c := range []struct{ description, want string }{
		{strings.Replace(gpts["learnt"], `"causal": true, `, "", 1), "a cache for attention that is not causal"},
		{`[{"embedding": {"num_embeddings": 7, "embedding_dim": 8}}, {"permute": [2, 1]}, {"conv1d": {"out_channels": 7, "kernel_size": 3, "padding": 1}}]`, "logits of the prompt change with a cache"},
		{`[{"embedding": {"num_embeddings": 7, "embedding_dim": 8}}, {"dense": 7}]`, "want logits (1, tokens, 3)"},
	} {
		m := fromJSON(t, c.description)
		nn.Init(m, 1)
		for _, err := range nn.Generate(m, []int{1, 2, 3}, nn.GenerateOptions{Tokens: 1}) {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v; want one with %q", err, c.want)
			}
		}
	}
}

// TestTemperaturesAreNotNegative: one that is no number would draw the same token for ever.
func TestTemperaturesAreNotNegative(t *testing.T) {
	for _, temperature := range []float64{-1, math.NaN()} {
		for _, err := range nn.Generate(fromJSON(t, gpts["learnt"]), []int{1, 2, 3}, nn.GenerateOptions{Tokens: 1, Temperature: temperature}) {
			if !errors.Is(err, nn.ErrConfig) {
				t.Errorf("temperature %v: error %v", temperature, err)
			}
		}
	}
}

// TestMasksOfAttention compares masks with attention to the steps that they leave.
func TestMasksOfAttention(t *testing.T) {
	m := fromJSON(t, `{"multihead_attention": {"embed_dim": 4, "num_heads": 2, "inputs": ["query", "key_mask", "query_mask", "attention_mask"], "dtype": "float64"}}`)
	plain := fromJSON(t, `{"multihead_attention": {"embed_dim": 4, "num_heads": 2, "inputs": ["query", "key"], "dtype": "float64"}}`)
	if err := nn.LoadStateDict(plain, nn.StateDict(m)); err != nil {
		t.Fatal(err)
	}
	x := tensor.FromArray(filled(0, 1, 3, 4)).Cast(dtype.Float64)
	x = x.Add(tensor.Arange(dtype.Float64, 0, 12, 1).Reshape(1, 3, 4).Sin())
	ones := []float32{1, 1, 1, 1, 1, 1, 1, 0, 1}
	y := nn.Call("", m, x, tensor.FromSlice([]bool{true, true, false}, 1, 3), tensor.FromSlice([]int32{1, 0, 1}, 1, 3), tensor.FromSlice(ones, 1, 3, 3))[0]
	first := nn.Call("", plain, x.Narrow(1, 0, 1), x.Narrow(1, 0, 2))[0]
	last := nn.Call("", plain, x.Narrow(1, 2, 1), x.Narrow(1, 0, 1))[0]
	none := tensor.FromArray(plain.(*nn.MultiHeadAttention).OutProj.Bias.Array()).Reshape(1, 1, 4)
	if want := tensor.Cat(1, first, none, last); !slices.EqualFunc(tensor.Values[float64](y), tensor.Values[float64](want), almost) {
		t.Errorf("%v; want %v", tensor.Values[float64](y), tensor.Values[float64](want))
	}
}

func ExampleGenerate() {
	model, err := nn.FromConfig([]any{
		map[string]any{"embedding": map[string]any{"num_embeddings": 256, "embedding_dim": 16}},
		map[string]any{"transformer_encoder": map[string]any{"num_layers": 1, "d_model": 16, "nhead": 2, "causal": true, "rotary_base": 10000}},
		map[string]any{"dense": 256},
		map[string]any{"permute": []int{2, 1}},
	})
	if err != nil {
		panic(err)
	}
	nn.Init(model, 1)
	count := 0
	for _, err := range nn.Generate(model, []int{'h', 'i'}, nn.GenerateOptions{Tokens: 5, Temperature: 0.8, TopK: 40}) {
		if err != nil {
			panic(err)
		}
		count++
	}
	fmt.Println(count, "tokens")
	// Output: 5 tokens
}
