package nn

import (
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// TransformerEncoderLayer is attention of x (N, T, DModel) to itself, and then two products of each step, each added to
// its input and normalized (Vaswani et al., arXiv:1706.03762). Its parameters are those of PyTorch's layer.
type TransformerEncoderLayer struct {
	TransformerOptions
	deferred
	SelfAttn *MultiHeadAttention
	feedForward
	Norm1, Norm2       Module
	Dropout1, Dropout2 *Dropout
}

// NewTransformerEncoderLayer returns a layer, built if DModel is given. NHead is required.
func NewTransformerEncoderLayer(o TransformerOptions) *TransformerEncoderLayer {
	return newEncoderLayer(withDefaults(o, transformerDefaults))
}

func newEncoderLayer(o TransformerOptions) *TransformerEncoderLayer {
	l := &TransformerEncoderLayer{TransformerOptions: o}
	l.check("transformer_encoder_layer")
	l.prepare("transformer_encoder_layer", o.DModel > 0, l.deferral(l, l.make))
	return l
}

func (l *TransformerEncoderLayer) make(Allocator) {
	var inputs []string
	if l.InputMask {
		inputs = []string{"query", "key_padding_mask"}
	}
	o := l.TransformerOptions
	l.SelfAttn, l.feedForward = o.attention(true, inputs...), o.feedForward()
	l.Norm1, l.Norm2, l.Dropout1, l.Dropout2 = o.norm(), o.norm(), o.drop(), o.drop()
}

// Forward returns the layer's result for x.
func (l *TransformerEncoderLayer) Forward(x *tensor.Tensor) *tensor.Tensor { return ForwardOne(l, x) }

// ForwardAll returns the result for x and, if the layer has one, a mask.
func (l *TransformerEncoderLayer) ForwardAll(inputs []*tensor.Tensor) []*tensor.Tensor {
	wantInputs("transformer_encoder_layer", inputs, 1, l.InputMask)
	l.buildFor("transformer_encoder_layer", inputs[0])
	x := l.part("norm1", l.Norm1, l.Dropout1, inputs[0], func(x *tensor.Tensor) *tensor.Tensor {
		return single("self_attn", Call("self_attn", l.SelfAttn, append([]*tensor.Tensor{x}, inputs[1:]...)...))
	})
	return []*tensor.Tensor{l.part("norm2", l.Norm2, l.Dropout2, x, func(x *tensor.Tensor) *tensor.Tensor { return l.apply(x, l.Activation) })}
}

// wantInputs fails unless there are n inputs, and one more where there is a mask.
func wantInputs(layer string, inputs []*tensor.Tensor, n int, mask bool) {
	if mask {
		n++
	}
	if len(inputs) != n {
		tensor.Fail(layer, views.ErrShape, "%d inputs; want %d", len(inputs), n)
	}
}

var _ = RegisterLayer("transformer_encoder_layer", newEncoderLayer, transformerDefaults)
