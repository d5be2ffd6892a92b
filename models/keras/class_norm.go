package keras

import (
	"fmt"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/models/weights"
)

// BatchNormalization: the same vectors. PyTorch counts batches besides, and has neither
// or both of gamma and beta; ones and zeros stand for the one that Keras leaves out.
// Keras's momentum is the weight of the running statistics, PyTorch's the weight of the batch.
var _ = register(class{
	variables: normalized("moving_mean", "moving_variance"), settings: append(centered, map[string]any{"scale": false, "center": false}), nodes: batchNormNodes, training: true,
	arrays:  lastAxisVectors("gamma", "beta", "moving_mean", "moving_variance"),
	pytorch: "nn.BatchNorm1d, 2d, 3d",
	links: func(l *Layer) ([]weights.Link, error) {
		links, err := gammaAndBeta(l)
		return append(links, linked("moving_mean", "running_mean", weights.Same{}), linked("moving_variance", "running_var", weights.Same{}),
			weights.Link{To: []string{"num_batches_tracked"}, Op: weights.CounterOp{}}), err
	},
	call: func(l *Layer) (string, error) {
		eps, err1 := l.Float("epsilon", 1e-3)
		momentum, err2 := l.Float("momentum", 0.99)
		if err := first(err1, err2); err != nil {
			return "", err
		}
		axes := "1d"
		if len(l.InputShapes) > 0 && len(l.InputShapes[0]) > 2 {
			axes = fmt.Sprintf("%dd", len(l.InputShapes[0])-1)
		}
		c := newCall("nn.BatchNorm"+axes, size(l, "moving_mean", 0)).set("eps", eps).set("momentum", float32(1-momentum))
		if isFalse(l, "scale", "gamma") && isFalse(l, "center", "beta") {
			c.set("affine", false)
		}
		return c.String(), nil
	},
	renamed:  map[string]string{"weight": "gamma", "bias": "beta", "num_batches_tracked": ""},
	features: []string{"gamma", "beta", "moving_mean", "moving_variance"},
	kept:     true,
	samples: []Layer{
		sample(map[string]any{}, w("gamma", 4), w("beta", 4), w("moving_mean", 4), w("moving_variance", 4)),
		sample(map[string]any{"scale": false}, w("beta", 4), w("moving_mean", 4), w("moving_variance", 4)),
		sample(map[string]any{"center": false}, w("gamma", 4), w("moving_mean", 4), w("moving_variance", 4)),
		sample(map[string]any{"scale": false, "center": false}, w("moving_mean", 4), w("moving_variance", 4)),
	},
}, "BatchNormalization")

// isFalse reports whether a setting is false or, if it is missing, l lacks the weight.
func isFalse(l *Layer, setting, weight string) bool {
	set, err := l.Bool(setting, hasWeight(l, weight))
	return err == nil && !set
}

// gammaAndBeta returns the links of both. Where Keras leaves one out, ones or zeros stand for it.
func gammaAndBeta(l *Layer) ([]weights.Link, error) {
	scale, err1 := l.Bool("scale", hasWeight(l, "gamma"))
	center, err2 := l.Bool("center", hasWeight(l, "beta"))
	switch err := first(err1, err2); {
	case err != nil:
		return nil, err
	case scale && center:
		return []weights.Link{linked("gamma", "weight", weights.Same{}), linked("beta", "bias", weights.Same{})}, nil
	case scale:
		return []weights.Link{{From: []string{"gamma"}, To: []string{"weight", "bias"}, Op: weights.ConstantOp{Value: 0, Last: true}}}, nil
	case center:
		return []weights.Link{{From: []string{"beta"}, To: []string{"weight", "bias"}, Op: weights.ConstantOp{Value: 1}}}, nil
	}
	return nil, nil
}

