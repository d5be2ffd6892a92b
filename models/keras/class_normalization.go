package keras

import (
	"fmt"

	"github.com/h5dnn/h5dnn/models/weights"
)

// Normalization: the statistics that Keras has adapted to data, as those of a batch
// normalization in evaluation mode. Keras divides by at least normalizationEpsilon.
var _ = register(class{
	variables: adapted, settings: always, nodes: normalizationNodes,
	pytorch: "nn.BatchNorm1d, 2d, 3d with affine=False",
	links: func(l *Layer) ([]weights.Link, error) {
		if l.Config["mean"] != nil {
			return nil, notInPyTorch("mean and variance among the settings; scale the inputs")
		}
		if mean, ok := l.Weight("mean"); ok && mean.Array.Rank() != 1 {
			return nil, notInPyTorch("statistics of shape %v; PyTorch has one for each channel", mean.Array.Shape)
		}
		return []weights.Link{
			linked("mean", "running_mean", weights.Same{}),
			linked("variance", "running_var", weights.Same{}),
			linked("count", "num_batches_tracked", weights.Same{}), // of samples there, of batches here
		}, nil
	},
	call: func(l *Layer) (string, error) {
		axes := "1d"
		if len(l.InputShapes) > 0 && len(l.InputShapes[0]) > 2 {
			axes = fmt.Sprintf("%dd", len(l.InputShapes[0])-1)
		}
		return newCall("nn.BatchNorm"+axes, size(l, "mean", 0)).set("eps", normalizationEpsilon).set("affine", false).String(), nil
	},
	renamed:  map[string]string{"num_batches_tracked": ""},
	features: []string{"mean", "variance"},
	kept:     true,
	samples:  []Layer{sample(map[string]any{}, w("mean", 4), w("variance", 4), w("count"))},
}, "Normalization")

// normalizationEpsilon is the square of the least standard deviation, 1e-7.
const normalizationEpsilon = 1e-14

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
