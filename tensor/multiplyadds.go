package tensor

import "github.com/h5dnn/h5dnn/storage"

// MultiplyAdds returns the number of multiply-adds of the operations that the step has run on
// [Meta]: of convolutions, products of matrices, recurrent layers and attention. One multiply-add counts
// once. Biases, activations, normalisation, pooling and all other operations count as 0. A nil Tape has run none.
func (t *Tape) MultiplyAdds() int {
	if t == nil {
		return 0
	}
	return t.multiplyAdds
}

// multiplyAdds returns the number of multiply-adds of op.
func multiplyAdds(op Op, out, in []storage.Array) int {
	switch op.(type) {
	case conv: // w is (out, in/groups, …)
		return out[0].Len() * in[1].Len() / max(1, in[1].Shape[0])
	case convTranspose: // w is (in, out/groups, …)
		return in[0].Len() * in[1].Len() / max(1, in[1].Shape[0])
	case convWeights: // the operands are x and the gradient of y, the result has the shape of w
		return in[1].Len() * out[0].Len() / max(1, out[0].Shape[0])
	case matmul, *linear:
		return out[0].Len() * in[0].Shape[in[0].Rank()-1]
	case *recurrent: // x is (T, N, gates·hidden) and holds the products of the inputs
		return in[0].Shape[0] * in[0].Shape[1] * in[1].Len()
	case *blockAttention: // q·kᵀ and its product with v, for the S keys of (N, heads, S, size); masks save none
		return (in[0].Len() + out[0].Len()) * in[1].Shape[2]
	}
	return 0
}
