package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/tensors"
)

// TestGenerateContinuesTexts trains a model of bytes and compares what it writes with a cache and without one.
func TestGenerateContinuesTexts(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	trainGPT(t, dir, "run.h5")
	generate := func(args ...string) string {
		status, out, errs := in(t, context.Background(), append([]string{"generate", path("run.h5"), "--tokens", "20"}, args...)...)
		if status != 0 {
			t.Fatal(errs)
		}
		return out
	}
	if got, want := generate("--prompt", "cde", "--temperature", "0"), "cdefghabcdefghabcdefgha\n"; got != want {
		t.Errorf("%q; want %q", got, want)
	}
	drawn := []string{"--prompt", "abc", "--temperature", "3", "--top-k", "20", "--seed", "5"}
	if got, want := generate(drawn...), generate(append(drawn, "--no-cache", "--time")...); got != want {
		t.Errorf("%q with a cache; %q without", got, want)
	}
	for _, c := range []struct{ args, want string }{
		{"run.h5", "--prompt TEXT"}, {"text.h5 --prompt a", "text.h5"}, {"run.h5 --prompt a --tokens 0", "tokens 0"},
	} {
		args := strings.Fields(c.args)
		args[0] = path(args[0])
		if status, _, errs := in(t, context.Background(), append([]string{"generate"}, args...)...); status != 2 || !strings.Contains(errs, c.want) {
			t.Errorf("%s: status %d, %q; want %q", c.args, status, errs, c.want)
		}
	}
}

// trainGPT trains a model of the bytes of a text that repeats a few letters.
func trainGPT(t *testing.T, dir, run string) {
	t.Helper()
	path := func(name string) string { return filepath.Join(dir, name) }
	text := []byte(strings.Repeat("abcdefgh", 33))
	if err := tensors.SaveAll(path("text.h5"), map[string]*tensor.Tensor{
		"x": tensor.FromSlice(text[:256], 16, 16), "y": tensor.FromSlice(text[1:257], 16, 16),
	}, nil); err != nil {
		t.Fatal(err)
	}
	const config = `
data: {file: text.h5, x: x, y: y}
model:
  - embedding: {num_embeddings: 256, embedding_dim: 16}
  - transformer_encoder: {num_layers: 1, d_model: 16, nhead: 2, dim_feedforward: 32, dropout: 0, causal: true, rotary_base: 100}
  - dense: 256
  - permute: [2, 1]
optimizer: {adam: {lr: 0.02}}
schedule: constant
epochs: 40
batch: 16
seed: 1
`
	if err := os.WriteFile(path("gpt.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	if status, _, errs := in(t, context.Background(), "train", path("gpt.yaml"), "-o", path(run)); status != 0 {
		t.Fatal(errs)
	}
}
