package nn

import (
	"fmt"
	"maps"
	"slices"

	"github.com/h5dnn/h5dnn/config"
)

// presets are the models with names, for a number of classes.
var presets = map[string]func(classes int) Sequential{
	"mlp": func(classes int) Sequential {
		return Sequential{Flatten{}, lazyDense(128), ReLU{}, lazyDense(classes)}
	},
	// LeCun et al., 1998, with max pooling and ReLU.
	"lenet": func(classes int) Sequential {
		return Sequential{
			lazyConv(6, 5, 2), ReLU{}, NewMaxPool2d(PoolOptions{KernelSize: Sizes{2}}),
			lazyConv(16, 5, 0), ReLU{}, NewMaxPool2d(PoolOptions{KernelSize: Sizes{2}}),
			Flatten{}, lazyDense(120), ReLU{}, lazyDense(84), ReLU{}, lazyDense(classes),
		}
	},
	"cnn": func(classes int) Sequential {
		return Sequential{
			lazyConv(32, 3, 1), ReLU{}, NewMaxPool2d(PoolOptions{KernelSize: Sizes{2}}),
			lazyConv(64, 3, 1), ReLU{}, NewMaxPool2d(PoolOptions{KernelSize: Sizes{2}}),
			Flatten{}, lazyDense(128), ReLU{}, lazyDense(classes),
		}
	},
}

// Preset returns the named model: mlp (128 hidden units), lenet or cnn (3×3
// convolutions of 32 and 64 channels, 128 hidden units). Its layers take the sizes
// of their inputs from the first batch.
func Preset(name string, classes int) (Sequential, error) {
	preset, ok := presets[name]
	if !ok {
		return nil, config.At(config.Unknown("preset", name, Presets()), name)
	}
	if classes < 1 || classes > maxElements {
		return nil, fmt.Errorf("preset %s for %d classes: %w", name, classes, config.Errorf("want at least one"))
	}
	return preset(classes), nil
}

// Presets lists the names of the presets.
func Presets() []string { return slices.Sorted(maps.Keys(presets)) }

// lazyConv returns a convolution that takes its input channels from the first batch.
func lazyConv(out, kernel, padding int) *Conv2d {
	return NewConv2d(ConvOptions{OutChannels: out, KernelSize: Sizes{kernel}, Padding: Sizes{padding}})
}

// lazyDense returns a layer that takes its input features from the first batch.
func lazyDense(out int) *Dense { return NewDense(DenseOptions{OutFeatures: out}) }
