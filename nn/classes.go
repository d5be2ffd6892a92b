package nn

import (
	"slices"
	"sync"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// classVectors keeps, for each device, what losses and metrics compare labels with.
type classVectors struct{ made sync.Map } // of *classVector by classKey

type classKey struct {
	device  storage.Device
	dtype   dtype.Type
	classes int
}

// A classVector is the constants for outputs of one type and number of classes.
type classVector struct {
	zero    *tensor.Tensor // of the outputs' type
	indices *tensor.Tensor // (1, classes): 0, 1, …
	weights *tensor.Tensor // (classes), of the outputs' type; nil if all are 1
}

// of returns the constants for outputs (N, classes), with the weights of the owner's classes, if it has any.
func (c *classVectors) of(owner string, outputs *tensor.Tensor, weights ...float64) *classVector {
	key := classKey{outputs.Device(), outputs.DType(), outputs.Shape()[1]}
	if have, ok := c.made.Load(key); ok {
		return have.(*classVector)
	}
	indices := make([]int64, key.classes)
	for i := range indices {
		indices[i] = int64(i)
	}
	v := &classVector{
		zero:    tensor.FromSlice([]float64{0}, 1).To(key.dtype, key.device),
		indices: tensor.FromSlice(indices, 1, key.classes).To(key.device),
	}
	if weights != nil {
		if len(weights) != key.classes {
			tensor.Fail(owner, views.ErrShape, "%d class weights for %d classes", len(weights), key.classes)
		}
		v.weights = tensor.FromSlice(weights, key.classes).To(key.dtype, key.device)
	}
	c.made.Store(key, v)
	return v
}

// isLabel returns which class each label is, as bools (N, classes).
func (v *classVector) isLabel(labels *tensor.Tensor) *tensor.Tensor {
	return labels.Reshape(labels.Len(), 1).Cast(dtype.Int64).Eq(v.indices)
}

// labelRows returns outputs (N, classes, …) as rows (M, classes) and their labels (N, …), integers, as (M): a
// row for each label. The weights, nil or of the leading axes of the labels, are (M) or nil.
func labelRows(owner string, outputs, labels, weights *tensor.Tensor) (rows, flat, w *tensor.Tensor) {
	if outputs.Rank() < 2 || !labels.DType().IsInt() || !slices.Equal(labels.Shape(), slices.Delete(slices.Clone(outputs.Shape()), 1, 2)) {
		tensor.Fail(owner, views.ErrShape, "outputs %v and labels %v of %v; want (N, classes, …) and (N, …) integers", outputs.Shape(), labels.Shape(), labels.DType())
	}
	if weights != nil {
		weights = alignWeights(owner, labels, weights, weights.DType())
	}
	if labels.Rank() == 1 {
		return outputs, labels, weights
	}
	if weights != nil {
		weights = weights.Contiguous().Reshape(labels.Len())
	}
	return classRows(outputs), labels.Contiguous().Reshape(labels.Len()), weights
}

// classRows returns x (N, classes, …) as (M, classes).
func classRows(x *tensor.Tensor) *tensor.Tensor {
	n := x.Rank()
	if n == 2 {
		return x
	}
	axes := make([]int, n)
	for i := range axes {
		axes[i] = i + 1
	}
	axes[0], axes[n-1] = 0, 1
	classes := x.Shape()[1]
	return x.Permute(axes...).Contiguous().Reshape(x.Len()/classes, classes)
}
