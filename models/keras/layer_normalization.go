package keras

import (
	"fmt"

	"github.com/h5dnn/h5dnn/models/weights"
)

// Normalization: the statistics that Keras has adapted to data, as those of a batch
// normalization in evaluation mode. Keras divides by at least normalizationEpsilon.
var _ = registerRule(Rule{
	Class: "Normalization", Counterpart: "nn.BatchNorm1d, 2d, 3d with affine=False", Layer: "batchnorm1d, 2d, 3d",
	Links: func(l *Layer) ([]weights.Link, error) {
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
	Module: func(l *Layer) (string, error) {
		axes := "1d"
		if len(l.InputShapes) > 0 && len(l.InputShapes[0]) > 2 {
			axes = fmt.Sprintf("%dd", len(l.InputShapes[0])-1)
		}
		return newCall("nn.BatchNorm"+axes, size(l, "mean", 0)).set("eps", normalizationEpsilon).set("affine", false).String(), nil
	},
	Renamed:     map[string]string{"num_batches_tracked": ""},
	Features:    []string{"mean", "variance"},
	Elementwise: true,
	Samples:     []Layer{sample("Normalization", map[string]any{}, w("mean", 4), w("variance", 4), w("count"))},
})

// normalizationEpsilon is the square of the least standard deviation, 1e-7.
const normalizationEpsilon = 1e-14
