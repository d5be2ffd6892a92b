"""Writes operators.npz: small models of one operator each, at the opsets at which its semantics or its form changed, with inputs
and the outputs of ONNX Runtime. The arrays of a case are CASE/model (the bytes of the file), CASE/in_0, … and CASE/out_0, ….

    python make.py
"""
import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

random = np.random.default_rng(1)
arrays = {}


def f(*shape):
    return random.normal(size=shape).astype(np.float32)


def i64(*values):
    return np.array(values, np.int64)


def case(name, op, opset, inputs, constants=(), outputs=1, domain="", **attributes):
    """Adds a case. inputs are fed; constants, by their place among the inputs of the node, are initializers; None is left out."""
    names, graph_inputs, initializers = [], [], []
    feed = {}
    all_inputs = list(inputs) + list(constants)
    for i, x in enumerate(all_inputs):
        if x is None:
            names.append("")
            continue
        names.append(f"x{i}")
        if i < len(inputs):
            graph_inputs.append(helper.make_tensor_value_info(f"x{i}", helper.np_dtype_to_tensor_dtype(x.dtype), x.shape))
            feed[f"x{i}"] = x
        else:
            initializers.append(numpy_helper.from_array(x, f"x{i}"))
    ys = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(op, names, ys, domain=domain, **attributes)
    opsets = [helper.make_opsetid("", opset if not domain else 13)] + ([helper.make_opsetid(domain, opset)] if domain else [])
    graph = helper.make_graph([node], "g", graph_inputs, [onnx.ValueInfoProto(name=y) for y in ys], initializers)
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8 if opset < 19 else 10)
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        results = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, feed)
    except Exception as e:
        print(f"ONNX Runtime does not run {name or op} opset {opset}: {str(e).splitlines()[0]}")
        return
    key = f"{name or op} opset {opset}"
    assert f"{key}/model" not in arrays, key
    arrays[f"{key}/model"] = np.frombuffer(model.SerializeToString(), np.uint8)
    for i, x in enumerate(feed.values()):
        arrays[f"{key}/in_{i}"] = x
    for i, y in enumerate(results):
        arrays[f"{key}/out_{i}"] = np.asarray(y)


# Elementwise.
for op in "Abs Neg Exp Reciprocal Floor Ceil Relu Sigmoid Tanh Softplus Softsign Sin Cos Tan Atan Sinh Cosh Asinh Erf Sign Round IsNaN Elu Selu LeakyRelu ThresholdedRelu HardSigmoid Shrink Celu Identity".split():
    for opset in (11, 22) if op in ("Relu", "Elu", "Round", "ThresholdedRelu") else (17,):
        case("", op, opset, [f(2, 5) * 3])
for op in ("Log", "Sqrt"):
    case("", op, 13, [abs(f(2, 5)) + 0.1])
for op in ("Asin", "Acos", "Atanh"):
    case("", op, 13, [np.tanh(f(2, 5))])
case("", "Acosh", 13, [abs(f(2, 5)) + 1.1])
for op in ("Add", "Sub", "Mul", "Div", "Pow", "PRelu"):
    for opset in (11, 14):
        case("", op, opset, [abs(f(2, 3, 4)) + 0.1, abs(f(3, 1)) + 0.5])
case("Div integers", "Div", 14, [np.array([-7, 7, -8], np.int32), np.array([2, -2, 3], np.int32)])
case("Pow mixed", "Pow", 15, [f(3), np.array([2, 3, 1], np.int64)])
for op in ("Max", "Min", "Sum", "Mean"):
    case("", op, 13, [f(2, 3), f(3), f(2, 1)])
for op in ("Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual"):
    case("", op, 16, [np.array([1, 2, 3], np.float32), np.array([2], np.float32)])
for op in ("And", "Or", "Xor"):
    case("", op, 13, [np.array([True, True, False]), np.array([True, False, False])])
