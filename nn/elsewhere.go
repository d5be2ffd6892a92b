package nn

import "github.com/h5dnn/h5dnn/config"

// The names that Keras and PyTorch have for losses, optimizers, layers and their settings.
var (
	_ = config.RegisterElsewhere("loss", map[string]config.Other{
		"sparse_categorical_crossentropy": {Text: "cross_entropy, of labels and logits; {cross_entropy: {probabilities: true}} after a softmax"},
		"categorical_crossentropy":        {Text: "cross_entropy, of labels 0, 1, … instead of one-hot targets; {cross_entropy: {probabilities: true}} after a softmax"},
		"cross_entropy_loss":              {Name: "cross_entropy"},
		"crossentropy":                    {Name: "cross_entropy"},
		"softmax_cross_entropy":           {Name: "cross_entropy"},
		"binary_crossentropy":             {Text: "bce_with_logits; {bce_with_logits: {probabilities: true}} after a sigmoid"},
		"binary_cross_entropy":            {Text: "bce_with_logits; {bce_with_logits: {probabilities: true}} after a sigmoid"},
		"bce":                             {Text: "bce_with_logits; {bce_with_logits: {probabilities: true}} after a sigmoid"},
		"bce_loss":                        {Text: "{bce_with_logits: {probabilities: true}}"},
	})
	_ = config.RegisterElsewhere("layer", map[string]config.Other{
		"max_pooling2d": {Name: "maxpool2d"}, "max_pooling1d": {Name: "maxpool1d"},
		"average_pooling2d": {Name: "avgpool2d"}, "average_pooling1d": {Name: "avgpool1d"},
		"global_average_pooling2d": {Name: "globalavgpool2d"}, "global_average_pooling1d": {Name: "globalavgpool1d"},
		"adaptive_avg_pool1d": {Name: "adaptive_avg_pool"}, "adaptive_avg_pool2d": {Name: "adaptive_avg_pool"}, "adaptive_avg_pool3d": {Name: "adaptive_avg_pool"},
		"adaptive_max_pool1d": {Name: "adaptive_max_pool"}, "adaptive_max_pool2d": {Name: "adaptive_max_pool"}, "adaptive_max_pool3d": {Name: "adaptive_max_pool"},
		"reflection_pad1d": {Text: "{pad: {before: …, mode: reflect}}"}, "reflection_pad2d": {Text: "{pad: {before: …, mode: reflect}}"},
		"replication_pad2d": {Text: "{pad: {before: …, mode: replicate}}"}, "constant_pad2d": {Text: "{pad: {before: …, value: …}}"},
		"group_normalization": {Name: "groupnorm"},
		"squeeze_excite":      {Text: "{branches: {branches: [identity, [layers of the scale]], join: mul}}"},
		"batch_normalization": {Text: "batchnorm1d, batchnorm2d or batchnorm3d"},
		"layer_normalization": {Name: "layernorm"}, "zero_padding2d": {Name: "zeropad"}, "zero_pad2d": {Name: "zeropad"}, "up_sampling2d": {Name: "upsample"},
		"concatenate": {Name: "concat"}, "multiply": {Name: "mul"}, "fully_connected": {Name: "dense"},
		"nodes": {Text: "{graph: {nodes: [{name: h, layer: {dense: 8}, from: x}, …]}}"},
	})
	_ = config.RegisterElsewhere("metric", map[string]config.Other{
		"sparse_categorical_accuracy": {Name: "accuracy"}, "categorical_accuracy": {Name: "accuracy"}, "acc": {Name: "accuracy"},
	})
	_ = config.RegisterElsewhere("setting", map[string]config.Other{
		"units": {Name: "out_features"}, "filters": {Name: "out_channels"}, "channels": {Name: "out_channels"},
		"kernel": {Name: "kernel_size"}, "pool_size": {Name: "kernel_size"}, "scale_factor": {Name: "scale"}, "upscale_factor": {Name: "factor"}, "downscale_factor": {Name: "factor"}, "strides": {Name: "stride"}, "dilation_rate": {Name: "dilation"},
		"use_bias": {Name: "bias"}, "kernel_initializer": {Name: "initializer"}, "rate": {Name: "p"}, "epsilon": {Name: "eps"},
		"input_dim": {Name: "num_embeddings"}, "output_dim": {Name: "embedding_dim"}, "embeddings_initializer": {Name: "initializer"},
		"beta_1": {Name: "beta1"}, "beta_2": {Name: "beta2"}, "alpha": {Name: "negative_slope"},
		"inputs": {Name: "from"}, "input": {Name: "from"}, "inbound_nodes": {Name: "from"},
		"activation": {Text: "the activation as the layer that follows, such as relu"},
	})
)
