package nn

import (
	"fmt"
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// A Loss compares the outputs of a model with targets. Training minimizes its value.
type Loss interface {
	// Forward returns the loss of a batch. The weights, nil or of the targets'
	// leading axes, multiply the loss of each sample or element; a mean is over the
	// sum of the weights. Weights of 0 and 1 are a mask.
	Forward(outputs, targets, weights *tensor.Tensor) Fraction
}

// LabelLoss is implemented by losses whose targets may be class labels, integers
// of shape (N), instead of values.
type LabelLoss interface {
	Loss
	TakesLabels() bool
}

// TakesLabels reports whether the targets of l are class labels.
func TakesLabels(l Loss) bool {
	labels, ok := l.(LabelLoss)
	return ok && labels.TakesLabels()
}

// IgnoredLabel returns the label of samples that l leaves out, or nil.
func IgnoredLabel(l Loss) *int {
	if ignoring, ok := l.(interface{ ignoredLabel() *int }); ok {
		return ignoring.ignoredLabel()
	}
	return nil
}

// IgnoreLabel returns l, a loss of labels, with a label of samples to leave out.
func IgnoreLabel(l Loss, label int) (Loss, error) {
	if ignoring, ok := l.(interface{ ignoring(label int) Loss }); ok {
		return ignoring.ignoring(label), nil
	}
	return nil, fmt.Errorf("loss %T ignores no label: %w", l, ErrConfig)
}

// RegressionLoss is implemented by losses of the differences between outputs and
// targets, which may both be measured in other units.
type RegressionLoss interface {
	Loss
	IsRegression() bool
}

// IsRegression reports whether the targets of l are values, whose differences from the
// outputs count.
func IsRegression(l Loss) bool {
	values, ok := l.(RegressionLoss)
	return ok && values.IsRegression()
}

// Estimator is implemented by losses that take outputs for parameters of a distribution, such as the logarithm of a rate.
type Estimator interface {
	Loss
	// Estimate returns the targets that are expected where a model has these outputs.
	Estimate(outputs *tensor.Tensor) *tensor.Tensor
}

// ComparesElements reports whether l compares each element of the outputs with one of the
// targets, so that both have one shape. It does for regressions and losses with a method
// ComparesElements that returns true.
func ComparesElements(l Loss) bool {
	elements, ok := l.(interface{ ComparesElements() bool })
	return IsRegression(l) || ok && elements.ComparesElements()
}

var losses = factory[Loss]{kind: "loss"}

// RegisterLoss makes losses available to configurations, as RegisterLayer does for
// layers.
func RegisterLoss[S any, L Loss](name string, make func(settings S) L, defaults S) bool {
	return register(&losses, name, make, defaults)
}

// LossFromConfig builds the loss that description describes: "cross_entropy" or
// {"cross_entropy": {"label_smoothing": 0.1}}.
func LossFromConfig(description any) (Loss, error) { return losses.fromConfig(description) }

// DescribeLoss returns the settings of l as LossFromConfig reads them.
func DescribeLoss(l Loss) (any, error) { return losses.describe(l) }

// LossName returns the name of l in configurations, or else its type.
func LossName(l Loss) string { return losses.called(l) }

// checkReduction fails unless reduction is known.
func checkReduction(loss, reduction string) {
	if !slices.Contains([]string{"", "mean", "sum"}, reduction) {
		tensor.Fail(loss, ErrConfig, "reduction %q; want mean or sum", reduction)
	}
}

// reduceLoss returns the weighted mean, or the sum, of the elements of a loss.
func reduceLoss(loss, reduction string, elements, weights *tensor.Tensor) Fraction {
	switch {
	case weights == nil && reduction == "sum":
		return SumFraction(elements.Sum())
	case weights == nil:
		return MeanFraction(elements.Mean(), elements.Len())
	}
	weights = alignWeights(loss, elements, weights, elements.DType())
	sum := elements.Mul(weights).Sum()
	if reduction == "sum" {
		return SumFraction(sum)
	}
	return NewFraction(sum, weights.Sum())
}

// alignWeights returns weights, of the leading axes of elements, in their shape and
// as type t.
func alignWeights(loss string, elements, weights *tensor.Tensor, t dtype.Type) *tensor.Tensor {
	n := weights.Rank()
	if n > elements.Rank() || !slices.Equal(weights.Shape(), elements.Shape()[:n]) {
		tensor.Fail(loss, views.ErrShape, "weights %v for losses %v; want the leading axes", weights.Shape(), elements.Shape())
	}
	shape := slices.Clone(weights.Shape())
	for range elements.Rank() - n {
		shape = append(shape, 1)
	}
	return weights.Reshape(shape...).Cast(t).Expand(elements.Shape()...)
}

// matchTargets returns outputs in at least float32 and targets in the same type. It
// fails unless they have one shape.
func matchTargets(loss string, outputs, targets *tensor.Tensor) (y, t *tensor.Tensor) {
	if !slices.Equal(outputs.Shape(), targets.Shape()) || outputs.Len() == 0 {
		tensor.Fail(loss, views.ErrShape, "outputs %v and targets %v; want one shape, not empty", outputs.Shape(), targets.Shape())
	}
	outputs = outputs.ToFloat32()
	return outputs, targets.Cast(outputs.DType())
}
