package keras

import "github.com/h5dnn/h5dnn/models/weights"

// Embedding: both have a table (vocabulary, width).
var _ = registerRule(Rule{
	Class: "Embedding", Counterpart: "nn.Embedding", Layer: "embedding",
	Links: func(*Layer) ([]weights.Link, error) {
		return []weights.Link{linked("embeddings", "weight", weights.Same{})}, nil
	},
	Module: func(l *Layer) (string, error) {
		text := newCall("nn.Embedding", size(l, "embeddings", 0), size(l, "embeddings", 1)).String()
		if mask, err := l.Bool("mask_zero", false); err != nil || mask {
			return text, notInPyTorch("mask_zero: PyTorch has no masks; pass the lengths of the sequences")
		}
		return text, nil
	},
	Samples: []Layer{sample("Embedding", map[string]any{"input_dim": 7, "output_dim": 3}, w("embeddings", 7, 3))},
})
