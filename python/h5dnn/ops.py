"""Operations on arrays of NumPy and tensors of PyTorch, with PyTorch's names and parameters. With out=, a result is written to
the memory of an array, or of one for each result; without, it is a new array of the operands' kind.

This file is written by go test ./tensor/byname -rewrite.
"""
from ._compute import compute as _compute, set_num_threads, vjp

__all__ = ["set_num_threads", "vjp", "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "deg2rad", "digamma", "erf", "erfc", "erfinv", "exp", "exp2", "expm1", "floor", "frac", "isfinite", "isinf", "isnan", "lgamma", "log", "log10", "log1p", "log2", "logit", "nan_to_num", "neg", "rad2deg", "reciprocal", "round", "rsqrt", "sigmoid", "sign", "sin", "sinc", "sinh", "sqrt", "square", "tan", "tanh", "trunc", "add", "sub", "mul", "div", "floor_divide", "remainder", "fmod", "pow", "maximum", "minimum", "fmax", "fmin", "atan2", "hypot", "copysign", "heaviside", "logaddexp", "xlogy", "eq", "ne", "lt", "le", "gt", "ge", "isclose", "logical_and", "logical_or", "logical_xor", "logical_not", "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "bitwise_left_shift", "bitwise_right_shift", "clamp", "lerp", "addcmul", "addcdiv", "where", "relu", "relu6", "leaky_relu", "prelu", "elu", "celu", "selu", "gelu", "silu", "mish", "softplus", "softsign", "logsigmoid", "hardsigmoid", "hardswish", "hardtanh", "threshold", "sum", "mean", "prod", "amax", "amin", "max", "min", "argmax", "argmin", "any", "all", "nansum", "nanmean", "count_nonzero", "logsumexp", "var", "std", "norm", "quantile", "softmax", "log_softmax", "layer_norm", "cumsum", "cumprod", "cummax", "cummin", "logcumsumexp", "sort", "argsort", "topk", "kthvalue", "searchsorted", "bucketize", "trace", "matmul", "bmm", "mv", "dot", "outer", "kron", "cross", "addmm", "einsum", "linear", "conv1d", "conv2d", "conv3d", "max_pool1d", "max_pool2d", "max_pool3d", "avg_pool1d", "avg_pool2d", "avg_pool3d", "cross_entropy", "mse_loss", "cat", "stack", "gather", "scatter", "scatter_add", "index_select", "index_add", "index_copy", "index_fill", "take", "take_along_dim", "masked_fill", "tril", "triu", "flip", "roll", "tile", "repeat_interleave", "pad"]


def abs(input, *, out=None):
    """As torch.abs."""
    return _compute("abs", ("input",), (input,), {}, out)


def acos(input, *, out=None):
    """As torch.acos."""
    return _compute("acos", ("input",), (input,), {}, out)


def acosh(input, *, out=None):
    """As torch.acosh."""
    return _compute("acosh", ("input",), (input,), {}, out)


def asin(input, *, out=None):
    """As torch.asin."""
    return _compute("asin", ("input",), (input,), {}, out)


def asinh(input, *, out=None):
    """As torch.asinh."""
    return _compute("asinh", ("input",), (input,), {}, out)


def atan(input, *, out=None):
    """As torch.atan."""
    return _compute("atan", ("input",), (input,), {}, out)


def atanh(input, *, out=None):
    """As torch.atanh."""
    return _compute("atanh", ("input",), (input,), {}, out)


def ceil(input, *, out=None):
    """As torch.ceil."""
    return _compute("ceil", ("input",), (input,), {}, out)


def cos(input, *, out=None):
    """As torch.cos."""
    return _compute("cos", ("input",), (input,), {}, out)


def cosh(input, *, out=None):
    """As torch.cosh."""
    return _compute("cosh", ("input",), (input,), {}, out)


def deg2rad(input, *, out=None):
    """As torch.deg2rad."""
    return _compute("deg2rad", ("input",), (input,), {}, out)


