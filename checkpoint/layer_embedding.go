package checkpoint

// Embedding: both have a table (vocabulary, width).
var _ = register(Rule{
	Class: "Embedding", Counterpart: "nn.Embedding", Layer: "embedding",
	Links: func(*Layer) ([]Link, error) {
		return []Link{{[]string{"embeddings"}, []string{"weight"}, Same{}}}, nil
	},
	Module: func(l *Layer) (string, error) {
		text := newCall("nn.Embedding", size(l, "embeddings", 0), size(l, "embeddings", 1)).String()
		if mask, err := l.Bool("mask_zero", false); err != nil || mask {
			return text, unsupported("mask_zero: PyTorch has no masks; pass the lengths of the sequences")
		}
		return text, nil
	},
	Samples: []Layer{sample("Embedding", map[string]any{"input_dim": 7, "output_dim": 3}, w("embeddings", 7, 3))},
})
