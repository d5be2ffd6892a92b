package keras

import (
	"slices"

	"github.com/h5dnn/h5dnn/models/weights"
)

// Embedding: both have a table (vocabulary, width).
var _ = register(class{
	variables: fixed(positions("embeddings")...), module: embeddingModule, outputs: embeddingOutputs, anyType: true,
	shapes: func(l *settings, in [][]int) [][]int {
		return [][]int{append(slices.Clone(in[0]), l.Int("output_dim", 0))}
	},
	arrays: shaped(map[string]string{"embeddings": "input_dim output_dim"}),
	links: func(*settings) []weights.Link {
		return []weights.Link{linked("embeddings", "weight", weights.Same)}
	},
	reverse: map[string]reversal{"embedding": func(r *reverser, l *settings, in []tensor) tensor {
		rows := r.layer("Embedding", l.Name, map[string]any{"input_dim": l.Int("num_embeddings", 0), "output_dim": l.Int("embedding_dim", 0)}, in[0])
		rows.rank++
		return rows
	}},
	samples: []Layer{sample(map[string]any{"input_dim": 7, "output_dim": 3}, w("embeddings", 7, 3))},
}, "Embedding")

func embeddingModule(l *settings, _ [][]int) *module {
	m := constructed("embedding", "nn.Embedding num_embeddings embedding_dim", map[string]any{})
	m.size("num_embeddings", l.sizeOr(l.Int("input_dim", 0), "embeddings", 0)).size("embedding_dim", l.sizeOr(l.Int("output_dim", 0), "embeddings", 1))
	if l.Bool("mask_zero", false) {
		m.differs = notInPyTorch("mask_zero: PyTorch has no masks; pass the lengths of the sequences")
	}
	return m
}

// embeddingOutputs adds an embedding, and the mask of integers that are not 0.
func embeddingOutputs(b *builder, l *settings, in []value) []value {
	tokens := b.index(b.last(in[0]))
	rows := b.module(l, tokens, embeddingModule(l, nil))
	rows.mask, rows.dtype, rows.inputs = "", "", nil
	if l.Bool("mask_zero", false) {
		rows.mask = b.add(l, "mask", "masking", tokens.node) + ".1"
	}
	return []value{rows}
}