case("", "Not", 13, [np.array([True, False])])
case("Mod", "Mod", 13, [np.array([-7, 7, 5], np.int64), np.array([3, -3, 3], np.int64)])
case("Mod fmod", "Mod", 13, [f(5) * 5, abs(f(5)) + 1], fmod=1)
case("", "Where", 16, [np.array([True, False, True]), f(2, 3), f(1)])
case("", "Clip", 11, [f(2, 5)], [np.float32(-0.5), np.float32(0.5)])
case("", "Clip", 13, [f(2, 5)], [np.float32(-0.5)])
case("Clip attributes", "Clip", 10, [f(2, 5)], min=-0.5, max=0.5)
case("Clip maximum", "Clip", 13, [f(2, 5)], [None, np.float32(0.2)])
case("", "Cast", 13, [f(2, 5) * 10], to=TensorProto.INT32)
case("Cast bool", "Cast", 13, [np.array([0, 0.5, -2], np.float32)], to=TensorProto.BOOL)
case("", "CastLike", 15, [f(5)], [np.zeros(1, np.float64)])
case("", "Dropout", 11, [f(2, 3)], ratio=0.5)
case("", "Dropout", 13, [f(2, 3)], [np.float32(0.5)])
case("", "HardSwish", 14, [f(2, 5) * 4])
case("", "Mish", 18, [f(2, 5)])
for approximate in ("none", "tanh"):
    case(f"Gelu {approximate}", "Gelu", 20, [f(2, 5)], approximate=approximate)
case("", "IsInf", 10, [np.array([1, np.inf, -np.inf], np.float32)])
case("BitShift", "BitShift", 11, [np.array([4, 5], np.uint8), np.array([1, 2], np.uint8)], direction="LEFT")

# Shapes.
case("", "Reshape", 13, [f(2, 3, 4)], [i64(0, -1)])
case("", "Reshape", 14, [f(2, 3, 4)], [i64(4, -1)], allowzero=1)
case("", "Flatten", 13, [f(2, 3, 4)], axis=-1)
case("", "Squeeze", 11, [f(1, 3, 1)], axes=[0])
case("", "Squeeze", 13, [f(1, 3, 1)], [i64(-1)])
case("Squeeze all", "Squeeze", 13, [f(1, 3, 1)])
case("", "Unsqueeze", 11, [f(3)], axes=[0, 2])
case("", "Unsqueeze", 13, [f(3)], [i64(0, -1)])
case("", "Transpose", 13, [f(2, 3, 4)], perm=[2, 0, 1])
case("Transpose reverse", "Transpose", 13, [f(2, 3, 4)])
case("", "Concat", 13, [f(2, 3), f(2, 1)], axis=-1)
case("", "Split", 11, [f(5, 2)], outputs=2, split=[2, 3])
case("", "Split", 13, [f(5, 2)], [i64(2, 3)], outputs=2)
case("", "Split", 18, [f(5, 2)], outputs=3, num_outputs=3)
case("Slice attributes", "Slice", 9, [f(4, 5)], starts=[1, -3], ends=[3, 100], axes=[0, 1])
case("", "Slice", 10, [f(4, 5)], [i64(1), i64(4), i64(1)])
case("", "Slice", 13, [f(4, 5)], [i64(-1, 4), i64(-100, 0), i64(0, 1), i64(-2, -1)])
case("", "Gather", 13, [f(4, 3)], [np.array([[0, -1], [2, 2]], np.int64)])
case("Gather scalar", "Gather", 13, [f(4, 3)], [np.array(-2, np.int64)], axis=1)
case("", "GatherElements", 13, [f(3, 3)], [np.array([[0, -1, 2]], np.int64)])
case("", "GatherND", 13, [f(2, 3, 4)], [np.array([[0, 1], [1, -1]], np.int64)])
case("GatherND batch", "GatherND", 13, [f(2, 3, 4)], [np.array([[1], [2]], np.int64)], batch_dims=1)
case("", "ScatterElements", 13, [f(3, 3)], [np.array([[0, 2, -2]], np.int64), f(1, 3)])
case("ScatterElements add", "ScatterElements", 18, [f(3, 3)], [np.array([[0, 0, 0], [0, 1, 2]], np.int64), f(2, 3)], reduction="add")
case("", "ScatterND", 13, [f(4, 3)], [np.array([[1], [3]], np.int64), f(2, 3)])
case("ScatterND add", "ScatterND", 16, [f(4, 3)], [np.array([[1], [1]], np.int64), f(2, 3)], reduction="add")
case("", "Expand", 13, [f(3, 1)], [i64(2, 1, 4)])
case("", "Tile", 13, [f(2, 3)], [i64(2, 2)])
for mode in ("constant", "reflect", "edge"):
    case(f"Pad {mode} attributes", "Pad", 10, [f(2, 4)], mode=mode, pads=[1, 2, 0, 1])
    case(f"Pad {mode}", "Pad", 13, [f(2, 4)], [i64(1, 2, 0, 1)], mode=mode)
