package keras

import (
	"strings"

	"github.com/h5dnn/h5dnn/models/weights"
)

// LayerNormalization and RMSNormalization: the same vectors.
var (
	_ = registerRule(Rule{
		Class: "LayerNormalization", Counterpart: "nn.LayerNorm", Layer: "layernorm",
		Links: func(l *Layer) ([]weights.Link, error) {
			if rms, err := l.Bool("rms_scaling", false); err != nil || rms {
				return nil, first(err, notInPyTorch("rms_scaling"))
			}
			if err := lastAxes(l, "gamma", "beta"); err != nil {
				return nil, err
			}
			scale, err1 := l.Bool("scale", hasWeight(l, "gamma"))
			center, err2 := l.Bool("center", hasWeight(l, "beta"))
			gamma := linked("gamma", "weight", weights.Same{})
			beta := linked("beta", "bias", weights.Same{})
			switch {
			case err1 != nil || err2 != nil:
				return nil, first(err1, err2)
			case scale && center:
				return []weights.Link{gamma, beta}, nil
			case scale:
				return []weights.Link{gamma}, nil
			case center:
				return []weights.Link{weights.Link{From: []string{"beta"}, To: []string{"weight", "bias"}, Op: weights.ConstantOp{Value: 1}}}, nil
			}
			return nil, nil
		},
		Module: func(l *Layer) (string, error) {
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
		Renamed:  map[string]string{"weight": "gamma", "bias": "beta"},
		Features: []string{"gamma", "beta"}, Elementwise: true,
		Samples: []Layer{
			sample("LayerNormalization", map[string]any{}, w("gamma", 4), w("beta", 4)),
			sample("LayerNormalization", map[string]any{"axis": []any{-2.0, -1.0}}, w("gamma", 3, 4), w("beta", 3, 4)),
			sample("LayerNormalization", map[string]any{"scale": false}, w("beta", 4)),
			sample("LayerNormalization", map[string]any{"center": false}, w("gamma", 4)),
			{Class: "LayerNormalization", Name: "norm", Config: map[string]any{"scale": false, "center": false}, InputShapes: [][]int{{4}}},
		},
	})
	_ = registerRule(Rule{
		Class: "RMSNormalization", Counterpart: "nn.RMSNorm",
		Links: func(l *Layer) ([]weights.Link, error) {
			return []weights.Link{linked("scale", "weight", weights.Same{})}, lastAxes(l, "scale")
		},
		Module: func(l *Layer) (string, error) {
			eps, err := l.Float("epsilon", 1e-6)
			return newCall("nn.RMSNorm", normalizedShape(l, "scale")).set("eps", eps).String(), err
		},
		Features: []string{"scale"}, Elementwise: true,
		Samples: []Layer{sample("RMSNormalization", map[string]any{}, w("scale", 4))},
	})
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