def digamma(input, *, out=None):
    """As torch.digamma."""
    return _compute("digamma", ("input",), (input,), {}, out)


def erf(input, *, out=None):
    """As torch.erf."""
    return _compute("erf", ("input",), (input,), {}, out)


def erfc(input, *, out=None):
    """As torch.erfc."""
    return _compute("erfc", ("input",), (input,), {}, out)


def erfinv(input, *, out=None):
    """As torch.erfinv."""
    return _compute("erfinv", ("input",), (input,), {}, out)


def exp(input, *, out=None):
    """As torch.exp."""
    return _compute("exp", ("input",), (input,), {}, out)


def exp2(input, *, out=None):
    """As torch.exp2."""
    return _compute("exp2", ("input",), (input,), {}, out)


def expm1(input, *, out=None):
    """As torch.expm1."""
    return _compute("expm1", ("input",), (input,), {}, out)


def floor(input, *, out=None):
    """As torch.floor."""
    return _compute("floor", ("input",), (input,), {}, out)


def frac(input, *, out=None):
    """As torch.frac."""
    return _compute("frac", ("input",), (input,), {}, out)


def isfinite(input, *, out=None):
    """As torch.isfinite."""
    return _compute("isfinite", ("input",), (input,), {}, out)


def isinf(input, *, out=None):
    """As torch.isinf."""
    return _compute("isinf", ("input",), (input,), {}, out)


def isnan(input, *, out=None):
    """As torch.isnan."""
    return _compute("isnan", ("input",), (input,), {}, out)


def lgamma(input, *, out=None):
    """As torch.lgamma."""
    return _compute("lgamma", ("input",), (input,), {}, out)


def log(input, *, out=None):
    """As torch.log."""
    return _compute("log", ("input",), (input,), {}, out)


def log10(input, *, out=None):
    """As torch.log10."""
    return _compute("log10", ("input",), (input,), {}, out)


def log1p(input, *, out=None):
    """As torch.log1p."""
    return _compute("log1p", ("input",), (input,), {}, out)


def log2(input, *, out=None):
    """As torch.log2."""
    return _compute("log2", ("input",), (input,), {}, out)


def logit(input, *, out=None):
    """As torch.logit."""
    return _compute("logit", ("input",), (input,), {}, out)


def nan_to_num(input, nan=None, posinf=None, neginf=None, *, out=None):
    """As torch.nan_to_num."""
    return _compute("nan_to_num", ("input",), (input,), {"nan": nan, "posinf": posinf, "neginf": neginf}, out)


def neg(input, *, out=None):
    """As torch.neg."""
    return _compute("neg", ("input",), (input,), {}, out)


def rad2deg(input, *, out=None):
    """As torch.rad2deg."""
    return _compute("rad2deg", ("input",), (input,), {}, out)


def reciprocal(input, *, out=None):
    """As torch.reciprocal."""
    return _compute("reciprocal", ("input",), (input,), {}, out)


def round(input, decimals=0, *, out=None):
    """As torch.round."""
    return _compute("round", ("input",), (input,), {"decimals": decimals}, out)


def rsqrt(input, *, out=None):
    """As torch.rsqrt."""
    return _compute("rsqrt", ("input",), (input,), {}, out)


def sigmoid(input, *, out=None):
    """As torch.sigmoid."""
    return _compute("sigmoid", ("input",), (input,), {}, out)


def sign(input, *, out=None):
    """As torch.sign."""
    return _compute("sign", ("input",), (input,), {}, out)


def sin(input, *, out=None):
    """As torch.sin."""
    return _compute("sin", ("input",), (input,), {}, out)


def sinc(input, *, out=None):
    """As torch.sinc."""
    return _compute("sinc", ("input",), (input,), {}, out)


def sinh(input, *, out=None):
    """As torch.sinh."""
    return _compute("sinh", ("input",), (input,), {}, out)


def sqrt(input, *, out=None):
    """As torch.sqrt."""
    return _compute("sqrt", ("input",), (input,), {}, out)


