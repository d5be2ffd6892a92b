package nn

import (
	"fmt"
	"maps"
	"slices"
)

// presets are models known by name, for a number of classes.
var presets = map[string]func(classes int) Sequential{
	"mlp": func(classes int) Sequential {
		return Sequential{Flatten{}, NewDense(128), ReLU{}, NewDense(classes)}
	},
	// LeCun et al., 1998, with max pooling and rectifiers.
	"lenet": func(classes int) Sequential {
		return Sequential{
			conv(6, 5, 2), ReLU{}, NewMaxPool2d(2),
			conv(16, 5, 0), ReLU{}, NewMaxPool2d(2),
			Flatten{}, NewDense(120), ReLU{}, NewDense(84), ReLU{}, NewDense(classes),
		}
	},
	"cnn": func(classes int) Sequential {
		return Sequential{
			conv(32, 3, 1), ReLU{}, NewMaxPool2d(2),
			conv(64, 3, 1), ReLU{}, NewMaxPool2d(2),
			Flatten{}, NewDense(128), ReLU{}, NewDense(classes),
		}
	},
}

// Preset returns the model known by name: mlp (128 hidden), lenet or cnn
// (3×3 windows, 32 and 64 channels, 128 hidden). Its layers take their inputs'
// sizes from the first batch.
func Preset(name string, classes int) (Sequential, error) {
	preset, ok := presets[name]
	if !ok {
		return nil, at(name, unknown("preset", name, Presets()))
	}
	if classes < 1 || classes > maxElements {
		return nil, fmt.Errorf("preset %s for %d classes: %w", name, classes, mistake(ErrConfig, "want at least one"))
	}
	return preset(classes), nil
}

// Presets lists the names of the presets.
func Presets() []string { return slices.Sorted(maps.Keys(presets)) }

// conv is a convolution that takes its input channels from the first batch.
func conv(out, kernel, padding int) *Conv2d {
	return NewConv2dOf(Conv2dSet{OutChannels: out, KernelSize: Both(kernel), Stride: Both(1), Padding: Both(padding)})
}
