package nn

import "github.com/h5dnn/h5dnn/tensor"

// TransformerDecoder applies decoder layers one after another, each to the memory, too. Its parameters are those of PyTorch's module.
type TransformerDecoder struct {
	TransformerStackOptions `nn:"-"`
	Layers                  []*TransformerDecoderLayer
	FinalNorm               Module `nn:"norm"` // nil without
}

// NewTransformerDecoder returns a decoder. NumLayers, DModel and NHead are required.
func NewTransformerDecoder(o TransformerStackOptions) *TransformerDecoder {
	o.TransformerOptions = withDefaults(o.TransformerOptions, transformerDefaults)
	return newDecoder(o)
}

func newDecoder(o TransformerStackOptions) *TransformerDecoder {
	d := &TransformerDecoder{TransformerStackOptions: o}
	d.Layers, d.FinalNorm = stackOf("transformer_decoder", o, newDecoderLayer)
	return d
}

// Forward fails: a decoder takes x and memory.
func (d *TransformerDecoder) Forward(x *tensor.Tensor) *tensor.Tensor { return ForwardOne(d, x) }

// ForwardAll returns the result for x (N, T, DModel), memory (N, S, DModel) and, if the layers have one, the mask of the memory.
func (d *TransformerDecoder) ForwardAll(inputs []*tensor.Tensor) []*tensor.Tensor {
	wantMade("transformer_decoder", len(d.Layers) > 0)
	wantInputs("transformer_decoder", inputs, 2, d.InputMask)
	return stacked(d.Layers, d.FinalNorm, inputs)
}

var _ = RegisterLayer("transformer_decoder", newDecoder, stackDefaults)