def square(input, *, out=None):
    """As torch.square."""
    return _compute("square", ("input",), (input,), {}, out)


def tan(input, *, out=None):
    """As torch.tan."""
    return _compute("tan", ("input",), (input,), {}, out)


def tanh(input, *, out=None):
    """As torch.tanh."""
    return _compute("tanh", ("input",), (input,), {}, out)


def trunc(input, *, out=None):
    """As torch.trunc."""
    return _compute("trunc", ("input",), (input,), {}, out)


def add(input, other, *, out=None):
    """As torch.add."""
    return _compute("add", ("input", "other",), (input, other,), {}, out)


def sub(input, other, *, out=None):
    """As torch.sub."""
    return _compute("sub", ("input", "other",), (input, other,), {}, out)


def mul(input, other, *, out=None):
    """As torch.mul."""
    return _compute("mul", ("input", "other",), (input, other,), {}, out)


def div(input, other, *, out=None):
    """As torch.div."""
    return _compute("div", ("input", "other",), (input, other,), {}, out)


def floor_divide(input, other, *, out=None):
    """As torch.floor_divide."""
    return _compute("floor_divide", ("input", "other",), (input, other,), {}, out)


def remainder(input, other, *, out=None):
    """As torch.remainder."""
    return _compute("remainder", ("input", "other",), (input, other,), {}, out)


def fmod(input, other, *, out=None):
    """As torch.fmod."""
    return _compute("fmod", ("input", "other",), (input, other,), {}, out)


def pow(input, exponent, *, out=None):
    """As torch.pow."""
    return _compute("pow", ("input", "exponent",), (input, exponent,), {}, out)


def maximum(input, other, *, out=None):
    """As torch.maximum."""
    return _compute("maximum", ("input", "other",), (input, other,), {}, out)


def minimum(input, other, *, out=None):
    """As torch.minimum."""
    return _compute("minimum", ("input", "other",), (input, other,), {}, out)


def fmax(input, other, *, out=None):
    """As torch.fmax."""
    return _compute("fmax", ("input", "other",), (input, other,), {}, out)


def fmin(input, other, *, out=None):
    """As torch.fmin."""
    return _compute("fmin", ("input", "other",), (input, other,), {}, out)


def atan2(input, other, *, out=None):
    """As torch.atan2."""
    return _compute("atan2", ("input", "other",), (input, other,), {}, out)


def hypot(input, other, *, out=None):
    """As torch.hypot."""
    return _compute("hypot", ("input", "other",), (input, other,), {}, out)


def copysign(input, other, *, out=None):
    """As torch.copysign."""
    return _compute("copysign", ("input", "other",), (input, other,), {}, out)


def heaviside(input, values, *, out=None):
    """As torch.heaviside."""
    return _compute("heaviside", ("input", "values",), (input, values,), {}, out)


def logaddexp(input, other, *, out=None):
    """As torch.logaddexp."""
    return _compute("logaddexp", ("input", "other",), (input, other,), {}, out)


def xlogy(input, other, *, out=None):
    """As torch.xlogy."""
    return _compute("xlogy", ("input", "other",), (input, other,), {}, out)


def eq(input, other, *, out=None):
    """As torch.eq."""
    return _compute("eq", ("input", "other",), (input, other,), {}, out)


def ne(input, other, *, out=None):
    """As torch.ne."""
    return _compute("ne", ("input", "other",), (input, other,), {}, out)


def lt(input, other, *, out=None):
    """As torch.lt."""
    return _compute("lt", ("input", "other",), (input, other,), {}, out)


def le(input, other, *, out=None):
    """As torch.le."""
    return _compute("le", ("input", "other",), (input, other,), {}, out)


def gt(input, other, *, out=None):
    """As torch.gt."""
    return _compute("gt", ("input", "other",), (input, other,), {}, out)


def ge(input, other, *, out=None):
    """As torch.ge."""
    return _compute("ge", ("input", "other",), (input, other,), {}, out)


