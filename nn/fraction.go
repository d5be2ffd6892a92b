package nn

import "github.com/h5dnn/h5dnn/tensor"

// A Fraction is the loss of a batch as numerator and denominator. The loss of a batch that is computed
// in parts is the sum of their numerators divided by the sum of their denominators, and its gradient is
//
//	Σ denominator·∇value / Σ denominator
//
// over the parts. A sum has no denominator: the values of parts, and their gradients, are added.
type Fraction struct {
	value, numerator, denominator *tensor.Tensor // numerator and denominator are nil where count tells them
	count                         int
}

// NewFraction returns numerator/denominator, two single elements, such as the weighted sum of a loss and
// the sum of the weights. Where the denominator is 0, the value is the numerator: if everything is masked,
// the loss is 0.
func NewFraction(numerator, denominator *tensor.Tensor) Fraction {
	denominator = denominator.Detach()
	return Fraction{value: divideByWeight(numerator, denominator), numerator: numerator, denominator: denominator}
}

// MeanFraction returns the mean of n elements that count alike, as many for each sample.
func MeanFraction(mean *tensor.Tensor, n int) Fraction { return Fraction{value: mean, count: n} }

// SumFraction returns a loss that nothing divides.
func SumFraction(sum *tensor.Tensor) Fraction { return Fraction{value: sum, numerator: sum} }

// Value returns the loss of the batch, a single element: numerator/denominator.
func (f Fraction) Value() *tensor.Tensor { return f.value }

// IsSum reports whether nothing divides the numerator.
func (f Fraction) IsSum() bool { return f.count == 0 && f.denominator == nil }

// IsMean reports whether the denominator is the number of samples times a constant.
func (f Fraction) IsMean() bool { return f.count > 0 }

// Scale returns the loss times a weight, with the same denominator.
func (f Fraction) Scale(weight float64) Fraction {
	if weight == 1 {
		return f
	}
	f.value = f.value.MulScalar(weight)
	if f.numerator != nil {
		f.numerator = f.numerator.MulScalar(weight)
	}
	return f
}

// Numerator returns the sum that parts of a batch add.
func (f Fraction) Numerator() *tensor.Tensor {
	if f.IsMean() {
		return f.value.MulScalar(float64(f.count))
	}
	return f.numerator
}

// Denominator returns the weight that parts of a batch add, without a gradient, or nil for a sum.
func (f Fraction) Denominator() *tensor.Tensor {
	if f.IsMean() {
		return tensor.FullLike(f.value.Detach(), float64(f.count))
	}
	return f.denominator
}

// divideByWeight returns sum/weight, and sum where weight is 0.
func divideByWeight(sum, weight *tensor.Tensor) *tensor.Tensor {
	return sum.Div(weight.Add(weight.EqScalar(0).Cast(weight.DType())))
}
