package nn

import (
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// CosineEmbeddingLossOptions are the settings of a CosineEmbeddingLoss.
type CosineEmbeddingLossOptions struct {
	Margin    float64 `json:"margin,omitempty"`    // cosines of unlike pairs below it cost nothing
	Reduction string  `json:"reduction,omitempty"` // mean (or empty) or sum
}

// CosineLoss is the mean of 1 − cos(output, target), the cosine of the angle between vectors along axis 1.
type CosineLoss struct{ LossOptions }

// CosineEmbeddingLoss is the mean over pairs of 1 − cos where the target is 1, and of max(0, cos − margin) where it is −1,
// for outputs (N, 2, features), the two vectors of a pair, and targets (N). It is PyTorch's CosineEmbeddingLoss.
type CosineEmbeddingLoss struct{ CosineEmbeddingLossOptions }

// NewCosineLoss returns a cosine loss.
func NewCosineLoss(o LossOptions) CosineLoss {
	checkReduction("cosine", o.Reduction)
	return CosineLoss{o}
}

// NewCosineEmbeddingLoss returns a cosine embedding loss.
func NewCosineEmbeddingLoss(o CosineEmbeddingLossOptions) CosineEmbeddingLoss {
	checkRange("cosine_embedding", "margin", o.Margin, -1, 1)
	checkReduction("cosine_embedding", o.Reduction)
	return CosineEmbeddingLoss{o}
}

// cosineEps is added to squares of lengths, as in PyTorch's CosineEmbeddingLoss.
const cosineEps = 1e-12

// cosine returns the cosines between vectors along axis 1.
func cosine(x, y *tensor.Tensor) *tensor.Tensor {
	lengths := x.Square().Sum(1).AddScalar(cosineEps).Mul(y.Square().Sum(1).AddScalar(cosineEps))
	return x.Mul(y).Sum(1).Div(lengths.Sqrt())
}

// Forward returns the mean of 1 − cos.
func (l CosineLoss) Forward(outputs, targets, weights *tensor.Tensor) Fraction {
	y, t := matchTargets("cosine", outputs, targets)
	return reduceLoss("cosine", l.Reduction, cosine(y, t).RSubScalar(1), weights)
}

// Forward returns the loss of pairs.
func (l CosineEmbeddingLoss) Forward(outputs, targets, weights *tensor.Tensor) Fraction {
	if outputs.Rank() != 3 || outputs.Shape()[1] != 2 || targets.Len() != outputs.Shape()[0] {
		tensor.Fail("cosine_embedding", views.ErrShape, "outputs %v and targets %v; want (N, 2, features) and (N)", outputs.Shape(), targets.Shape())
	}
	x := outputs.ToFloat32()
	cos := cosine(x.Select(1, 0), x.Select(1, 1))
	alike := targets.Reshape(targets.Len()).GtScalar(0)
	return reduceLoss("cosine_embedding", l.Reduction, tensor.Where(alike, cos.RSubScalar(1), cos.AddScalar(-l.Margin).ReLU()), weights)
}

// ComparesElements returns true.
func (CosineLoss) ComparesElements() bool { return true }

var (
	_ = RegisterLoss("cosine", NewCosineLoss, LossOptions{})
	_ = RegisterLoss("cosine_embedding", NewCosineEmbeddingLoss, CosineEmbeddingLossOptions{})
	_ = losses.aliases("cosine", "cosine_similarity")
)