def isclose(input, other, rtol=1e-05, atol=1e-08, *, out=None):
    """As torch.isclose."""
    return _compute("isclose", ("input", "other",), (input, other,), {"rtol": rtol, "atol": atol}, out)


def logical_and(input, other, *, out=None):
    """As torch.logical_and."""
    return _compute("logical_and", ("input", "other",), (input, other,), {}, out)


def logical_or(input, other, *, out=None):
    """As torch.logical_or."""
    return _compute("logical_or", ("input", "other",), (input, other,), {}, out)


def logical_xor(input, other, *, out=None):
    """As torch.logical_xor."""
    return _compute("logical_xor", ("input", "other",), (input, other,), {}, out)


def logical_not(input, *, out=None):
    """As torch.logical_not."""
    return _compute("logical_not", ("input",), (input,), {}, out)


def bitwise_and(input, other, *, out=None):
    """As torch.bitwise_and."""
    return _compute("bitwise_and", ("input", "other",), (input, other,), {}, out)


def bitwise_or(input, other, *, out=None):
    """As torch.bitwise_or."""
    return _compute("bitwise_or", ("input", "other",), (input, other,), {}, out)


def bitwise_xor(input, other, *, out=None):
    """As torch.bitwise_xor."""
    return _compute("bitwise_xor", ("input", "other",), (input, other,), {}, out)


def bitwise_not(input, *, out=None):
    """As torch.bitwise_not."""
    return _compute("bitwise_not", ("input",), (input,), {}, out)


def bitwise_left_shift(input, other, *, out=None):
    """As torch.bitwise_left_shift."""
    return _compute("bitwise_left_shift", ("input", "other",), (input, other,), {}, out)


def bitwise_right_shift(input, other, *, out=None):
    """As torch.bitwise_right_shift."""
    return _compute("bitwise_right_shift", ("input", "other",), (input, other,), {}, out)


def clamp(input, min=None, max=None, *, out=None):
    """As torch.clamp."""
    return _compute("clamp", ("input", "min", "max",), (input, min, max,), {}, out)


def lerp(input, end, weight, *, out=None):
    """As torch.lerp."""
    return _compute("lerp", ("input", "end", "weight",), (input, end, weight,), {}, out)


def addcmul(input, tensor1, tensor2, value=1, *, out=None):
    """As torch.addcmul."""
    return _compute("addcmul", ("input", "tensor1", "tensor2", "value",), (input, tensor1, tensor2, value,), {}, out)


def addcdiv(input, tensor1, tensor2, value=1, *, out=None):
    """As torch.addcdiv."""
    return _compute("addcdiv", ("input", "tensor1", "tensor2", "value",), (input, tensor1, tensor2, value,), {}, out)


def where(condition, input, other, *, out=None):
    """As torch.where."""
    return _compute("where", ("condition", "input", "other",), (condition, input, other,), {}, out)


def relu(input, *, out=None):
    """As torch.nn.functional.relu."""
    return _compute("relu", ("input",), (input,), {}, out)


def relu6(input, *, out=None):
    """As torch.nn.functional.relu6."""
    return _compute("relu6", ("input",), (input,), {}, out)


def leaky_relu(input, negative_slope=0.01, *, out=None):
    """As torch.nn.functional.leaky_relu."""
    return _compute("leaky_relu", ("input",), (input,), {"negative_slope": negative_slope}, out)


def prelu(input, weight, *, out=None):
    """As torch.nn.functional.prelu."""
    return _compute("prelu", ("input", "weight",), (input, weight,), {}, out)


def elu(input, alpha=1.0, *, out=None):
    """As torch.nn.functional.elu."""
    return _compute("elu", ("input",), (input,), {"alpha": alpha}, out)


def celu(input, alpha=1.0, *, out=None):
    """As torch.nn.functional.celu."""
    return _compute("celu", ("input",), (input,), {"alpha": alpha}, out)