// LayerNormalization and RMSNormalization: the same vectors.
var (
	_ = register(class{
		variables: normalized(), settings: centered, nodes: layerNormNodes,
		arrays: func(l *Layer, _ int) map[string][]int {
			axes, err := l.Ints("axis")
			if n := max(1, len(axes)); err == nil && len(l.InputShapes) > 0 && n <= len(l.InputShapes[0]) {
				shape := l.InputShapes[0][len(l.InputShapes[0])-n:]
				return map[string][]int{"gamma": shape, "beta": shape}
			}
			return nil
		},
		pytorch: "nn.LayerNorm",
		links: func(l *Layer) ([]weights.Link, error) {
			if rms, err := l.Bool("rms_scaling", false); err != nil || rms {
				return nil, first(err, notInPyTorch("rms_scaling"))
			}
			if err := lastAxes(l, "gamma", "beta"); err != nil {
				return nil, err
			}
			links, err := gammaAndBeta(l)
			if len(links) == 1 && links[0].From[0] == "gamma" { // nn.LayerNorm may lack the bias alone
				links[0] = linked("gamma", "weight", weights.Same{})
			}
			return links, err
		},
		call: func(l *Layer) (string, error) {
			eps, err := l.Float("epsilon", 1e-3)
			if err != nil {
				return "", err
			}
			c := newCall("nn.LayerNorm", normalizedShape(l, "gamma", "beta")).set("eps", eps)
			noScale, noCenter := isFalse(l, "scale", "gamma"), isFalse(l, "center", "beta")
			switch {
			case noScale && noCenter:
				c.set("elementwise_affine", false)
			case noCenter:
				c.set("bias", false)
			}
			return c.String(), nil
		},
		renamed:  map[string]string{"weight": "gamma", "bias": "beta"},
		features: []string{"gamma", "beta"}, kept: true,
		samples: []Layer{
			sample(map[string]any{}, w("gamma", 4), w("beta", 4)),
			sample(map[string]any{"axis": []any{-2.0, -1.0}}, w("gamma", 3, 4), w("beta", 3, 4)),
			sample(map[string]any{"scale": false}, w("beta", 4)),
			sample(map[string]any{"center": false}, w("gamma", 4)),
			{Class: "LayerNormalization", Name: "norm", Config: map[string]any{"scale": false, "center": false}, InputShapes: [][]int{{4}}},
		},
	}, "LayerNormalization")
	_ = register(class{
		variables: fixed(positions("scale")...), settings: always, nodes: rmsNormNodes,
		arrays:  lastAxisVectors("scale"),
		pytorch: "nn.RMSNorm",
		links: func(l *Layer) ([]weights.Link, error) {
			return []weights.Link{linked("scale", "weight", weights.Same{})}, lastAxes(l, "scale")
		},
		call: func(l *Layer) (string, error) {
			eps, err := l.Float("epsilon", 1e-6)
			return newCall("nn.RMSNorm", normalizedShape(l, "scale")).set("eps", eps).String(), err
		},
		features: []string{"scale"}, kept: true,
		samples: []Layer{sample(map[string]any{}, w("scale", 4))},
	}, "RMSNormalization")
)

// lastAxes fails unless l normalizes over the last axes, as PyTorch does.
func lastAxes(l *Layer, weights ...string) error {
	axes, err := l.Ints("axis")
	if err != nil || axes == nil {
		return err
	}
	rank := 0
	if len(l.InputShapes) > 0 {
		rank = len(l.InputShapes[0]) + 1
	}
	for i, axis := range axes {
		want := i - len(axes)
		if axis != want && (rank == 0 || axis != rank+want) && !(rank == 0 && axis > 0) {
			return notInPyTorch("axis %v, which is not the last", axes)
		}
	}
	return nil
}

// normalizedShape returns the shape of the first of the weights that l has, as Python writes it.
func normalizedShape(l *Layer, weights ...string) string {
	for _, name := range weights {
		if have, ok := l.Weight(name); ok {
			return python(have.Array.Shape)
		}
	}
	if len(l.InputShapes) > 0 && len(l.InputShapes[0]) > 0 {
		shape := l.InputShapes[0]
		axes, _ := l.Ints("axis") // which the links check
		return strings.ReplaceAll(python(shape[max(0, len(shape)-max(1, len(axes))):]), "-1", "?")
	}
	return "?"
}

// GroupNormalization: the same vectors. PyTorch has both of them or none.
var _ = register(class{
	variables: normalized(), settings: centered, nodes: groupNormNodes,
	arrays:  lastAxisVectors("gamma", "beta"),
	pytorch: "nn.GroupNorm",
	links:   gammaAndBeta,
	call: func(l *Layer) (string, error) {
		eps, err1 := l.Float("epsilon", 1e-3)
		groups, err2 := l.Int("groups", 32)
		channels := normalizedShape(l, "gamma", "beta")
		if groups == -1 {
			return newCall("nn.GroupNorm", channels, channels).set("eps", eps).String(), first(err1, err2)
		}
		return newCall("nn.GroupNorm", groups, channels).set("eps", eps).String(), first(err1, err2)
	},
	samples: []Layer{
		sample(map[string]any{"groups": 2}, w("gamma", 4), w("beta", 4)),
		sample(map[string]any{"groups": 2, "scale": false}, w("beta", 4)),
		sample(map[string]any{"groups": 2, "center": false}, w("gamma", 4)),
	},
}, "GroupNormalization")

var _ = register(class{kept: true}, "UnitNormalization")

var centered = []map[string]any{{}, {"scale": false}, {"center": false}}

