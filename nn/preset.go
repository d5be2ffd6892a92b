package nn

import (
	"fmt"
	"maps"
	"slices"

	"github.com/h5dnn/h5dnn/config"
)

// presets are the models with names, for a number of classes.
var presets = map[string]func(classes int) Module{
	"resnet18":        func(classes int) Module { return resNet(basicBlock, []int{2, 2, 2, 2}, false, classes) },
	"resnet34":        func(classes int) Module { return resNet(basicBlock, []int{3, 4, 6, 3}, false, classes) },
	"resnet50":        func(classes int) Module { return resNet(bottleneck, []int{3, 4, 6, 3}, false, classes) },
	"resnet18_small":  func(classes int) Module { return resNet(basicBlock, []int{2, 2, 2, 2}, true, classes) },
	"resnet34_small":  func(classes int) Module { return resNet(basicBlock, []int{3, 4, 6, 3}, true, classes) },
	"mobilenet_v2":    mobileNetV2,
	"efficientnet_b0": efficientNetB0,
	"unet":            func(classes int) Module { return unet(2, 32, classes) },
	"unet3d":          func(classes int) Module { return unet(3, 16, classes) },
	"tcn":             tcn,
	"lstm":            lstmModel,
	"gru":             gruModel,
	"transformer":     textClassifier,
	"gpt":             gpt,
	"vit_tiny":        func(classes int) Module { return visionTransformer(16, classes) },
	"vit_tiny_small":  func(classes int) Module { return visionTransformer(4, classes) },
	"autoencoder":     autoencoder,
	"vae":             variationalAutoencoder,
	"mlp": func(classes int) Module {
		return Sequential{Flatten{}, lazyDense(128), ReLU{}, lazyDense(classes)}
	},
	// LeCun et al., 1998, with max pooling and ReLU.
	"lenet": func(classes int) Module {
		return Sequential{
			lazyConv(6, 5, 2), ReLU{}, NewMaxPool2d(PoolOptions{KernelSize: Sizes{2}}),
			lazyConv(16, 5, 0), ReLU{}, NewMaxPool2d(PoolOptions{KernelSize: Sizes{2}}),
			Flatten{}, lazyDense(120), ReLU{}, lazyDense(84), ReLU{}, lazyDense(classes),
		}
	},
	"cnn": func(classes int) Module {
		return Sequential{
			lazyConv(32, 3, 1), ReLU{}, NewMaxPool2d(PoolOptions{KernelSize: Sizes{2}}),
			lazyConv(64, 3, 1), ReLU{}, NewMaxPool2d(PoolOptions{KernelSize: Sizes{2}}),
			Flatten{}, lazyDense(128), ReLU{}, lazyDense(classes),
		}
	},
}

// Preset returns the named model: mlp (128 hidden units), lenet, cnn (3×3
// convolutions of 32 and 64 channels, 128 hidden units), or one whose parameters have
// torchvision's names: resnet18, resnet34, resnet50, mobilenet_v2 and efficientnet_b0; resnet18_small and
// resnet34_small are those for small images. unet and unet3d have an output
// for each class and pixel, tcn takes sequences (N, C, L), lstm and gru sequences (N, T, F). transformer classifies bytes (N, T), gpt predicts
// the token after each of (N, T), up to 256 of them, and vit_tiny has patches of 16 pixels, vit_tiny_small of 4. autoencoder and vae compute as many
// numbers as a target has from a code of 16, which vae draws at random in training. Layers take the sizes
// of their inputs from the first batch.
func Preset(name string, classes int) (Module, error) {
	preset, ok := presets[name]
	if !ok {
		return nil, config.At(config.Unknown("preset", name, Presets()), name)
	}
	if classes < 1 || classes > maxElements {
		return nil, fmt.Errorf("preset %s for %d classes: %w", name, classes, config.Errorf("want at least one"))
	}
	return preset(classes), nil
}

func init() {
	layers.others = func(name string) error {
		if _, ok := presets[name]; !ok {
			return nil
		}
		return config.Errorf("no such layer, but a whole model; want model: %s, without settings, and beside it classes: N", name)
	}
}

// Presets lists the names of the presets.
func Presets() []string { return slices.Sorted(maps.Keys(presets)) }

// lazyConv returns a convolution that takes its input channels from the first batch.
func lazyConv(out, kernel, padding int) *Conv2d {
	return NewConv2d(ConvOptions{OutChannels: out, KernelSize: Sizes{kernel}, Padding: Sizes{padding}})
}

// lazyDense returns a layer that takes its input features from the first batch.
func lazyDense(out int) *Dense { return NewDense(DenseOptions{OutFeatures: out}) }
