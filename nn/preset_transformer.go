package nn

// encoder returns the stack of a preset, normalized first as in all later transformers.
func encoder(width, layers, heads int, causal bool, eps float64) *TransformerEncoder {
	return NewTransformerEncoder(TransformerStackOptions{NumLayers: layers, Norm: true, TransformerOptions: TransformerOptions{
		DModel: width, NHead: heads, DimFeedforward: 4 * width, Activation: "gelu", NormFirst: true, Causal: causal, LayerNormEps: eps,
	}})
}

// textLength is the number of tokens that presets have positions for.
const textLength = 256

// textClassifier classifies bytes (N, T) by the mean over their steps of a transformer encoder.
func textClassifier(classes int) Module {
	const width = 128
	return Sequential{
		NewEmbedding(EmbeddingOptions{NumEmbeddings: 256, EmbeddingDim: width}),
		NewPositions(PositionsOptions{MaxLen: textLength, EmbeddingDim: width}),
		NewDropout(DropoutOptions{P: 0.1}), encoder(width, 2, 4, false, 1e-5),
		NewPermute(PermuteOptions{Axes: Sizes{2, 1}}), GlobalAvgPool1d{}, Flatten{}, lazyDense(classes),
	}
}

// gpt predicts the token after each of (N, T): logits (N, tokens, T) (Radford et al., 2019). Tokens and outputs have their weights in common.
func gpt(tokens int) Module {
	const width = 256
	table := NewReversibleEmbedding(EmbeddingOptions{NumEmbeddings: tokens, EmbeddingDim: width, Initializer: "xavier_normal"})
	return NewGraph(GraphOptions{Nodes: Nodes{
		{Name: "tokens", Module: table},
		{Name: "positions", Module: NewPositions(PositionsOptions{MaxLen: textLength, EmbeddingDim: width})},
		{Name: "dropout", Module: NewDropout(DropoutOptions{P: 0.1})},
		{Name: "blocks", Module: encoder(width, 4, 4, true, 1e-5)},
		{Name: "head", Module: table},
		{Name: "logits", Module: NewPermute(PermuteOptions{Axes: Sizes{2, 1}})},
	}})
}

// visionTransformer classifies images by a class token before the patches of an image, of the given size (Dosovitskiy et al.,
// arXiv:2010.11929, with the sizes of Touvron et al., arXiv:2012.12877).
func visionTransformer(patch, classes int) Module {
	const width, most = 192, 14 * 14
	return Sequential{
		NewConv2d(ConvOptions{OutChannels: width, KernelSize: Sizes{patch}, Stride: Sizes{patch}}),
		NewReshape(ReshapeOptions{Shape: Sizes{width, -1}}), NewPermute(PermuteOptions{Axes: Sizes{2, 1}}),
		NewClassToken(ClassTokenOptions{EmbeddingDim: width}), NewPositions(PositionsOptions{MaxLen: most + 1, EmbeddingDim: width}),
		encoder(width, 12, 3, false, 1e-6), NewSelect(SelectOptions{}), lazyDense(classes),
	}
}
