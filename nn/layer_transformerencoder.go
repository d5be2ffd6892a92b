package nn

import (
	"strconv"

	"github.com/h5dnn/h5dnn/tensor"
)

// TransformerStackOptions are the settings of a TransformerEncoder or TransformerDecoder.
type TransformerStackOptions struct {
	NumLayers int  `json:"num_layers"`     // required
	Norm      bool `json:"norm,omitempty"` // normalize after the last layer
	TransformerOptions
}

var stackDefaults = TransformerStackOptions{TransformerOptions: transformerDefaults}

// TransformerEncoder applies encoder layers one after another. Its parameters are those of PyTorch's module.
type TransformerEncoder struct {
	TransformerStackOptions `nn:"-"`
	deferred
	Layers    []*TransformerEncoderLayer
	FinalNorm Module `nn:"norm"` // nil without
}

// NewTransformerEncoder returns an encoder, built if DModel is given. NumLayers and NHead are required.
func NewTransformerEncoder(o TransformerStackOptions) *TransformerEncoder {
	o.TransformerOptions = withDefaults(o.TransformerOptions, transformerDefaults)
	return newEncoder(o)
}

func newEncoder(o TransformerStackOptions) *TransformerEncoder {
	e := &TransformerEncoder{TransformerStackOptions: o}
	e.checkStack("transformer_encoder")
	e.prepare("transformer_encoder", o.DModel > 0, e.deferral(e, func(Allocator) {
		e.Layers, e.FinalNorm = stackOf(e.TransformerStackOptions, newEncoderLayer)
	}))
	return e
}

// checkStack fails for settings that no input could satisfy.
func (o TransformerStackOptions) checkStack(layer string) {
	const most = 1 << 12
	if o.NumLayers < 1 || o.NumLayers > most {
		tensor.Fail(layer, ErrConfig, "num_layers %d; want 1 to %d", o.NumLayers, most)
	}
	o.check(layer)
}

// stackOf returns the layers of a stack and its last normalization.
func stackOf[L Module](o TransformerStackOptions, make func(TransformerOptions) L) (layers []L, norm Module) {
	for range o.NumLayers {
		layers = append(layers, make(o.TransformerOptions))
	}
	if o.Norm {
		norm = o.TransformerOptions.norm()
	}
	return layers, norm
}

// stacked applies layers to x, each with the other inputs, and norm unless it is nil.
func stacked[L Module](layers []L, norm Module, inputs []*tensor.Tensor) []*tensor.Tensor {
	x, others := inputs[0], inputs[1:]
	for i, l := range layers {
		x = single("layers", callOne(strconv.Itoa(i), l, append([]*tensor.Tensor{x}, others...)))
	}
	if norm != nil {
		x = call("norm", norm, x)
	}
	return []*tensor.Tensor{x}
}

// callOne is Call of a layer of a stack.
func callOne(index string, m Module, inputs []*tensor.Tensor) []*tensor.Tensor {
	out, _ := callBefore(nil, "layers."+index, m, inputs)
	return out
}

// Forward returns the result of the last layer for x (N, T, DModel).
func (e *TransformerEncoder) Forward(x *tensor.Tensor) *tensor.Tensor { return ForwardOne(e, x) }

// ForwardAll returns the result for x and, if the layers have one, a mask.
func (e *TransformerEncoder) ForwardAll(inputs []*tensor.Tensor) []*tensor.Tensor {
	wantInputs("transformer_encoder", inputs, 1, e.InputMask)
	e.buildFor("transformer_encoder", inputs[0])
	return stacked(e.Layers, e.FinalNorm, inputs)
}

var _ = RegisterLayer("transformer_encoder", newEncoder, stackDefaults)
