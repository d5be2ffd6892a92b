package keras

import (
	"fmt"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/checkpoint"
)

var (
	_ = register(class{variables: weighted("kernel"), settings: biased, shapes: denseShapes, nodes: denseNodes}, "Dense")
	_ = register(class{variables: einsumDense, settings: []map[string]any{{}, {"bias_axes": "a"}}, shapes: einsumShapes}, "EinsumDense")
	_ = register(class{variables: fixed(positions("embeddings")...), settings: always, shapes: embeddingShapes, nodes: embeddingNodes}, "Embedding")
)

// einsumDense has a bias if it has axes for it.
func einsumDense(l *checkpoint.Layer) ([]Variable, error) {
	if l.Config["bias_axes"] == nil {
		return positions("kernel"), nil
	}
	return positions("kernel", "bias"), nil
}

// einsumShapes returns the sizes of output_shape. Those that it leaves out are those of the input
// with the same subscript in the equation.
func einsumShapes(l *checkpoint.Layer, in [][]int) ([][]int, error) {
	equation, err := l.Text("equation", "")
	from, rest, ok1 := strings.Cut(equation, ",")
	_, to, ok2 := strings.Cut(rest, "->")
	list, isList := l.Config["output_shape"].([]any)
	if !isList {
		list = []any{l.Config["output_shape"]}
	}
	if err != nil || !ok1 || !ok2 || len(to) != len(list)+1 || len(from) != len(in[0])+1 || strings.Contains(equation, ".") {
		return nil, first(err, unsupported("equation %q for an input of shape %v", equation, in[0]))
	}
	shape := make([]int, len(list))
	for i, size := range list {
		at := strings.IndexByte(from, to[i+1]) - 1 // without the batch
		switch n, given := size.(float64); {
		case given:
			shape[i] = int(n)
		case at < 0:
			return nil, unsupported("output_shape %v", list)
		default:
			shape[i] = in[0][at]
		}
	}
	return [][]int{shape}, nil
}

func denseShapes(l *checkpoint.Layer, in [][]int) ([][]int, error) {
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
	b.kernels[u.path] = checkpoint.ReshapeOp([]int{units, in}, append([]int{units, in}, one...))
	return v, nil
}

func embeddingShapes(l *checkpoint.Layer, in [][]int) ([][]int, error) {
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
func fixed(list ...Variable) func(*checkpoint.Layer) ([]Variable, error) {
	return func(*checkpoint.Layer) ([]Variable, error) { return list, nil }
}