def selu(input, *, out=None):
    """As torch.nn.functional.selu."""
    return _compute("selu", ("input",), (input,), {}, out)


def gelu(input, approximate='none', *, out=None):
    """As torch.nn.functional.gelu."""
    return _compute("gelu", ("input",), (input,), {"approximate": approximate}, out)


def silu(input, *, out=None):
    """As torch.nn.functional.silu."""
    return _compute("silu", ("input",), (input,), {}, out)


def mish(input, *, out=None):
    """As torch.nn.functional.mish."""
    return _compute("mish", ("input",), (input,), {}, out)


def softplus(input, beta=1.0, threshold=20.0, *, out=None):
    """As torch.nn.functional.softplus."""
    return _compute("softplus", ("input",), (input,), {"beta": beta, "threshold": threshold}, out)


def softsign(input, *, out=None):
    """As torch.nn.functional.softsign."""
    return _compute("softsign", ("input",), (input,), {}, out)


def logsigmoid(input, *, out=None):
    """As torch.nn.functional.logsigmoid."""
    return _compute("logsigmoid", ("input",), (input,), {}, out)


def hardsigmoid(input, *, out=None):
    """As torch.nn.functional.hardsigmoid."""
    return _compute("hardsigmoid", ("input",), (input,), {}, out)


def hardswish(input, *, out=None):
    """As torch.nn.functional.hardswish."""
    return _compute("hardswish", ("input",), (input,), {}, out)


def hardtanh(input, min_val=-1.0, max_val=1.0, *, out=None):
    """As torch.nn.functional.hardtanh."""
    return _compute("hardtanh", ("input",), (input,), {"min_val": min_val, "max_val": max_val}, out)


def threshold(input, threshold, value, *, out=None):
    """As torch.nn.functional.threshold."""
    return _compute("threshold", ("input",), (input,), {"threshold": threshold, "value": value}, out)


def sum(input, dim=None, keepdim=False, *, out=None):
    """As torch.sum."""
    return _compute("sum", ("input",), (input,), {"dim": dim, "keepdim": keepdim}, out)


def mean(input, dim=None, keepdim=False, *, out=None):
    """As torch.mean."""
    return _compute("mean", ("input",), (input,), {"dim": dim, "keepdim": keepdim}, out)


def prod(input, dim=None, keepdim=False, *, out=None):
    """As torch.prod."""
    return _compute("prod", ("input",), (input,), {"dim": dim, "keepdim": keepdim}, out)


def amax(input, dim=None, keepdim=False, *, out=None):
    """As torch.amax."""
    return _compute("amax", ("input",), (input,), {"dim": dim, "keepdim": keepdim}, out)


def amin(input, dim=None, keepdim=False, *, out=None):
    """As torch.amin."""
    return _compute("amin", ("input",), (input,), {"dim": dim, "keepdim": keepdim}, out)


def max(input, dim=None, keepdim=False, *, out=None):
    """As torch.max."""
    return _compute("max", ("input",), (input,), {"dim": dim, "keepdim": keepdim}, out)


def min(input, dim=None, keepdim=False, *, out=None):
    """As torch.min."""
    return _compute("min", ("input",), (input,), {"dim": dim, "keepdim": keepdim}, out)


def argmax(input, dim=None, keepdim=False, *, out=None):
    """As torch.argmax."""
    return _compute("argmax", ("input",), (input,), {"dim": dim, "keepdim": keepdim}, out)


def argmin(input, dim=None, keepdim=False, *, out=None):
    """As torch.argmin."""
    return _compute("argmin", ("input",), (input,), {"dim": dim, "keepdim": keepdim}, out)


def any(input, dim=None, keepdim=False, *, out=None):
    """As torch.any."""
    return _compute("any", ("input",), (input,), {"dim": dim, "keepdim": keepdim}, out)


def all(input, dim=None, keepdim=False, *, out=None):
    """As torch.all."""
    return _compute("all", ("input",), (input,), {"dim": dim, "keepdim": keepdim}, out)


