package weights

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/h5dnn/h5dnn/config"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// FoldOp returns the Op that folds a batch normalization into the layer before it. It takes the weight, whose output
// channels are an axis, the bias if there is one, and gamma, beta, mean and variance, and makes
//
//	weight·s and (bias − mean)·s + beta, where s = gamma/√(variance + epsilon)
//
// It has no inverse.
func FoldOp(axis int, epsilon float64) Op {
	name := fmt.Sprintf("fold(%d: %v)", axis, epsilon)
	return oneWay(name, func(from []storage.Array) ([]storage.Array, error) {
		folded, err := fold(from, axis, epsilon)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return folded, nil
	})
}

// fold returns the weight and the bias.
func fold(from []storage.Array, axis int, epsilon float64) ([]storage.Array, error) {
	if len(from) != 5 && len(from) != 6 {
		return nil, fmt.Errorf("%d arrays; want the weight, the bias if there is one, gamma, beta, mean and variance: %w", len(from), views.ErrShape)
	}
	weight, vectors := from[0], from[1:]
	axis, err := views.Axis(axis, weight.Rank())
	if err != nil {
		return nil, err
	}
	if len(vectors) == 4 {
		vectors = append([]storage.Array{Zeros(weight.Type, weight.Shape[axis])}, vectors...)
	}
	for _, a := range from {
		if !a.Type.IsFloat() {
			return nil, fmt.Errorf("%v: %w", a.Type, dtype.ErrType)
		}
	}
	for _, v := range vectors {
		if !slices.Equal(v.Shape, []int{weight.Shape[axis]}) {
			return nil, fmt.Errorf("a vector of shape %v for axis %d of %v: %w", v.Shape, axis, weight.Shape, views.ErrShape)
		}
	}
	bias, gamma, beta, mean, variance := vectors[0], vectors[1], vectors[2], vectors[3], vectors[4]
	channels := []int{weight.Shape[axis]}
	scale := combine(dtype.Float64, channels, func(x, y []float64) {
		for i := range x {
			x[i] /= math.Sqrt(y[i] + epsilon)
		}
	}, gamma, variance)
	centred := combine(dtype.Float64, channels, func(x, y []float64) {
		for i := range x {
			x[i] -= y[i]
		}
	}, bias, mean)
	shifted, err := Add(combine(dtype.Float64, channels, product, centred, scale), Cast(beta, dtype.Float64))
	if err != nil {
		return nil, err
	}
	wide, err := alongAxis(scale, axis, weight.Shape)
	if err != nil {
		return nil, err
	}
	return []storage.Array{combine(weight.Type, weight.Shape, product, weight, wide), Cast(shifted, weight.Type)}, nil
}

func product(x, y []float64) {
	for i := range x {
		x[i] *= y[i]
	}
}

// alongAxis returns a vector as an array of that shape, which repeats it along all other axes.
func alongAxis(v storage.Array, axis int, shape []int) (storage.Array, error) {
	column := slices.Repeat([]int{1}, len(shape))
	column[axis] = shape[axis]
	a, err := Reshape(v, column...)
	if err != nil {
		return a, err
	}
	view, ok := a.Broadcast(shape...)
	if !ok {
		return a, fmt.Errorf("a vector of shape %v along axis %d of %v: %w", v.Shape, axis, shape, views.ErrShape)
	}
	return a.With(view), nil
}

// parseFold reads the arguments of fold.
func parseFold(text, rest string) (Op, error) {
	axis, epsilon, ok := strings.Cut(rest, ":")
	if !ok {
		axis, epsilon = "0", rest
	}
	at, err1 := strconv.Atoi(strings.TrimSpace(axis))
	eps, err2 := strconv.ParseFloat(strings.TrimSpace(epsilon), 64)
	if err1 != nil || err2 != nil || !(eps >= 0) || math.IsInf(eps, 0) {
		return Op{}, config.Errorf("%q; want the epsilon of the normalization, such as fold 1e-5, or the axis of output channels, too: fold -1: 1e-3", text)
	}
	return FoldOp(at, eps), nil
}
