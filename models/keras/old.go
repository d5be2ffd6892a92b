package keras

import (
	"maps"
	"slices"
	"strings"
)

// oldClasses are the classes of Keras 1 and 2 that have another name now.
var oldClasses = map[string]string{
	"Convolution1D": "Conv1D", "Convolution2D": "Conv2D", "Convolution3D": "Conv3D",
	"Deconvolution2D": "Conv2DTranspose", "Deconvolution3D": "Conv3DTranspose",
	"Convolution2DTranspose": "Conv2DTranspose", "Convolution3DTranspose": "Conv3DTranspose",
	"AtrousConvolution1D": "Conv1D", "AtrousConvolution2D": "Conv2D",
	"SeparableConvolution1D": "SeparableConv1D", "SeparableConvolution2D": "SeparableConv2D",
	"DepthwiseConvolution2D": "DepthwiseConv2D",
	"MaxPool1D":              "MaxPooling1D", "MaxPool2D": "MaxPooling2D", "MaxPool3D": "MaxPooling3D",
	"AvgPool1D": "AveragePooling1D", "AvgPool2D": "AveragePooling2D", "AvgPool3D": "AveragePooling3D",
	"GlobalAvgPool1D": "GlobalAveragePooling1D", "GlobalAvgPool2D": "GlobalAveragePooling2D", "GlobalAvgPool3D": "GlobalAveragePooling3D",
	"GlobalMaxPool1D": "GlobalMaxPooling1D", "GlobalMaxPool2D": "GlobalMaxPooling2D", "GlobalMaxPool3D": "GlobalMaxPooling3D",
	"BatchNormalizationV1": "BatchNormalization", "BatchNormalizationV2": "BatchNormalization", "SyncBatchNormalization": "BatchNormalization",
	"LSTMV2": "LSTM", "GRUV2": "GRU",
}

// oldSettings are the settings of Keras 1 and 2 that have another name now.
var oldSettings = map[string]string{
	"nb_filter": "filters", "filter_length": "kernel_size", "subsample_length": "strides", "subsample": "strides",
	"border_mode": "padding", "bias": "use_bias", "atrous_rate": "dilation_rate",
	"pool_length": "pool_size", "inner_activation": "recurrent_activation", "batch_input_shape": "batch_shape",
}

// modernize gives a layer of Keras 1 or 2 the names that Keras 3 has for its class and
// settings.
func modernize(l *Layer) {
	if l.Class == "Merge" {
		l.Class = mergeClass(l.Config["mode"])
		rename(l, "concat_axis", "axis")
	}
	if name, ok := oldClasses[l.Class]; ok {
		l.Class = name
	}
	l.Class = withoutCuDNN(l.Class, l.Config)
	if inner, ok := l.Config["layer"].(map[string]any); ok {
		class, _ := inner["class_name"].(string)
		config, _ := inner["config"].(map[string]any)
		if other := withoutCuDNN(class, config); other != class {
			inner["class_name"] = other
		}
	}
	for _, old := range slices.Sorted(maps.Keys(oldSettings)) {
		if old != "batch_input_shape" || l.Class == "InputLayer" {
			rename(l, old, oldSettings[old])
		}
	}
	switch {
	case l.Class == "Dense" || l.Class == "LSTM" || l.Class == "GRU" || l.Class == "SimpleRNN":
		rename(l, "output_dim", "units")
		if _, ok := l.Config["reset_after"]; l.Class == "GRU" && !ok && len(l.Config) > 0 {
			l.Config["reset_after"] = false // which there was not before Keras 2.1
		}
	case l.Class == "Dropout":
		rename(l, "p", "rate")
	case l.Class == "LeakyReLU":
		rename(l, "alpha", "negative_slope")
	case strings.HasPrefix(l.Class, "MaxPooling1D") || strings.HasPrefix(l.Class, "AveragePooling1D"):
		rename(l, "stride", "strides")
	}
	joinSizes(l, "kernel_size", "nb_row", "nb_col")
	joinSizes(l, "kernel_size", "kernel_dim1", "kernel_dim2", "kernel_dim3")
	if order, ok := l.Config["dim_ordering"].(string); ok && l.Config["data_format"] == nil {
		l.Config["data_format"] = map[string]string{"th": "channels_first", "tf": "channels_last"}[order]
	}
}

// withoutCuDNN returns the class of a recurrent layer that cuDNN does not compute, and gives the
// configuration the settings that cuDNN has. Other classes stay as they are.
func withoutCuDNN(class string, config map[string]any) string {
	name, ok := strings.CutPrefix(class, "CuDNN")
	if !ok || name != "LSTM" && name != "GRU" || config == nil {
		return class
	}
	config["activation"], config["recurrent_activation"] = "tanh", "sigmoid"
	if name == "GRU" {
		config["reset_after"] = true
	}
	return name
}

func rename(l *Layer, old, name string) {
	if value, ok := l.Config[old]; ok {
		if _, ok := l.Config[name]; !ok {
			l.Config[name] = value
		}
		delete(l.Config, old)
	}
}

// joinSizes makes one setting of one for each axis.
func joinSizes(l *Layer, name string, axes ...string) {
	var all []any
	for _, axis := range axes {
		if n, ok := l.Config[axis]; ok {
			all = append(all, n)
		}
	}
	if len(all) == len(axes) && !slices.Contains(all, nil) {
		l.Config[name] = all
	}
}

// mergeClass returns the class that a Merge of Keras 1 is now.
func mergeClass(mode any) string {
	classes := map[string]string{"sum": "Add", "mul": "Multiply", "concat": "Concatenate", "ave": "Average", "max": "Maximum", "dot": "Dot"}
	if text, ok := mode.(string); ok && classes[text] != "" {
		return classes[text]
	}
	return "Merge"
}
