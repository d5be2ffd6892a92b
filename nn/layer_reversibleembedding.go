package nn

import "github.com/h5dnn/h5dnn/tensor"

// ReversibleEmbedding is an Embedding that gives floats (…, dim) their products with all rows: (…, num). A graph that shares it at its end
// has the weights of its tokens and of its outputs in common (Press and Wolf, arXiv:1608.05859).
type ReversibleEmbedding struct{ Embedding }

// NewReversibleEmbedding returns a ReversibleEmbedding. NumEmbeddings and EmbeddingDim are required.
func NewReversibleEmbedding(o EmbeddingOptions) *ReversibleEmbedding {
	return &ReversibleEmbedding{*NewEmbedding(o)}
}

// Forward returns the rows of x, or its products with all rows.
func (r *ReversibleEmbedding) Forward(x *tensor.Tensor) *tensor.Tensor {
	if x.DType().IsInt() || r.Weight == nil {
		return r.Embedding.Forward(x)
	}
	checkFeatures("reversible_embedding", x)
	checkInput("reversible_embedding", x, r.Weight.Tensor, x.Rank()-1, r.EmbeddingDim)
	return tensor.Linear(x, r.Weight.Tensor, nil, tensor.NoActivation)
}

var _ = RegisterLayer("reversible_embedding", NewReversibleEmbedding, EmbeddingOptions{})
