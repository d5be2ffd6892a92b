package keras

import (
	"fmt"
	"slices"

	"github.com/h5dnn/h5dnn/models/weights"
)

// Dense: kernel (in, out) is the transpose of Linear's weight (out, in).
var _ = register(class{
	variables: weighted("kernel"), settings: biased, shapes: denseShapes, nodes: denseNodes, activated: true, order: denseOrder,
	arrays:  shaped(map[string]string{"kernel": "features units", "bias": "units"}),
	pytorch: "nn.Linear",
	links: func(l *Layer) ([]weights.Link, error) {
		return biasedLinks(l, linked("kernel", "weight", weights.TransposeOp(1, 0)))
	},
	call: func(l *Layer) (string, error) {
		return linear(l), nil
	},
	features: []string{"kernel"},
	samples: []Layer{
		sample(map[string]any{"units": 5, "use_bias": true}, w("kernel", 3, 5), w("bias", 5)),
		sample(map[string]any{"units": 5, "use_bias": false}, w("kernel", 3, 5)),
	},
}, "Dense")

func linear(l *Layer) string {
	c := newCall("nn.Linear", size(l, "kernel", 0), size(l, "kernel", 1))
	if bias, _ := l.Bool("use_bias", hasWeight(l, "bias")); !bias {
		c.set("bias", false)
	}
	return c.String()
}

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

// fixed returns the same variables for every layer.
func fixed(list ...Variable) func(*Layer) ([]Variable, error) {
	return func(*Layer) ([]Variable, error) { return list, nil }
}