// axis returns an axis of Keras, counted from 0 with the batch.
func axis(setting, rank int) int {
	if setting < 0 {
		return setting + rank
	}
	return setting
}

func batchNormNodes(b *builder, u use, in []value) (value, error) {
	v := in[0]
	n := len(v.shape)
	axes, err := u.Ints("axis")
	if err != nil {
		return v, err
	}
	at := n
	if len(axes) == 1 {
		at = axis(axes[0], n+1)
	}
	switch {
	case len(axes) > 1 || at != n && at != 1 || n > 4:
		return v, unsupported("axis %v of an input of shape %v", axes, v.shape)
	case at == n:
		v = b.toFirst(v)
	default: // channels first, n > 1
		v.outer = true
		if v, err = b.last(v); err != nil {
			return v, err
		}
	}
	if u.Config["renorm"] == true {
		return v, unsupported("renorm")
	}
	eps, err1 := u.Float("epsilon", 1e-3)
	momentum, err2 := u.Float("momentum", 0.99)
	scale, err3 := u.Bool("scale", true)
	center, err4 := u.Bool("center", true)
	features := v.shape[at-1]
	if features < 1 {
		return v, fmt.Errorf("the number of channels is not known: %w", ErrConfig)
	}
	layer := fmt.Sprintf("batchnorm%dd", max(1, n-1))
	v.node = b.add(u, "", map[string]any{layer: map[string]any{
		"num_features": features, "eps": eps, "momentum": float64(float32(1 - momentum)), "affine": scale || center,
	}}, v.node)
	return v, first(err1, err2, err3, err4)
}

func layerNormNodes(b *builder, u use, in []value) (value, error) {
	v := in[0]
	n := len(v.shape)
	axes, err := u.Ints("axis")
	if err != nil {
		return v, err
	}
	if axes == nil {
		axes = []int{-1}
	}
	for i := range axes {
		axes[i] = axis(axes[i], n+1)
	}
	slices.Sort(axes)
	for i, a := range axes {
		if a != n-len(axes)+1+i {
			return v, unsupported("axis %v of an input of shape %v; want the last axes", axes, v.shape)
		}
	}
	if n > 1 {
		if v, err = b.last(v); err != nil {
			return v, err
		}
	}
	if u.Config["rms_scaling"] == true {
		return v, unsupported("rms_scaling")
	}
	shape := v.shape[n-len(axes):]
	if product(shape) < 1 {
		return v, fmt.Errorf("the shape that it normalizes, %v, is not known: %w", shape, ErrConfig)
	}
	eps, err1 := u.Float("epsilon", 1e-3)
	scale, err2 := u.Bool("scale", true)
	center, err3 := u.Bool("center", true)
	v.node = b.add(u, "", map[string]any{"layernorm": map[string]any{"normalized_shape": shape, "eps": eps, "affine": scale || center}}, v.node)
	return v, first(err1, err2, err3)
}

func rmsNormNodes(b *builder, u use, in []value) (value, error) {
	n := len(in[0].shape)
	axes, err1 := u.Ints("axis")
	eps, err2 := u.Float("epsilon", 1e-6)
	v, err3 := b.last(in[0])
	switch err := first(err1, err2, err3); {
	case err != nil:
		return v, err
	case len(axes) > 1 || len(axes) == 1 && axis(axes[0], n+1) != n:
		return v, unsupported("axis %v of an input of shape %v; want the last", axes, v.shape)
	}
	v.node = b.add(u, "", map[string]any{"rmsnorm": map[string]any{"normalized_shape": v.shape[n-1:], "eps": eps}}, v.node)
	return v, nil
}

func groupNormNodes(b *builder, u use, in []value) (value, error) {
	v := b.toFirst(in[0])
	groups, err1 := u.Int("groups", 32)
	eps, err2 := u.Float("epsilon", 1e-3)
	channels := v.shape[len(v.shape)-1]
	if groups == -1 {
		groups = channels
	}
	v.node = b.add(u, "", map[string]any{"groupnorm": map[string]any{"num_groups": groups, "num_channels": channels, "eps": eps}}, v.node)
	return v, first(err1, err2)
}

// lastAxisVectors returns shapes of vectors of the features, for a layer that normalizes the last axis.
func lastAxisVectors(names ...string) func(*Layer, int) map[string][]int {
	return func(l *Layer, features int) map[string][]int {
		at, err := l.Int("axis", -1)
		if err != nil || at != -1 && (len(l.InputShapes) == 0 || at != len(l.InputShapes[0])) {
			return nil
		}
		shapes := map[string][]int{}
		for _, name := range names {
			shapes[name] = []int{features}
		}
		return shapes
	}
}
