package keras

import (
	"fmt"
	"slices"
)

var (
	_ = register(class{variables: normalized("moving_mean", "moving_variance"), settings: append(centered, map[string]any{"scale": false, "center": false}), nodes: batchNormNodes}, "BatchNormalization")
	_ = register(class{variables: normalized(), settings: centered, nodes: layerNormNodes}, "LayerNormalization")
	_ = register(class{variables: normalized(), settings: centered, nodes: groupNormNodes}, "GroupNormalization")
	_ = register(class{variables: fixed(positions("scale")...), settings: always, nodes: rmsNormNodes}, "RMSNormalization")
	_ = register(class{}, "UnitNormalization")
	_ = register(class{variables: adapted, settings: always, nodes: normalizationNodes}, "Normalization")
)

var centered = []map[string]any{{}, {"scale": false}, {"center": false}}

// adapted are the statistics of a Normalization, unless its settings have them.
func adapted(l *Layer) ([]Variable, error) {
	if l.Config["mean"] != nil {
		return nil, nil
	}
	return []Variable{{Name: "mean", Path: "vars/0"}, {Name: "variance", Path: "vars/1"}, {Name: "count", Path: "vars/2"}}, nil
}

// normalizationNodes adds a batch normalization for statistics of each channel.
func normalizationNodes(b *builder, u use, in []value) (value, error) {
	v := in[0]
	n := len(v.shape)
	axes, err := u.Ints("axis")
	if err != nil {
		return v, err
	}
	switch {
	case u.Config["invert"] == true:
		return v, unsupported("invert")
	case u.Config["mean"] != nil:
		return v, unsupported("mean and variance among the settings")
	case len(axes) != 1 || axis(axes[0], n+1) != n || n > 4 || v.shape[n-1] < 1:
		return v, unsupported("axis %v of an input of shape %v; want the last", axes, v.shape)
	}
	if v, err = b.last(v); err != nil { // flattened features are in the order of Keras
		return v, err
	}
	v = b.toFirst(v)
	v.node = b.add(u, "", map[string]any{fmt.Sprintf("batchnorm%dd", max(1, n-1)): map[string]any{
		"num_features": v.shape[n-1], "eps": 1e-14, "affine": false,
	}}, v.node)
	return v, nil
}

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