def nansum(input, dim=None, keepdim=False, *, out=None):
    """As torch.nansum."""
    return _compute("nansum", ("input",), (input,), {"dim": dim, "keepdim": keepdim}, out)


def nanmean(input, dim=None, keepdim=False, *, out=None):
    """As torch.nanmean."""
    return _compute("nanmean", ("input",), (input,), {"dim": dim, "keepdim": keepdim}, out)


def count_nonzero(input, dim=None, *, out=None):
    """As torch.count_nonzero."""
    return _compute("count_nonzero", ("input",), (input,), {"dim": dim}, out)


def logsumexp(input, dim, keepdim=False, *, out=None):
    """As torch.logsumexp."""
    return _compute("logsumexp", ("input",), (input,), {"dim": dim, "keepdim": keepdim}, out)


def var(input, dim=None, correction=1, keepdim=False, *, out=None):
    """As torch.var."""
    return _compute("var", ("input",), (input,), {"dim": dim, "correction": correction, "keepdim": keepdim}, out)


def std(input, dim=None, correction=1, keepdim=False, *, out=None):
    """As torch.std."""
    return _compute("std", ("input",), (input,), {"dim": dim, "correction": correction, "keepdim": keepdim}, out)


def norm(input, p=2.0, dim=None, keepdim=False, *, out=None):
    """As torch.norm."""
    return _compute("norm", ("input",), (input,), {"p": p, "dim": dim, "keepdim": keepdim}, out)


def quantile(input, q, dim=None, keepdim=False, *, out=None):
    """As torch.quantile."""
    return _compute("quantile", ("input",), (input,), {"q": q, "dim": dim, "keepdim": keepdim}, out)


def softmax(input, dim, *, out=None):
    """As torch.nn.functional.softmax."""
    return _compute("softmax", ("input",), (input,), {"dim": dim}, out)


def log_softmax(input, dim, *, out=None):
    """As torch.nn.functional.log_softmax."""
    return _compute("log_softmax", ("input",), (input,), {"dim": dim}, out)


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-05, *, out=None):
    """As torch.nn.functional.layer_norm."""
    return _compute("layer_norm", ("input", "weight", "bias",), (input, weight, bias,), {"normalized_shape": normalized_shape, "eps": eps}, out)


def cumsum(input, dim, *, out=None):
    """As torch.cumsum."""
    return _compute("cumsum", ("input",), (input,), {"dim": dim}, out)


def cumprod(input, dim, *, out=None):
    """As torch.cumprod."""
    return _compute("cumprod", ("input",), (input,), {"dim": dim}, out)


def cummax(input, dim, *, out=None):
    """As torch.cummax."""
    return _compute("cummax", ("input",), (input,), {"dim": dim}, out)


def cummin(input, dim, *, out=None):
    """As torch.cummin."""
    return _compute("cummin", ("input",), (input,), {"dim": dim}, out)


def logcumsumexp(input, dim, *, out=None):
    """As torch.logcumsumexp."""
    return _compute("logcumsumexp", ("input",), (input,), {"dim": dim}, out)


def sort(input, dim=-1, descending=False, *, out=None):
    """As torch.sort."""
    return _compute("sort", ("input",), (input,), {"dim": dim, "descending": descending}, out)


def argsort(input, dim=-1, descending=False, *, out=None):
    """As torch.argsort."""
    return _compute("argsort", ("input",), (input,), {"dim": dim, "descending": descending}, out)


def topk(input, k, dim=-1, largest=True, *, out=None):
    """As torch.topk."""
    return _compute("topk", ("input",), (input,), {"k": k, "dim": dim, "largest": largest}, out)


def kthvalue(input, k, dim=-1, *, out=None):
    """As torch.kthvalue."""
    return _compute("kthvalue", ("input",), (input,), {"k": k, "dim": dim}, out)


def searchsorted(sorted_sequence, input, right=False, *, out=None):
    """As torch.searchsorted."""
    return _compute("searchsorted", ("sorted_sequence", "input",), (sorted_sequence, input,), {"right": right}, out)


