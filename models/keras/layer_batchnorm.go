package keras

import (
	"fmt"

	"github.com/h5dnn/h5dnn/models/weights"
)

// BatchNormalization: the same vectors. PyTorch counts batches besides, and has neither
// or both of gamma and beta; ones and zeros stand for the one that Keras leaves out.
// Keras's momentum is the weight of the running statistics, PyTorch's that of the batch.
var _ = registerRule(Rule{
	Class: "BatchNormalization", Counterpart: "nn.BatchNorm1d, 2d, 3d", Layer: "batchnorm1d, 2d, 3d",
	Links: func(l *Layer) ([]weights.Link, error) {
		links, err := affine(l, "moving_mean", "running_mean")
		if err != nil {
			return nil, err
		}
		return append(links,
			linked("moving_variance", "running_var", weights.Same{}),
			weights.Link{From: nil, To: []string{"num_batches_tracked"}, Op: weights.CounterOp{}}), nil
	},
	Module: func(l *Layer) (string, error) {
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
	Renamed:     map[string]string{"weight": "gamma", "bias": "beta", "num_batches_tracked": ""},
	Features:    []string{"gamma", "beta", "moving_mean", "moving_variance"},
	Elementwise: true,
	Samples: []Layer{
		sample("BatchNormalization", map[string]any{}, w("gamma", 4), w("beta", 4), w("moving_mean", 4), w("moving_variance", 4)),
		sample("BatchNormalization", map[string]any{"scale": false}, w("beta", 4), w("moving_mean", 4), w("moving_variance", 4)),
		sample("BatchNormalization", map[string]any{"center": false}, w("gamma", 4), w("moving_mean", 4), w("moving_variance", 4)),
		sample("BatchNormalization", map[string]any{"scale": false, "center": false}, w("moving_mean", 4), w("moving_variance", 4)),
	},
})

// isFalse reports whether a setting is false or, if it is missing, l lacks the weight.
func isFalse(l *Layer, setting, weight string) bool {
	set, err := l.Bool(setting, hasWeight(l, weight))
	return err == nil && !set
}

// affine returns the links of gamma and beta, and of the named statistic, whose length is
// that of a constant in the place of the one that is left out.
func affine(l *Layer, statistic, parameter string) ([]weights.Link, error) {
	scale, err1 := l.Bool("scale", hasWeight(l, "gamma"))
	center, err2 := l.Bool("center", hasWeight(l, "beta"))
	if err := first(err1, err2); err != nil {
		return nil, err
	}
	gamma := linked("gamma", "weight", weights.Same{})
	beta := linked("beta", "bias", weights.Same{})
	mean := linked(statistic, parameter, weights.Same{})
	switch {
	case scale && center:
		return []weights.Link{gamma, beta, mean}, nil
	case scale:
		return []weights.Link{gamma, {From: []string{statistic}, To: []string{"bias", parameter}, Op: weights.ConstantOp{Value: 0}}}, nil
	case center:
		return []weights.Link{{From: []string{statistic}, To: []string{"weight", parameter}, Op: weights.ConstantOp{Value: 1}}, beta}, nil
	}
	return []weights.Link{mean}, nil
}
