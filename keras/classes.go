package keras

import "github.com/h5dnn/h5dnn/checkpoint"

// A class is what is known about a class of layers.
type class struct {
	// variables returns the variables of a layer; nil if it has none.
	variables func(l *checkpoint.Layer) ([]Variable, error)
}

var classes = map[string]class{}

// register makes classes known.
func register(c class, names ...string) bool {
	for _, name := range names {
		classes[name] = c
	}
	return true
}

// fixed returns the same variables for every layer.
func fixed(list ...Variable) func(*checkpoint.Layer) ([]Variable, error) {
	return func(*checkpoint.Layer) ([]Variable, error) { return list, nil }
}

var (
	_ = register(class{variables: weighted("kernel")}, "Dense", "Conv1D", "Conv2D", "Conv3D",
		"Conv1DTranspose", "Conv2DTranspose", "Conv3DTranspose", "DepthwiseConv1D", "DepthwiseConv2D")
	_ = register(class{variables: weighted("depthwise_kernel", "pointwise_kernel")}, "SeparableConv1D", "SeparableConv2D")
	_ = register(class{variables: normalized("moving_mean", "moving_variance")}, "BatchNormalization")
	_ = register(class{variables: normalized()}, "LayerNormalization", "GroupNormalization")
	_ = register(class{variables: fixed(positions("scale")...)}, "RMSNormalization")
	_ = register(class{variables: fixed(positions("embeddings")...)}, "Embedding")
	_ = register(class{variables: fixed(positions("alpha")...)}, "PReLU")
	_ = register(class{variables: recurrent}, "LSTM", "GRU", "SimpleRNN", "ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D")
	_ = register(class{variables: bidirectional}, "Bidirectional")
	_ = register(class{variables: timeDistributed}, "TimeDistributed")
	_ = register(class{variables: multiHeadAttention}, "MultiHeadAttention")
	_ = register(class{variables: einsumDense}, "EinsumDense")
	_ = register(class{variables: fixed(Variable{"mean", "vars/0", false}, Variable{"variance", "vars/1", false}, Variable{"count", "vars/2", false})}, "Normalization")
	_ = register(class{}, "InputLayer", "Flatten", "Dropout", "SpatialDropout1D", "SpatialDropout2D", "SpatialDropout3D",
		"GaussianNoise", "GaussianDropout", "AlphaDropout", "ActivityRegularization", "Identity", "Masking",
		"Activation", "ReLU", "LeakyReLU", "ELU", "Softmax",
		"Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum", "Concatenate", "Dot",
		"MaxPooling1D", "MaxPooling2D", "MaxPooling3D", "AveragePooling1D", "AveragePooling2D", "AveragePooling3D",
		"GlobalMaxPooling1D", "GlobalMaxPooling2D", "GlobalMaxPooling3D",
		"GlobalAveragePooling1D", "GlobalAveragePooling2D", "GlobalAveragePooling3D",
		"ZeroPadding1D", "ZeroPadding2D", "ZeroPadding3D", "Cropping1D", "Cropping2D", "Cropping3D",
		"UpSampling1D", "UpSampling2D", "UpSampling3D", "Reshape", "Permute", "RepeatVector", "Rescaling")
)

// einsumDense has a bias if it has axes for it.
func einsumDense(l *checkpoint.Layer) ([]Variable, error) {
	if l.Config["bias_axes"] == nil {
		return positions("kernel"), nil
	}
	return positions("kernel", "bias"), nil
}