case("Pad axes", "Pad", 18, [f(2, 4)], [i64(-1, 2), np.float32(3), i64(1)])
case("Pad wrap", "Pad", 19, [f(2, 4)], [i64(1, 2, 0, 1)], mode="wrap")
case("", "Shape", 13, [f(2, 3, 4)])
case("", "Shape", 15, [f(2, 3, 4)], start=-2, end=-1)
case("", "Size", 13, [f(2, 3, 4)])
case("", "ConstantOfShape", 13, [], [i64(2, 3)], value=helper.make_tensor("v", TensorProto.INT64, [1], [7]))
case("", "Range", 11, [], [i64(2)[0], i64(9)[0], i64(3)[0]])
for mode in ("DCR", "CRD"):
    case(f"DepthToSpace {mode}", "DepthToSpace", 13, [f(1, 8, 2, 3)], blocksize=2, mode=mode)
case("", "SpaceToDepth", 13, [f(1, 2, 4, 6)], blocksize=2)
case("", "OneHot", 11, [np.array([0, -1, 2], np.int64)], [i64(3)[0], np.array([2, 5], np.float32)])
case("", "Trilu", 14, [f(3, 4)], [i64(1)[0]], upper=0)
case("", "EyeLike", 9, [f(3, 4)], k=1)
case("", "NonZero", 13, [np.array([[1, 0], [2, 3]], np.float32)])
case("", "Compress", 11, [f(3, 2)], [np.array([True, False, True])], axis=0)
case("", "ReverseSequence", 10, [f(4, 2)], [i64(3, 2)])
case("TopK", "TopK", 11, [f(2, 5)], [i64(3)], outputs=2)
case("", "CumSum", 14, [f(2, 4)], [np.array(1, np.int32)], exclusive=1, reverse=1)
for mode in ("nearest", "linear", "cubic"):
    for coordinates in ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"):
        case(f"Resize {mode} {coordinates}", "Resize", 13, [f(1, 1, 4, 5)], [None, np.array([1, 1, 1.5, 2], np.float32)], mode=mode, coordinate_transformation_mode=coordinates)
case("Resize sizes", "Resize", 11, [f(1, 1, 4, 5)], [np.zeros(0, np.float32), np.zeros(0, np.float32), i64(1, 1, 7, 3)], mode="linear")
case("Resize axes", "Resize", 18, [f(1, 1, 4, 5)], [None, None, i64(2, 3)], axes=[2, 3], mode="linear", antialias=1)
case("Resize old", "Resize", 10, [f(1, 1, 2, 3)], [np.array([1, 1, 2, 2], np.float32)])
case("", "Upsample", 9, [f(1, 1, 2, 3)], [np.array([1, 1, 2, 2], np.float32)])
case("Upsample attributes", "Upsample", 7, [f(1, 1, 2, 3)], scales=[1.0, 1.0, 2.0, 2.0], mode="linear")

# Reductions.
for op in "ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceSumSquare ReduceLogSum ReduceLogSumExp".split():
    x = abs(f(2, 3, 4)) + 0.1
    case(op, op, 11, [x], axes=[1], keepdims=0)
    case(op, op, 13 if op == "ReduceSum" else 18, [x], [i64(-1)])
    case(op + " all", op, 13, [x])
