package nn

import (
	"maps"
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// TransformerOptions are the settings of the layers of transformers, with PyTorch's names and defaults.
type TransformerOptions struct {
	DModel         int            `json:"d_model,omitempty"`          // features; taken from the first input if 0
	NHead          int            `json:"nhead"`                      // heads; required
	DimFeedforward int            `json:"dim_feedforward"`            // features of the middle layer; 2048 if 0
	Dropout        float64        `json:"dropout"`                    // probability, of weights of attention and of features; 0.1 if 0
	Activation     string         `json:"activation"`                 // of the middle layer: relu (or empty), gelu, gelu_tanh or silu
	LayerNormEps   float64        `json:"layer_norm_eps"`             // 1e-5 if 0
	NormFirst      bool           `json:"norm_first,omitempty"`       // normalize before each part, not after it
	NormType       string         `json:"norm_type,omitempty"`        // layernorm (or empty) or rmsnorm
	Causal         bool           `json:"causal,omitempty"`           // whether a step takes the steps before it alone
	NumKVHeads     int            `json:"num_kv_heads,omitempty"`     // as of multihead_attention
	RotaryBase     float64        `json:"rotary_base,omitempty"`      // as of multihead_attention
	InputMask      bool           `json:"key_padding_mask,omitempty"` // whether a further input is nonzero where steps fill up a sequence
	DType          dtype.Type     `json:"dtype,omitzero"`             // the first input's if absent; float32 if d_model is given
	Device         storage.Device `json:"-" nn:"-"`                   // the first input's if nil; the CPU if d_model is given
}

var transformerDefaults = TransformerOptions{DimFeedforward: 2048, Dropout: 0.1, Activation: "relu", LayerNormEps: 1e-5}

// transformerActivations are the activations of the middle layer.
var transformerActivations = map[string]FusableActivation{"": ReLU{}, "relu": ReLU{}, "gelu": GELU{}, "gelu_tanh": GELU{GELUOptions{Approximate: "tanh"}}, "silu": SiLU{}}

// check fails for settings that no input could satisfy.
func (o TransformerOptions) check(layer string) {
	if o.DModel < 0 || o.NHead < 1 || o.DimFeedforward < 1 {
		tensor.Fail(layer, ErrConfig, "d_model %d, nhead %d, dim_feedforward %d; want at least 1 of each", o.DModel, o.NHead, o.DimFeedforward)
	}
}

// deferral returns how layer is built by make.
func (o *TransformerOptions) deferral(layer Module, make func(Allocator)) deferral {
	return deferral{layer, &o.Device, &o.DType, func(x *tensor.Tensor) { o.DModel = features(x) }, make}
}

// attention returns the attention of a layer; causal and the rotary positions are those of its own steps.
func (o TransformerOptions) attention(own bool, inputs ...string) *MultiHeadAttention {
	a := MultiHeadAttentionOptions{EmbedDim: o.DModel, NumHeads: o.NHead, Dropout: o.Dropout, NumKVHeads: o.NumKVHeads, Inputs: inputs, DType: o.DType, Device: o.Device}
	if own {
		a.Causal, a.RotaryBase = o.Causal, o.RotaryBase
	}
	return NewMultiHeadAttention(a)
}

// norm returns a normalization of the features.
func (o TransformerOptions) norm() Module {
	switch o.NormType {
	case "", "layernorm":
		return newLayerNorm(LayerNormOptions{NormalizedShape: Sizes{o.DModel}, Eps: o.LayerNormEps, DType: o.DType, Device: o.Device})
	case "rmsnorm":
		return NewRMSNorm(RMSNormOptions{NormalizedShape: Sizes{o.DModel}, Eps: o.LayerNormEps, DType: o.DType, Device: o.Device})
	}
	tensor.Fail("transformer", ErrConfig, "norm_type %q; want layernorm or rmsnorm", o.NormType)
	return nil
}

func (o TransformerOptions) drop() *Dropout { return newDropout(DropoutOptions{P: o.Dropout}) }

// A feedForward is the two products of a layer of transformers.
type feedForward struct {
	Linear1, Linear2 *Linear
	Drop             *Dropout `nn:"dropout"` // between the two
}

func (o TransformerOptions) feedForward() feedForward {
	if _, ok := transformerActivations[o.Activation]; !ok {
		tensor.Fail("transformer", ErrConfig, "activation %q; want one of %v", o.Activation, slices.Sorted(maps.Keys(transformerActivations))[1:])
	}
	product := func(in, out int) *Linear {
		return NewLinear(LinearOptions{InFeatures: in, OutFeatures: out, DType: o.DType, Device: o.Device})
	}
	return feedForward{product(o.DModel, o.DimFeedforward), product(o.DimFeedforward, o.DModel), o.drop()}
}

// apply returns Linear2(dropout(activation(Linear1(x)))).
func (f feedForward) apply(x *tensor.Tensor, activation string) *tensor.Tensor {
	act := transformerActivations[activation]
	h, fused := callBefore(act, "linear1", f.Linear1, []*tensor.Tensor{x})
	if x = h[0]; !fused {
		x = act.Forward(x)
	}
	return call("linear2", f.Linear2, f.Drop.Forward(x))
}

// part returns x + dropout(f(norm(x))), or norm(x + dropout(f(x))) unless the norm is first.
func (o TransformerOptions) part(name string, norm Module, drop *Dropout, x *tensor.Tensor, f func(x *tensor.Tensor) *tensor.Tensor) *tensor.Tensor {
	if o.NormFirst {
		return x.Add(drop.Forward(f(call(name, norm, x))))
	}
	return call(name, norm, x.Add(drop.Forward(f(x))))
}