def bucketize(input, boundaries, right=False, *, out=None):
    """As torch.bucketize."""
    return _compute("bucketize", ("input", "boundaries",), (input, boundaries,), {"right": right}, out)


def trace(input, *, out=None):
    """As torch.trace."""
    return _compute("trace", ("input",), (input,), {}, out)


def matmul(input, other, *, out=None):
    """As torch.matmul."""
    return _compute("matmul", ("input", "other",), (input, other,), {}, out)


def bmm(input, mat2, *, out=None):
    """As torch.bmm."""
    return _compute("bmm", ("input", "mat2",), (input, mat2,), {}, out)


def mv(input, vec, *, out=None):
    """As torch.mv."""
    return _compute("mv", ("input", "vec",), (input, vec,), {}, out)


def dot(input, tensor, *, out=None):
    """As torch.dot."""
    return _compute("dot", ("input", "tensor",), (input, tensor,), {}, out)


def outer(input, vec2, *, out=None):
    """As torch.outer."""
    return _compute("outer", ("input", "vec2",), (input, vec2,), {}, out)


def kron(input, other, *, out=None):
    """As torch.kron."""
    return _compute("kron", ("input", "other",), (input, other,), {}, out)


def cross(input, other, dim=-1, *, out=None):
    """As torch.linalg.cross."""
    return _compute("cross", ("input", "other",), (input, other,), {"dim": dim}, out)


def addmm(input, mat1, mat2, beta=1.0, alpha=1.0, *, out=None):
    """As torch.addmm."""
    return _compute("addmm", ("input", "mat1", "mat2",), (input, mat1, mat2,), {"beta": beta, "alpha": alpha}, out)


def einsum(equation, *operands, out=None):
    """As torch.einsum."""
    return _compute("einsum", None, operands, {"equation": equation}, out)


def linear(input, weight, bias=None, *, out=None):
    """As torch.nn.functional.linear."""
    return _compute("linear", ("input", "weight", "bias",), (input, weight, bias,), {}, out)


def conv1d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, *, out=None):
    """As torch.nn.functional.conv1d."""
    return _compute("conv1d", ("input", "weight", "bias",), (input, weight, bias,), {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}, out)


def conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, *, out=None):
    """As torch.nn.functional.conv2d."""
    return _compute("conv2d", ("input", "weight", "bias",), (input, weight, bias,), {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}, out)


def conv3d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, *, out=None):
    """As torch.nn.functional.conv3d."""
    return _compute("conv3d", ("input", "weight", "bias",), (input, weight, bias,), {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}, out)


def max_pool1d(input, kernel_size, stride=None, padding=0, *, out=None):
    """As torch.nn.functional.max_pool1d."""
    return _compute("max_pool1d", ("input",), (input,), {"kernel_size": kernel_size, "stride": stride, "padding": padding}, out)


def max_pool2d(input, kernel_size, stride=None, padding=0, *, out=None):
    """As torch.nn.functional.max_pool2d."""
    return _compute("max_pool2d", ("input",), (input,), {"kernel_size": kernel_size, "stride": stride, "padding": padding}, out)


def max_pool3d(input, kernel_size, stride=None, padding=0, *, out=None):
    """As torch.nn.functional.max_pool3d."""
    return _compute("max_pool3d", ("input",), (input,), {"kernel_size": kernel_size, "stride": stride, "padding": padding}, out)


def avg_pool1d(input, kernel_size, stride=None, padding=0, *, out=None):
    """As torch.nn.functional.avg_pool1d."""
    return _compute("avg_pool1d", ("input",), (input,), {"kernel_size": kernel_size, "stride": stride, "padding": padding}, out)


def avg_pool2d(input, kernel_size, stride=None, padding=0, *, out=None):
    """As torch.nn.functional.avg_pool2d."""
    return _compute("avg_pool2d", ("input",), (input,), {"kernel_size": kernel_size, "stride": stride, "padding": padding}, out)


