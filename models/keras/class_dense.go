package keras

import (
	"fmt"
	"slices"

	"github.com/h5dnn/h5dnn/models/weights"
)

var (
	_ = register(class{variables: weighted("kernel"), settings: biased, shapes: denseShapes, nodes: denseNodes}, "Dense")
	_ = register(class{variables: fixed(positions("embeddings")...), settings: always, shapes: embeddingShapes, nodes: embeddingNodes}, "Embedding")
)

func denseShapes(l *Layer, in [][]int) ([][]int, error) {
	units, err := l.Int("units", 0)
	if err == nil && (units < 1 || len(in[0]) == 0) {
		err = unsupported("%d units for an input of shape %v", units, in[0])
	}
	if err != nil {
		return nil, err
	}
	shape := slices.Clone(in[0])
	shape[len(shape)-1] = units
	return [][]int{shape}, nil
}

// denseNodes adds a dense layer for vectors. For the last axis of a larger sample it is a
// convolution over windows of one element.
func denseNodes(b *builder, u use, in []value) (value, error) {
	v := in[0]
	kernel, again := b.kernels[u.path]
	if _, emitted := b.emitted[u.path+"/"]; emitted && again != (len(v.shape) > 1) {
		return v, unsupported("inputs of %d axes and of another number", len(v.shape))
	}
	if len(v.shape) > 1 {
		v, err := b.pointwise(u, v)
		if err == nil && again && kernel.String() != b.kernels[u.path].String() {
			err = unsupported("inputs of %d axes and of another number", len(v.shape))
		}
		return v, err
	}
	units, err1 := u.Int("units", 0)
	bias, err2 := u.Bool("use_bias", true)
	layer := map[string]any{"out_features": units, "bias": bias}
	if n := v.shape[len(v.shape)-1]; n > 0 {
		layer["in_features"] = n
	}
	v.node, v.flat, v.parts = b.add(u, "", map[string]any{"dense": layer}, v.node), nil, nil
	return v, first(err1, err2)
}

func (b *builder) pointwise(u use, v value) (value, error) {
	axes := len(v.shape) - 1
	in := v.shape[axes]
	units, err1 := u.Int("units", 0)
	bias, err2 := u.Bool("use_bias", true)
	if err := first(err1, err2); err != nil {
		return v, err
	}
	if axes > 3 || in < 1 {
		return v, unsupported("an input of shape %v", v.shape)
	}
	v = b.toFirst(v)
	one := slices.Repeat([]int{1}, axes)
	v.node = b.add(u, "", map[string]any{fmt.Sprintf("conv%dd", axes): map[string]any{"in_channels": in, "out_channels": units, "kernel_size": one, "bias": bias}}, v.node)
	b.kernels[u.path] = weights.ReshapeOp([]int{units, in}, append([]int{units, in}, one...))
	return v, nil
}

func embeddingShapes(l *Layer, in [][]int) ([][]int, error) {
	width, err := l.Int("output_dim", 0)
	return [][]int{append(slices.Clone(in[0]), width)}, err
}

func embeddingNodes(b *builder, u use, in []value) (value, error) {
	count, err1 := u.Int("input_dim", 0)
	width, err2 := u.Int("output_dim", 0)
	zero, err3 := u.Bool("mask_zero", false)
	if zero {
		return value{}, unsupported("mask_zero, by which later layers skip steps")
	}
	v, err4 := b.last(in[0])
	v.node = b.add(u, "", map[string]any{"embedding": map[string]any{"num_embeddings": count, "embedding_dim": width}}, v.node)
	return v, first(err1, err2, err3, err4)
}

// fixed returns the same variables for every layer.
func fixed(list ...Variable) func(*Layer) ([]Variable, error) {
	return func(*Layer) ([]Variable, error) { return list, nil }
}
