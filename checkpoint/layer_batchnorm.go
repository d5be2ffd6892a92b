package checkpoint

import (
	"fmt"

	"github.com/h5dnn/h5dnn/internal/errkind"
	"github.com/h5dnn/h5dnn/storage"
)

// BatchNormalization: the same vectors. PyTorch counts batches besides, and has neither
// or both of gamma and beta; ones and zeros stand for the one that Keras leaves out.
// Keras's momentum is the weight of the running statistics, PyTorch's that of the batch.
var _ = register(Rule{
	Class: "BatchNormalization", Counterpart: "nn.BatchNorm1d, 2d, 3d", Layer: "batchnorm1d, 2d, 3d",
	Links: func(l *Layer) ([]Link, error) {
		links, err := affine(l, "moving_mean", "running_mean")
		if err != nil {
			return nil, err
		}
		return append(links,
			Link{[]string{"moving_variance"}, []string{"running_var"}, Same{}},
			Link{nil, []string{"num_batches_tracked"}, CounterOp{}}), nil
	},
	Module: func(l *Layer) (string, error) {
		eps, err1 := l.Float("epsilon", 1e-3)
		momentum, err2 := l.Float("momentum", 0.99)
		if err := firstOf(err1, err2); err != nil {
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
func affine(l *Layer, statistic, parameter string) ([]Link, error) {
	scale, err1 := l.Bool("scale", hasWeight(l, "gamma"))
	center, err2 := l.Bool("center", hasWeight(l, "beta"))
	if err := firstOf(err1, err2); err != nil {
		return nil, err
	}
	gamma := Link{[]string{"gamma"}, []string{"weight"}, Same{}}
	beta := Link{[]string{"beta"}, []string{"bias"}, Same{}}
	mean := Link{[]string{statistic}, []string{parameter}, Same{}}
	switch {
	case scale && center:
		return []Link{gamma, beta, mean}, nil
	case scale:
		return []Link{gamma, {[]string{statistic}, []string{"bias", parameter}, ConstantOp{0}}}, nil
	case center:
		return []Link{{[]string{statistic}, []string{"weight", parameter}, ConstantOp{1}}, beta}, nil
	}
	return []Link{mean}, nil
}

// ConstantOp is the Op of an array that comes with a constant of its shape in the other
// framework. Backward fails if it is not constant.
type ConstantOp struct{ Value int }

// Forward returns the constant and the array.
func (o ConstantOp) Forward(from []storage.Array) ([]storage.Array, error) {
	if err := count(o, from, 1); err != nil {
		return nil, err
	}
	constant := Constant(from[0].Type, o.Value, from[0].Shape...)
	return []storage.Array{constant, from[0]}, nil
}

// Backward drops the constant.
func (o ConstantOp) Backward(to []storage.Array) ([]storage.Array, error) {
	if err := count(o, to, 2); err != nil {
		return nil, err
	}
	elems, err := storage.Read[float64](to[0])
	if err != nil {
		return nil, err
	}
	for _, x := range elems {
		if x != float64(o.Value) {
			return nil, errkind.Errorf(ErrUnsupported, "a gamma or beta of %v, for a layer of Keras without one, which stands for %d", x, o.Value)
		}
	}
	return to[1:], nil
}

// ForwardSlots returns zeros for the constant, which no optimizer has changed.
func (o ConstantOp) ForwardSlots(from []storage.Array) ([]storage.Array, error) {
	return ConstantOp{0}.Forward(from)
}

// BackwardSlots drops those of the constant.
func (o ConstantOp) BackwardSlots(to []storage.Array) ([]storage.Array, error) {
	if err := count(o, to, 2); err != nil {
		return nil, err
	}
	return to[1:], nil
}

func (o ConstantOp) String() string { return fmt.Sprintf("copy, with %ds", o.Value) }

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