case("ReduceSum noop", "ReduceSum", 13, [f(2, 3)], noop_with_empty_axes=1)
for op in ("ArgMax", "ArgMin"):
    case("", op, 13, [np.array([[1, 3, 3], [2, 0, 0]], np.float32)], axis=1, keepdims=0)
    case(op + " last", op, 13, [np.array([[1, 3, 3], [0, 2, 0]], np.float32)], axis=1, select_last_index=1)

# Convolutions and pools.
for opset in (11, 22):
    case("", "Conv", opset, [f(2, 3, 6, 7)], [f(4, 3, 3, 2), f(4)], pads=[1, 0, 2, 1], strides=[2, 1])
    case("", "ConvTranspose", opset, [f(2, 3, 4, 5)], [f(3, 2, 3, 3), f(2)], pads=[1, 0, 0, 1], strides=[2, 2], output_padding=[1, 0])
    case("", "MaxPool", opset, [f(1, 2, 7, 8)], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 0, 1], ceil_mode=1)
    case("", "AveragePool", opset, [f(1, 2, 7, 8)], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    case("", "GlobalAveragePool", opset, [f(2, 3, 4, 5)])
case("Conv groups", "Conv", 13, [f(1, 4, 6, 6)], [f(4, 1, 3, 3)], group=4, dilations=[2, 1])
case("Conv 1d", "Conv", 13, [f(1, 2, 9)], [f(3, 2, 3)], strides=[2])
case("Conv 3d", "Conv", 13, [f(1, 2, 4, 5, 4)], [f(3, 2, 2, 2, 2)])
for auto in ("SAME_UPPER", "SAME_LOWER", "VALID"):
    case(f"Conv {auto}", "Conv", 13, [f(1, 2, 6, 7)], [f(3, 2, 3, 4)], auto_pad=auto, strides=[2, 2])
case("ConvTranspose shape", "ConvTranspose", 13, [f(1, 2, 4, 5)], [f(2, 2, 3, 3)], strides=[2, 2], output_shape=[9, 10])
case("MaxPool indices", "MaxPool", 12, [f(2, 2, 5, 5)], outputs=2, kernel_shape=[2, 2], strides=[2, 2])
case("MaxPool dilations", "MaxPool", 13, [f(1, 2, 7, 8)], kernel_shape=[2, 3], dilations=[2, 2])
case("AveragePool included", "AveragePool", 13, [f(1, 2, 7, 8)], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], count_include_pad=1)
case("AveragePool dilations", "AveragePool", 19, [f(1, 2, 7, 8)], kernel_shape=[2, 2], dilations=[2, 3])
case("", "GlobalMaxPool", 13, [f(2, 3, 4, 5)])
case("", "LpPool", 18, [f(1, 2, 6, 6)], kernel_shape=[2, 3], p=3)
case("", "GlobalLpPool", 13, [f(2, 3, 4, 5)], p=2)

# Normalizations.
for opset in (11, 15):
    case("", "BatchNormalization", opset, [f(2, 3, 4)], [f(3), f(3), f(3), abs(f(3)) + 0.5], epsilon=1e-3)
case("", "InstanceNormalization", 13, [f(2, 3, 4, 5)], [f(3), f(3)])
case("", "LayerNormalization", 17, [f(2, 3, 8)], [f(8), f(8)])
case("LayerNormalization outputs", "LayerNormalization", 17, [f(2, 3, 8)], [f(3, 8)], outputs=3, axis=1)
case("GroupNormalization", "GroupNormalization", 21, [f(2, 4, 5)], [f(4), f(4)], num_groups=2)
case("GroupNormalization", "GroupNormalization", 18, [f(2, 4, 5)], [f(2), f(2)], num_groups=2)
case("", "LRN", 13, [f(1, 6, 3, 3)], size=3, alpha=0.1)
case("", "LpNormalization", 13, [f(3, 4)], p=1)
case("", "MeanVarianceNormalization", 13, [f(2, 3, 4, 5)])
for op in ("Softmax", "LogSoftmax", "Hardmax"):
    case("", op, 11, [f(2, 3, 4)])
    case("", op, 13, [f(2, 3, 4)])
    case(op + " axis", op, 11, [f(2, 3, 4)], axis=2)

