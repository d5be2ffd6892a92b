package nn

import "github.com/h5dnn/h5dnn/tensor"

// TransformerDecoder applies decoder layers one after another, each to the memory, too. Its parameters are those of PyTorch's module.
type TransformerDecoder struct {
	TransformerStackOptions `nn:"-"`
	deferred
	Layers    []*TransformerDecoderLayer
	FinalNorm Module `nn:"norm"` // nil without
}

// NewTransformerDecoder returns a decoder, built if DModel is given. NumLayers and NHead are required.
func NewTransformerDecoder(o TransformerStackOptions) *TransformerDecoder {
	o.TransformerOptions = withDefaults(o.TransformerOptions, transformerDefaults)
	return newDecoder(o)
}

func newDecoder(o TransformerStackOptions) *TransformerDecoder {
	d := &TransformerDecoder{TransformerStackOptions: o}
	d.checkStack("transformer_decoder")
	d.prepare("transformer_decoder", o.DModel > 0, d.deferral(d, func(Allocator) {
		d.Layers, d.FinalNorm = stackOf(d.TransformerStackOptions, newDecoderLayer)
	}))
	return d
}

// Forward fails: a decoder takes x and memory.
func (d *TransformerDecoder) Forward(x *tensor.Tensor) *tensor.Tensor { return ForwardOne(d, x) }

// ForwardAll returns the result for x (N, T, DModel), memory (N, S, DModel) and, if the layers have one, the mask of the memory.
func (d *TransformerDecoder) ForwardAll(inputs []*tensor.Tensor) []*tensor.Tensor {
	wantInputs("transformer_decoder", inputs, 2, d.InputMask)
	d.buildFor("transformer_decoder", inputs[0])
	return stacked(d.Layers, d.FinalNorm, inputs)
}

var _ = RegisterLayer("transformer_decoder", newDecoder, stackDefaults)
