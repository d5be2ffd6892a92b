package nn

import (
	"fmt"
	"maps"
	"slices"

	"github.com/h5dnn/h5dnn/config"
)

// A preset is a model with a name, for a number of classes.
type preset struct {
	about string // its outputs, inputs and architecture
	make  func(classes int) Module
}

var presets = map[string]preset{
	"resnet18": {"Classes of images (C, H, W): He et al., arXiv:1512.03385, with torchvision's names.",
		func(classes int) Module { return resNet(basicBlock, []int{2, 2, 2, 2}, false, classes) }},
	"resnet34": {"resnet18 with 34 layers.", func(classes int) Module { return resNet(basicBlock, []int{3, 4, 6, 3}, false, classes) }},
	"resnet50": {"resnet18 with 50 layers, in blocks of three.", func(classes int) Module { return resNet(bottleneck, []int{3, 4, 6, 3}, false, classes) }},
	"resnet18_small": {"resnet18 for small images, such as 32x32: a 3x3 convolution without a pool begins it.",
		func(classes int) Module { return resNet(basicBlock, []int{2, 2, 2, 2}, true, classes) }},
	"resnet34_small": {"resnet34 for small images.", func(classes int) Module { return resNet(basicBlock, []int{3, 4, 6, 3}, true, classes) }},
	"mobilenet_v2":   {"Classes of images (C, H, W), with few operations: Sandler et al., arXiv:1801.04381, with torchvision's names.", mobileNetV2},
	"efficientnet_b0": {"Classes of images (C, H, W): Tan and Le, arXiv:1905.11946, without stochastic depth, with torchvision's names.",
		efficientNetB0},
	"unet": {"A class for each pixel of images (C, H, W), with multiples of 8 as H and W: Ronneberger et al., arXiv:1505.04597, with 32 to 256 channels.",
		func(classes int) Module { return unet(2, 32, classes) }},
	"unet3d": {"A class for each element of volumes (C, D, H, W), with multiples of 8 as sizes: unet with 16 to 128 channels.",
		func(classes int) Module { return unet(3, 16, classes) }},
	"tcn":  {"Classes of sequences (C, L), channels first: causal convolutions of 64 channels, dilated by 1, 2, 4 and 8 (Bai et al., arXiv:1803.01271).", tcn},
	"lstm": {"As a model: classes of sequences (T, F), or numbers of a forecast, by an LSTM of two layers of 64.", lstmModel},
	"gru":  {"As a model: classes of sequences (T, F), or numbers of a forecast, by a GRU of two layers of 64.", gruModel},
	"transformer": {"Classes of texts, bytes (T) of at most 256 steps: a transformer encoder of two layers of 128 features, and the mean over its steps.",
		textClassifier},
	"gpt": {"The token after each of tokens (T), at most 256, of as many kinds as classes: a causal transformer of four layers of 256 features. `h5dnn generate` continues texts of bytes with it.",
		gpt},
	"vit_tiny": {"Classes of images (C, H, W) of at most 14x14 patches of 16 pixels, such as 224x224: a transformer of 12 layers of 192 features (Dosovitskiy et al., arXiv:2010.11929).",
		func(classes int) Module { return visionTransformer(16, classes) }},
	"vit_tiny_small": {"vit_tiny with patches of 4 pixels, for small images, such as 32x32.", func(classes int) Module { return visionTransformer(4, classes) }},
	"autoencoder":    {"Any sample to as many numbers as its target has, such as the sample itself, through a code of 16 numbers.", autoencoder},
	"vae":            {"autoencoder with a code of 16 normal numbers and their divergence in the loss (Kingma and Welling, arXiv:1312.6114).", variationalAutoencoder},
	"mlp": {"Classes of any sample: 128 hidden units.", func(classes int) Module {
		return Sequential{Flatten{}, lazyDense(128), ReLU{}, lazyDense(classes)}
	}},
	"lenet": {"Classes of small images (C, H, W): LeCun et al., 1998, with max pooling and ReLU.", func(classes int) Module {
		return Sequential{
			lazyConv(6, 5, 2), ReLU{}, NewMaxPool2d(PoolOptions{KernelSize: Sizes{2}}),
			lazyConv(16, 5, 0), ReLU{}, NewMaxPool2d(PoolOptions{KernelSize: Sizes{2}}),
			Flatten{}, lazyDense(120), ReLU{}, lazyDense(84), ReLU{}, lazyDense(classes),
		}
	}},
	"cnn": {"Classes of small images (C, H, W): 3x3 convolutions of 32 and 64 channels, 128 hidden units.", func(classes int) Module {
		return Sequential{
			lazyConv(32, 3, 1), ReLU{}, NewMaxPool2d(PoolOptions{KernelSize: Sizes{2}}),
			lazyConv(64, 3, 1), ReLU{}, NewMaxPool2d(PoolOptions{KernelSize: Sizes{2}}),
			Flatten{}, lazyDense(128), ReLU{}, lazyDense(classes),
		}
	}},
}

// Preset returns the named model, which AboutPreset describes. Layers take the sizes of their inputs from the first batch.
func Preset(name string, classes int) (Module, error) {
	p, ok := presets[name]
	if !ok {
		return nil, config.At(config.Unknown("preset", name, Presets()), name)
	}
	if classes < 1 || classes > maxElements {
		return nil, fmt.Errorf("preset %s for %d classes: %w", name, classes, config.Errorf("want at least one"))
	}
	return p.make(classes), nil
}

func init() {
	layers.others = func(name string) error {
		if _, ok := presets[name]; !ok {
			return nil
		}
		return config.Errorf("no such layer, but a whole model; want model: %s, without settings, and beside it classes: N", name)
	}
}

// AboutPreset returns what the named model takes and computes; "" for an unknown name.
func AboutPreset(name string) string { return presets[name].about }

// Presets lists the names of the presets.
func Presets() []string { return slices.Sorted(maps.Keys(presets)) }

// lazyConv returns a convolution that takes its input channels from the first batch.
func lazyConv(out, kernel, padding int) *Conv2d {
	return NewConv2d(ConvOptions{OutChannels: out, KernelSize: Sizes{kernel}, Padding: Sizes{padding}})
}

// lazyDense returns a layer that takes its input features from the first batch.
func lazyDense(out int) *Dense { return NewDense(DenseOptions{OutFeatures: out}) }