# Products.
case("", "MatMul", 13, [f(2, 3, 4)], [f(4, 5)])
case("MatMul batched", "MatMul", 13, [f(2, 3, 4), f(2, 4, 5)])
case("MatMul vector", "MatMul", 13, [f(4), f(4, 5)])
case("", "Gemm", 13, [f(3, 4)], [f(5, 4), f(5)], transB=1)
case("Gemm scaled", "Gemm", 11, [f(4, 3)], [f(4, 5), f(3, 1)], transA=1, alpha=0.5, beta=2.0)
case("", "Einsum", 12, [f(2, 3, 4), f(2, 4, 5)], equation="bij,bjk->bik")

# Recurrent layers.
for opset in (11, 14, 22):
    case("", "LSTM", opset, [f(5, 2, 3)], [f(1, 16, 3), f(1, 16, 4), f(1, 32)], outputs=3, hidden_size=4)
    case("", "GRU", opset, [f(5, 2, 3)], [f(1, 12, 3), f(1, 12, 4), f(1, 24)], outputs=2, hidden_size=4)
    case("", "RNN", opset, [f(5, 2, 3)], [f(1, 4, 3), f(1, 4, 4), f(1, 8)], outputs=2, hidden_size=4)
two = dict(direction="bidirectional", hidden_size=4)
lengths = np.array([5, 2], np.int32)
case("LSTM both", "LSTM", 14, [f(5, 2, 3)], [f(2, 16, 3), f(2, 16, 4), f(2, 32), lengths, f(2, 2, 4), f(2, 2, 4), f(2, 12)], outputs=3, **two)
case("LSTM reverse", "LSTM", 14, [f(5, 2, 3)], [f(1, 16, 3), f(1, 16, 4)], outputs=3, direction="reverse", hidden_size=4)
case("LSTM hard", "LSTM", 14, [f(5, 2, 3)], [f(1, 16, 3), f(1, 16, 4)], outputs=3, hidden_size=4, activations=["HardSigmoid", "Tanh", "Softsign"], clip=0.7)
case("GRU both", "GRU", 14, [f(5, 2, 3)], [f(2, 12, 3), f(2, 12, 4), f(2, 24), lengths, f(2, 2, 4)], outputs=2, **two)
case("GRU reset", "GRU", 14, [f(5, 2, 3)], [f(1, 12, 3), f(1, 12, 4), f(1, 24)], outputs=2, hidden_size=4, linear_before_reset=1)
case("RNN both", "RNN", 14, [f(5, 2, 3)], [f(2, 4, 3), f(2, 4, 4), f(2, 8), lengths], outputs=2, activations=["Relu", "Tanh"], **two)

# Quantization.
scales, zeros = np.array([0.1, 0.2, 0.05], np.float32), np.array([3, 0, -5], np.int8)
for opset in (10, 13, 19, 21):
    case("", "QuantizeLinear", opset, [f(2, 3)], [np.float32(0.02), np.uint8(120)])
    case("", "DequantizeLinear", opset, [np.array([[1, 200, 7]], np.uint8)], [np.float32(0.02), np.uint8(120)])
for opset in (13, 21):
    case("QuantizeLinear channels", "QuantizeLinear", opset, [f(2, 3, 4) * 5], [scales, zeros], axis=1)
    case("DequantizeLinear channels", "DequantizeLinear", opset, [random.integers(-128, 128, (2, 3, 4), np.int8)], [scales, zeros], axis=1)