def avg_pool3d(input, kernel_size, stride=None, padding=0, *, out=None):
    """As torch.nn.functional.avg_pool3d."""
    return _compute("avg_pool3d", ("input",), (input,), {"kernel_size": kernel_size, "stride": stride, "padding": padding}, out)


def cross_entropy(input, target, *, out=None):
    """As torch.nn.functional.cross_entropy."""
    return _compute("cross_entropy", ("input", "target",), (input, target,), {}, out)


def mse_loss(input, target, *, out=None):
    """As torch.nn.functional.mse_loss."""
    return _compute("mse_loss", ("input", "target",), (input, target,), {}, out)


def cat(tensors, dim=0, *, out=None):
    """As torch.cat."""
    return _compute("cat", None, tensors, {"dim": dim}, out)


def stack(tensors, dim=0, *, out=None):
    """As torch.stack."""
    return _compute("stack", None, tensors, {"dim": dim}, out)


def gather(input, dim, index, *, out=None):
    """As torch.gather."""
    return _compute("gather", ("input", "index",), (input, index,), {"dim": dim}, out)


def scatter(input, dim, index, src, *, out=None):
    """As torch.scatter."""
    return _compute("scatter", ("input", "index", "src",), (input, index, src,), {"dim": dim}, out)


def scatter_add(input, dim, index, src, *, out=None):
    """As torch.scatter_add."""
    return _compute("scatter_add", ("input", "index", "src",), (input, index, src,), {"dim": dim}, out)


def index_select(input, dim, index, *, out=None):
    """As torch.index_select."""
    return _compute("index_select", ("input", "index",), (input, index,), {"dim": dim}, out)


def index_add(input, dim, index, source, *, out=None):
    """As torch.index_add."""
    return _compute("index_add", ("input", "index", "source",), (input, index, source,), {"dim": dim}, out)


def index_copy(input, dim, index, source, *, out=None):
    """As torch.index_copy."""
    return _compute("index_copy", ("input", "index", "source",), (input, index, source,), {"dim": dim}, out)


def index_fill(input, dim, index, value, *, out=None):
    """As torch.index_fill."""
    return _compute("index_fill", ("input", "index", "value",), (input, index, value,), {"dim": dim}, out)


def take(input, index, *, out=None):
    """As torch.take."""
    return _compute("take", ("input", "index",), (input, index,), {}, out)


def take_along_dim(input, indices, dim, *, out=None):
    """As torch.take_along_dim."""
    return _compute("take_along_dim", ("input", "indices",), (input, indices,), {"dim": dim}, out)


def masked_fill(input, mask, value, *, out=None):
    """As torch.masked_fill."""
    return _compute("masked_fill", ("input", "mask", "value",), (input, mask, value,), {}, out)


def tril(input, diagonal=0, *, out=None):
    """As torch.tril."""
    return _compute("tril", ("input",), (input,), {"diagonal": diagonal}, out)


def triu(input, diagonal=0, *, out=None):
    """As torch.triu."""
    return _compute("triu", ("input",), (input,), {"diagonal": diagonal}, out)


def flip(input, dims, *, out=None):
    """As torch.flip."""
    return _compute("flip", ("input",), (input,), {"dims": dims}, out)


def roll(input, shifts, dims, *, out=None):
    """As torch.roll."""
    return _compute("roll", ("input",), (input,), {"shifts": shifts, "dims": dims}, out)


def tile(input, dims, *, out=None):
    """As torch.tile."""
    return _compute("tile", ("input",), (input,), {"dims": dims}, out)


def repeat_interleave(input, repeats, dim, *, out=None):
    """As torch.repeat_interleave."""
    return _compute("repeat_interleave", ("input",), (input,), {"repeats": repeats, "dim": dim}, out)


def pad(input, pad, mode='constant', value=0.0, *, out=None):
    """As torch.nn.functional.pad."""
    return _compute("pad", ("input",), (input,), {"pad": pad, "mode": mode, "value": value}, out)
