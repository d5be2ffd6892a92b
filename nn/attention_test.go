package nn_test

import (
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// transformers describes the modules of testdata/attention.py.
var transformers = map[string]string{
	"self":                `{"multihead_attention": {"embed_dim": 6, "num_heads": 2, %s}}`,
	"causal":              `{"multihead_attention": {"embed_dim": 6, "num_heads": 2, "causal": true, %s}}`,
	"cross":               `{"multihead_attention": {"embed_dim": 6, "num_heads": 3, "kdim": 5, "vdim": 4, "bias": false, %s}}`,
	"masked":              `{"multihead_attention": {"embed_dim": 6, "num_heads": 2, "inputs": ["query", "key", "key_padding_mask"], %s}}`,
	"added":               `{"multihead_attention": {"embed_dim": 6, "num_heads": 2, "inputs": ["query", "attn_mask"], %s}}`,
	"encoder_layer":       `{"transformer_encoder_layer": {"d_model": 6, "nhead": 2, "dim_feedforward": 10, "dropout": 0, %s}}`,
	"encoder_layer_first": `{"transformer_encoder_layer": {"d_model": 6, "nhead": 2, "dim_feedforward": 10, "dropout": 0, "activation": "gelu", "norm_first": true, "layer_norm_eps": 1e-3, %s}}`,
	"encoder":             `{"transformer_encoder": {"num_layers": 2, "norm": true, "d_model": 6, "nhead": 2, "dim_feedforward": 10, "dropout": 0, "key_padding_mask": true, %s}}`,
	"decoder":             `{"transformer_decoder": {"num_layers": 2, "norm": true, "d_model": 6, "nhead": 2, "dim_feedforward": 10, "dropout": 0, "key_padding_mask": true, "causal": true, %s}}`,
	"decoder_first":       `{"transformer_decoder_layer": {"d_model": 6, "nhead": 3, "dim_feedforward": 10, "dropout": 0, "activation": "gelu", "norm_first": true, %s}}`,
	"rmsnorm":             `{"rmsnorm": {"normalized_shape": [4, 6], "eps": 1e-3, %s}}`,
	"rmsnorm default":     `{"rmsnorm": {"normalized_shape": 6, %s}}`,
}

// ofPyTorch returns the names of a state_dict with those of layer norms as package nn has them.
func ofPyTorch(arrays iter.Seq2[string, storage.Array], m nn.Module) iter.Seq2[string, storage.Array] {
	return func(yield func(string, storage.Array) bool) {
		for name, a := range arrays {
			for path, module := range nn.Modules(m) {
				if _, ok := module.(*nn.LayerNorm); ok && strings.HasPrefix(name, path+".") {
					name = path + "." + map[string]string{"weight": "gamma", "bias": "beta"}[name[len(path)+1:]]
					break
				}
			}
			if !yield(name, a) {
				return
			}
		}
	}
}

// TestTransformersAgreeWithPyTorch loads state_dicts of PyTorch's modules and compares results and all gradients, in two types on the CPU
// and on a GPU.
func TestTransformersAgreeWithPyTorch(t *testing.T) {
	o := openFile(t, "testdata/attention.npz")
	gpu := cudatest.Devices(t, cudatest.Deferred)[0]
	for name, description := range transformers {
		for _, p := range precisions {
			for _, d := range []storage.Device{storage.CPU, gpu} {
				if d == gpu && p.dtype == dtype.Float64 {
					continue // the interpreter is slow
				}
				t.Run(fmt.Sprintf("%s %v %v", name, p, d), func(t *testing.T) {
					m := fromJSON(t, fmt.Sprintf(description, fmt.Sprintf("\"dtype\": %q", p.dtype)))
					if err := nn.LoadStateDict(m, ofPyTorch(o.under(t, name+"/state", p.dtype), m)); err != nil {
						t.Fatal(err)
					}
					if err := nn.To(m, d); err != nil {
						t.Fatal(err)
					}
					err := tensor.Step(func(tape *tensor.Tape) error {
						var xs []*tensor.Tensor
						for i := 0; ; i++ {
							a, ok := o[fmt.Sprintf("%s/x%d", name, i)]
							if !ok {
								break
							}
							if a.Type.IsFloat() {
								a = o.as(t, fmt.Sprintf("%s/x%d", name, i), p.dtype)
								xs = append(xs, tape.Input(to(t, d, a)).RequireGrad())
							} else {
								xs = append(xs, tape.Input(to(t, d, a)))
							}
						}
						y := nn.Call("", m, xs...)[0]
						grads := tensor.Gradients(y, tape.Input(to(t, d, o.as(t, name+"/dy", p.dtype))))
						o.same(t, p, name+"/out", y)
						for i, x := range xs {
							if x.RequiresGrad() {
								o.same(t, p, fmt.Sprintf("%s/dx%d", name, i), grads[x])
							}
						}
						got := map[string]*tensor.Tensor{}
						for param, q := range nn.Parameters(m) {
							got[param] = grads[q.Tensor]
						}
						for param, want := range ofPyTorch(o.under(t, name+"/grads", dtype.Float64), m) {
							near(t, p, param, tensor.Values[float64](got[param]), storage.Elements[float64](want))
						}
						return nil
					})
					if err != nil {
						t.Fatal(err)
					}
				})
			}
		}
	}
}
