package nn

import "github.com/h5dnn/h5dnn/tensor"

// Pooling over all of each channel.
type (
	GlobalAvgPool1d struct{} // the means of x (N, C, L): (N, C, 1); with a mask (N, L), of the steps where it is 1
	GlobalAvgPool2d struct{} // the means of images x (N, C, H, W): (N, C, 1, 1)
	GlobalAvgPool3d struct{} // the means of volumes x (N, C, D, H, W): (N, C, 1, 1, 1)
	GlobalMaxPool1d struct{} // the maxima of x (N, C, L): (N, C, 1)
	GlobalMaxPool2d struct{} // the maxima of images x (N, C, H, W): (N, C, 1, 1)
	GlobalMaxPool3d struct{} // the maxima of volumes x (N, C, D, H, W): (N, C, 1, 1, 1)
)

// globally returns pool(x) of x with the given number of spatial axes.
func globally(layer string, axes int, x *tensor.Tensor, pool func(x *tensor.Tensor) *tensor.Tensor) *tensor.Tensor {
	checkSpatial(layer, x, axes)
	return pool(x)
}

// Forward returns the means of x.
func (GlobalAvgPool1d) Forward(x *tensor.Tensor) *tensor.Tensor {
	return globally("globalavgpool1d", 1, x, (*tensor.Tensor).GlobalAvgPool)
}

// ForwardAll returns the means of x, or of its steps that count: Σ mask·x / Σ mask, for a mask (N, L) as a second input, such as of a Masking.
func (g GlobalAvgPool1d) ForwardAll(inputs []*tensor.Tensor) []*tensor.Tensor {
	if len(inputs) != 2 {
		return []*tensor.Tensor{g.Forward(single("globalavgpool1d", inputs))}
	}
	return []*tensor.Tensor{globally("globalavgpool1d", 1, inputs[0], func(x *tensor.Tensor) *tensor.Tensor {
		mask := inputs[1].Cast(x.DType()).Unsqueeze(1)
		return x.Mul(mask).Sum(-1, tensor.KeepDims).Div(mask.Sum(-1, tensor.KeepDims))
	})}
}

// Forward returns the means of images x.
func (GlobalAvgPool2d) Forward(x *tensor.Tensor) *tensor.Tensor {
	return globally("globalavgpool2d", 2, x, (*tensor.Tensor).GlobalAvgPool)
}

// Forward returns the means of volumes x.
func (GlobalAvgPool3d) Forward(x *tensor.Tensor) *tensor.Tensor {
	return globally("globalavgpool3d", 3, x, (*tensor.Tensor).GlobalAvgPool)
}

// Forward returns the maxima of x.
func (GlobalMaxPool1d) Forward(x *tensor.Tensor) *tensor.Tensor {
	return globally("globalmaxpool1d", 1, x, (*tensor.Tensor).GlobalMaxPool)
}

// Forward returns the maxima of images x.
func (GlobalMaxPool2d) Forward(x *tensor.Tensor) *tensor.Tensor {
	return globally("globalmaxpool2d", 2, x, (*tensor.Tensor).GlobalMaxPool)
}

// Forward returns the maxima of volumes x.
func (GlobalMaxPool3d) Forward(x *tensor.Tensor) *tensor.Tensor {
	return globally("globalmaxpool3d", 3, x, (*tensor.Tensor).GlobalMaxPool)
}

// Settings are ignored: KeyDNN and Keras write some for these layers.
var (
	_ = RegisterLayer("globalavgpool1d", func(map[string]any) GlobalAvgPool1d { return GlobalAvgPool1d{} }, nil)
	_ = RegisterLayer("globalavgpool2d", func(map[string]any) GlobalAvgPool2d { return GlobalAvgPool2d{} }, nil)
	_ = RegisterLayer("globalavgpool3d", func(map[string]any) GlobalAvgPool3d { return GlobalAvgPool3d{} }, nil)
	_ = RegisterLayer("globalmaxpool1d", func(map[string]any) GlobalMaxPool1d { return GlobalMaxPool1d{} }, nil)
	_ = RegisterLayer("globalmaxpool2d", func(map[string]any) GlobalMaxPool2d { return GlobalMaxPool2d{} }, nil)
	_ = RegisterLayer("globalmaxpool3d", func(map[string]any) GlobalMaxPool3d { return GlobalMaxPool3d{} }, nil)
)
