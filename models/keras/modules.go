package keras

import (
	"cmp"
	"encoding/json"
	"strings"
)

// An .h5 of Keras 3 names the classes of layers alone, which is not enough to find all of them.

// addModule says the module of a layer that Keras 3 reads otherwise, or not at all, without one:
// it takes the first of several axes alone, the name of a score for that of a function, and does
// not find operations.
func addModule(o map[string]any, class string, config map[string]any) {
	if o["module"] != nil || strings.Contains(class, ">") {
		return
	}
	axes, _ := config["axis"].([]any)
	module := operationModules[class]
	switch {
	case module != "" || isOperation(o):
		o["module"], o["registered_name"] = "keras.src.ops."+cmp.Or(module, "numpy"), class
	case class == "LayerScale":
		o["module"], o["registered_name"] = "keras.src.applications.convnext", class
	case class == "GroupedQueryAttention":
		o["module"], o["class_name"], o["registered_name"] = "keras.layers", "GroupQueryAttention", nil
	case len(axes) > 1 || config["score_mode"] != nil:
		o["module"], o["registered_name"] = "keras.layers", nil
	}
}

// isOperation reports whether a layer that has the name of a class of layers is an operation.
func isOperation(layer map[string]any) bool {
	if layer["inbound_nodes"] == nil {
		return false
	}
	var o object
	text, err := json.Marshal(layer)
	return err == nil && json.Unmarshal(text, &o) == nil && o.isOperation()
}

// WithModules returns a description of Keras 3 in an .h5, where layers have no module, with the
// modules of those that Keras 3 reads otherwise without one.
func WithModules(text string) (string, error) {
	o, err := decode(text)
	if err != nil {
		return "", err
	}
	addModules(o)
	return encode(o)
}

func addModules(v any) {
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			addModules(one)
		}
	case map[string]any:
		if config, ok := v["config"].(map[string]any); ok {
			class, _ := v["class_name"].(string)
			addModule(v, class, config)
		}
		for _, one := range v {
			addModules(one)
		}
	}
}

// WithoutLoRA returns a description of a model whose LoRA was merged into its kernels, as a .keras
// has it: Keras 3 asks an .h5 for the arrays of the LoRA otherwise.
func WithoutLoRA(text string) (string, error) {
	if !strings.Contains(text, `"lora_rank"`) {
		return text, nil
	}
	o, err := decode(text)
	if err != nil {
		return "", err
	}
	dropLoRA(o)
	return encode(o)
}

func dropLoRA(v any) {
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			dropLoRA(one)
		}
	case map[string]any:
		delete(v, "lora_rank")
		delete(v, "lora_alpha")
		for _, one := range v {
			dropLoRA(one)
		}
	}
}

// operationModules are the modules, below keras.src.ops, of the operations of Keras 3 whose names
// no layer has.
var operationModules = func() map[string]string {
	modules := map[string]string{}
	for module, classes := range operationsByModule {
		for _, class := range strings.Fields(classes) {
			modules[class] = module
		}
	}
	return modules
}()

var operationsByModule = map[string]string{
	"numpy": `Abs Absolute All AllClose Amax Amin Angle Any Append Arange Arccos Arccosh Arcsin Arcsinh Arctan Arctan2
		Arctanh Argmax Argmin Argpartition Argsort Array ArraySplit Bincount BitwiseAnd BitwiseInvert BitwiseLeftShift
		BitwiseNot BitwiseOr BitwiseRightShift BitwiseXor BroadcastTo Cbrt Ceil Clip Conj Conjugate Copy Corrcoef
		Correlate Cos Cosh CountNonzero Cross Cumprod Cumsum Deg2rad Diag Diagflat Diagonal Diff Digitize Divide
		DivideNoNan Dsplit Dstack Einsum EmptyLike Equal Exp Exp2 ExpandDims Expm1 Fabs Flip Fliplr Flipud Floor
		FloorDivide Fmax Fmin Fmod Full FullLike Gcd Geomspace GetItem Greater GreaterEqual Heaviside Histogram Hsplit
		Hstack Hypot I0 Imag Inner IsIn Isclose Isfinite Isinf Isnan Isneginf Isposinf Isreal Kron Lcm Ldexp LeftShift
		Less LessEqual Linspace Log Log10 Log1p Log2 Logaddexp Logaddexp2 LogicalAnd LogicalNot LogicalOr LogicalXor
		Logspace Matmul Max Mean Median Meshgrid Min Mod Moveaxis NanToNum Nanargmax Nanargmin Nancumprod Nancumsum
		Nanmax Nanmean Nanmedian Nanmin Nanpercentile Nanprod Nanquantile Nanstd Nansum Nanvar Ndim Negative Nextafter
		Nonzero NotEqual OnesLike Outer Pad Percentile Power Prod Ptp Quantile Rad2deg Ravel Real Reciprocal Repeat
		RightShift Roll Rot90 Round SearchSorted Select Sign Signbit Sin Sinc Sinh Size Slogdet Sort Split Sqrt Square
		Squeeze Stack Std Sum Swapaxes Take TakeAlongAxis Tan Tanh Tensordot Tile Trace Transpose Trapezoid Tril Triu
		TrueDivide Trunc Unique UnravelIndex Vander Var Vdot View Vsplit Vstack Where ZerosLike`,
	"nn": `AdaptiveAveragePool AdaptiveMaxPool AveragePool BatchNorm BinaryCrossentropy CTCDecode CTCLoss
		CategoricalCrossentropy Celu Conv ConvTranspose DepthToSpace DepthwiseConv DotProductAttention Elu Fold Gelu
		Glu HardShrink HardSigmoid HardSilu HardTanh LayerNorm LeakyRelu LogSigmoid LogSoftmax MaxPool Moments
		MultiHot Normalize OneHot PSNR Polar RMSNorm Relu Relu6 Selu SeparableConv Sigmoid Silu SoftShrink Softplus
		Softsign SpaceToDepth SparseCategoricalCrossentropy SparsePlus SparseSigmoid Sparsemax Squareplus TanhShrink
		Threshold Unfold`,
	"math": `CDist Erf Erfc Erfinv ExtractSequences FFT FFT2 IFFT2 IRFFT ISTFT InTopK Logdet Logsumexp RFFT Rsqrt STFT
		SegmentMax SegmentMin SegmentProd SegmentReduction SegmentSum TopK ViewAsComplex ViewAsReal`,
	"core": `AssociativeScan Cast Cond ConvertToTensor ForiLoop Map SaturateCast Scan Scatter ScatterUpdate Slice
		SliceUpdate StopGradient Switch Unstack VectorizedMap WhileLoop`,
	"linalg": `Cholesky CholeskyInverse Det Eig Eigh Inv JVP Lstsq LuFactor MatrixRank Norm Pinv Qr SVD Solve SolveTriangular`,
	"image": `AffineTransform CropImages ElasticTransform ExtractPatches GaussianBlur HSVToRGB MapCoordinates PadImages
		PerspectiveTransform RGBToGrayscale RGBToHSV Resize SSIM ScaleAndTranslate SobelEdges`,
}
