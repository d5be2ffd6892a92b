package nn

import "github.com/h5dnn/h5dnn/tensor"

// TransformerDecoderLayer is attention of x (N, T, DModel) to itself, attention to memory (N, S, DModel), and then two products of each
// step (Vaswani et al., arXiv:1706.03762). Its parameters are those of PyTorch's layer.
type TransformerDecoderLayer struct {
	TransformerOptions
	deferred
	SelfAttn, MultiheadAttn *MultiHeadAttention
	feedForward
	Norm1, Norm2, Norm3          Module
	Dropout1, Dropout2, Dropout3 *Dropout
}

// NewTransformerDecoderLayer returns a layer, built if DModel is given. NHead is required.
func NewTransformerDecoderLayer(o TransformerOptions) *TransformerDecoderLayer {
	return newDecoderLayer(withDefaults(o, transformerDefaults))
}

func newDecoderLayer(o TransformerOptions) *TransformerDecoderLayer {
	l := &TransformerDecoderLayer{TransformerOptions: o}
	l.check("transformer_decoder_layer")
	l.prepare("transformer_decoder_layer", o.DModel > 0, l.deferral(l, l.make))
	return l
}

func (l *TransformerDecoderLayer) make(Allocator) {
	memory := []string{"query", "key"}
	if l.InputMask {
		memory = append(memory, "key_padding_mask")
	}
	o := l.TransformerOptions
	l.SelfAttn, l.MultiheadAttn, l.feedForward = o.attention(true), o.attention(false, memory...), o.feedForward()
	l.Norm1, l.Norm2, l.Norm3 = o.norm(), o.norm(), o.norm()
	l.Dropout1, l.Dropout2, l.Dropout3 = o.drop(), o.drop(), o.drop()
}

// Forward fails: a decoder layer takes x and memory.
func (l *TransformerDecoderLayer) Forward(x *tensor.Tensor) *tensor.Tensor { return ForwardOne(l, x) }

// ForwardAll returns the result for x, memory and, if the layer has one, the mask of the memory.
func (l *TransformerDecoderLayer) ForwardAll(inputs []*tensor.Tensor) []*tensor.Tensor {
	wantInputs("transformer_decoder_layer", inputs, 2, l.InputMask)
	l.buildFor("transformer_decoder_layer", inputs[0])
	x := l.part("norm1", l.Norm1, l.Dropout1, inputs[0], func(x *tensor.Tensor) *tensor.Tensor { return call("self_attn", l.SelfAttn, x) })
	x = l.part("norm2", l.Norm2, l.Dropout2, x, func(x *tensor.Tensor) *tensor.Tensor {
		return single("multihead_attn", Call("multihead_attn", l.MultiheadAttn, append([]*tensor.Tensor{x}, inputs[1:]...)...))
	})
	return []*tensor.Tensor{l.part("norm3", l.Norm3, l.Dropout3, x, func(x *tensor.Tensor) *tensor.Tensor { return l.apply(x, l.Activation) })}
}

var _ = RegisterLayer("transformer_decoder_layer", newDecoderLayer, transformerDefaults)