case("", "DynamicQuantizeLinear", 11, [f(3, 4)], outputs=3)
case("", "MatMulInteger", 10, [random.integers(0, 256, (3, 4), np.uint8)], [random.integers(-128, 128, (4, 5), np.int8), np.uint8(7), np.int8(0)])
case("", "ConvInteger", 10, [random.integers(0, 256, (1, 2, 5, 5), np.uint8)], [random.integers(0, 256, (3, 2, 3, 3), np.uint8), np.uint8(7)], pads=[1, 1, 1, 1])
case("", "QLinearMatMul", 10, [random.integers(0, 256, (3, 4), np.uint8)], [np.float32(0.1), np.uint8(120), random.integers(0, 256, (4, 5), np.uint8), np.float32(0.05), np.uint8(130), np.float32(0.2), np.uint8(128)])
case("", "QLinearConv", 10, [random.integers(0, 256, (1, 2, 5, 5), np.uint8)], [np.float32(0.1), np.uint8(120), random.integers(-128, 128, (3, 2, 3, 3), np.int8), scales, np.zeros(3, np.int8), np.float32(0.9), np.uint8(128), np.array([5, 6, -7], np.int32)])

# ai.onnx.ml.
ml = dict(domain="ai.onnx.ml")
case("", "Scaler", 1, [f(3, 2)], offset=[0.5, -1.0], scale=[2.0, 0.5], **ml)
for norm in ("MAX", "L1", "L2"):
    case(f"Normalizer {norm}", "Normalizer", 1, [abs(f(3, 4))], norm=norm, **ml)
case("", "Binarizer", 1, [f(3, 4)], threshold=0.1, **ml)
case("", "Imputer", 1, [np.array([[1, np.nan], [np.nan, 2]], np.float32)], imputed_value_floats=[5.0, 6.0], replaced_value_float=float("nan"), **ml)
case("", "ArrayFeatureExtractor", 1, [f(3, 4)], [i64(0, 2)], **ml)
case("", "FeatureVectorizer", 1, [f(3, 2), f(3, 1)], inputdimensions=[2, 1], **ml)
case("", "LabelEncoder", 2, [i64(3, 9, 1)], keys_int64s=[1, 3], values_floats=[0.5, 2.5], default_float=-1.0, **ml)
case("", "LinearRegressor", 1, [f(3, 2)], coefficients=[1.0, 2.0, -1.0, 0.5], intercepts=[0.1, 0.2], targets=2, **ml)
case("", "LinearClassifier", 1, [f(3, 2)], outputs=2, coefficients=[1.0, 2.0, -1.0, 0.5, 0.3, 0.2], intercepts=[0.1, 0.2, 0.0], classlabels_ints=[4, 5, 6], post_transform="SOFTMAX", **ml)

np.savez_compressed("operators.npz", **arrays)
print(len({key.split("/")[0] for key in arrays}), "cases")

# A classifier of scikit-learn with strings as labels.
label = helper.make_node("ArrayFeatureExtractor", ["classes", "best"], ["row"], domain="ai.onnx.ml")
nodes = [
    helper.make_node("Scaler", ["x"], ["scaled"], domain="ai.onnx.ml", offset=[0.0] * 4, scale=[1.0] * 4),
    helper.make_node("MatMul", ["scaled", "w"], ["products"]),
    helper.make_node("Softmax", ["products"], ["p"]),
    helper.make_node("ArgMax", ["p"], ["best"], axis=1),
    label,
    helper.make_node("Reshape", ["row", "flat"], ["label"]),
    helper.make_node("ZipMap", ["p"], ["probabilities"], domain="ai.onnx.ml", classlabels_strings=["high", "low"]),
]
maps = helper.make_sequence_type_proto(helper.make_map_type_proto(TensorProto.STRING, helper.make_tensor_type_proto(TensorProto.FLOAT, [])))
graph = helper.make_graph(nodes, "classifier", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 4])],
                          [helper.make_tensor_value_info("label", TensorProto.STRING, ["n"]), helper.make_value_info("probabilities", maps)],
                          [numpy_helper.from_array(np.array([[1, -1], [0, 0], [0, 0], [0, 0]], np.float32), "w"), numpy_helper.from_array(i64(-1), "flat"),
                           helper.make_tensor("classes", TensorProto.STRING, [2], [b"high", b"low"])])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 1)], ir_version=8)
onnx.checker.check_model(model)
onnx.save(model, "classifier.onnx")
