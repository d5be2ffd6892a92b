package keras

import (
	"slices"

	"github.com/h5dnn/h5dnn/models/weights"
)

// Embedding: both have a table (vocabulary, width).
var _ = register(class{
	variables: fixed(positions("embeddings")...), settings: always, shapes: embeddingShapes, nodes: embeddingNodes,
	arrays:  shaped(map[string]string{"embeddings": "input_dim output_dim"}),
	pytorch: "nn.Embedding",
	links: func(*Layer) ([]weights.Link, error) {
		return []weights.Link{linked("embeddings", "weight", weights.Same{})}, nil
	},
	call: func(l *Layer) (string, error) {
		text := newCall("nn.Embedding", size(l, "embeddings", 0), size(l, "embeddings", 1)).String()
		if mask, err := l.Bool("mask_zero", false); err != nil || mask {
			return text, notInPyTorch("mask_zero: PyTorch has no masks; pass the lengths of the sequences")
		}
		return text, nil
	},
	samples: []Layer{sample(map[string]any{"input_dim": 7, "output_dim": 3}, w("embeddings", 7, 3))},
}, "Embedding")

func embeddingShapes(l *Layer, in [][]int) ([][]int, error) {
	width, err := l.Int("output_dim", 0)
	return [][]int{append(slices.Clone(in[0]), width)}, err
}

func embeddingNodes(b *builder, u use, in []value) (value, error) {
	count, err1 := u.Int("input_dim", 0)
	width, err2 := u.Int("output_dim", 0)
	zero, err3 := u.Bool("mask_zero", false)
	if zero {
		return value{}, unsupported("mask_zero, by which later layers skip steps")
	}
	v, err4 := b.last(in[0])
	v.node = b.add(u, "", map[string]any{"embedding": map[string]any{"num_embeddings": count, "embedding_dim": width}}, v.node)
	return v, first(err1, err2, err3, err4)
}
