package byname

import (
	"slices"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// T is short for the many types of functions below.
type T = tensor.Tensor

// A line is an operation: its signature, as in PyTorch's documentation, and the function that computes it, whose
// parameters are in the same order.
type line struct {
	signature string
	f         any
}

// table lists all operations that can be called by name, as they are called in PyTorch below torch.
var table = []line{
	{"abs(input)", (*T).Abs},
	{"acos(input)", (*T).Acos},
	{"acosh(input)", (*T).Acosh},
	{"asin(input)", (*T).Asin},
	{"asinh(input)", (*T).Asinh},
	{"atan(input)", (*T).Atan},
	{"atanh(input)", (*T).Atanh},
	{"ceil(input)", (*T).Ceil},
	{"cos(input)", (*T).Cos},
	{"cosh(input)", (*T).Cosh},
	{"deg2rad(input)", (*T).Deg2Rad},
	{"digamma(input)", (*T).Digamma},
	{"erf(input)", (*T).Erf},
	{"erfc(input)", (*T).Erfc},
	{"erfinv(input)", (*T).Erfinv},
	{"exp(input)", (*T).Exp},
	{"exp2(input)", (*T).Exp2},
	{"expm1(input)", (*T).Expm1},
	{"floor(input)", (*T).Floor},
	{"frac(input)", (*T).Frac},
	{"isfinite(input)", (*T).IsFinite},
	{"isinf(input)", (*T).IsInf},
	{"isnan(input)", (*T).IsNaN},
	{"lgamma(input)", (*T).Lgamma},
	{"log(input)", (*T).Log},
	{"log10(input)", (*T).Log10},
	{"log1p(input)", (*T).Log1p},
	{"log2(input)", (*T).Log2},
	{"logit(input)", (*T).Logit},
	{"nan_to_num(input, nan=None, posinf=None, neginf=None)", nanToNum},
	{"neg(input)", (*T).Neg},
	{"rad2deg(input)", (*T).Rad2Deg},
	{"reciprocal(input)", (*T).Reciprocal},
	{"round(input, decimals=0)", func(x *T, decimals int) *T { return x.Round(decimals) }},
	{"rsqrt(input)", (*T).RSqrt},
	{"sigmoid(input)", (*T).Sigmoid},
	{"sign(input)", (*T).Sign},
	{"sin(input)", (*T).Sin},
	{"sinc(input)", (*T).Sinc},
	{"sinh(input)", (*T).Sinh},
	{"sqrt(input)", (*T).Sqrt},
	{"square(input)", (*T).Square},
	{"tan(input)", (*T).Tan},
	{"tanh(input)", (*T).Tanh},
	{"trunc(input)", (*T).Trunc},

	{"add(input, other)", beside((*T).Add, (*T).AddScalar)},
	{"sub(input, other)", beside((*T).Sub, (*T).SubScalar)},
	{"mul(input, other)", beside((*T).Mul, (*T).MulScalar)},
	{"div(input, other)", beside((*T).Div, (*T).DivScalar)},
	{"floor_divide(input, other)", beside((*T).FloorDiv, (*T).FloorDivScalar)},
	{"remainder(input, other)", beside((*T).Remainder, (*T).RemainderScalar)},
	{"fmod(input, other)", beside((*T).FMod, (*T).FModScalar)},
	{"pow(input, exponent)", beside((*T).Pow, (*T).PowScalar)},
	{"maximum(input, other)", (*T).Maximum},
	{"minimum(input, other)", (*T).Minimum},
	{"fmax(input, other)", (*T).FMax},
	{"fmin(input, other)", (*T).FMin},
	{"atan2(input, other)", (*T).Atan2},
	{"hypot(input, other)", (*T).Hypot},
	{"copysign(input, other)", (*T).CopySign},
	{"heaviside(input, values)", (*T).Heaviside},
	{"logaddexp(input, other)", (*T).LogAddExp},
	{"xlogy(input, other)", (*T).Xlogy},
	{"eq(input, other)", beside((*T).Eq, (*T).EqScalar)},
	{"ne(input, other)", beside((*T).Ne, (*T).NeScalar)},
	{"lt(input, other)", beside((*T).Lt, (*T).LtScalar)},
	{"le(input, other)", beside((*T).Le, (*T).LeScalar)},
	{"gt(input, other)", beside((*T).Gt, (*T).GtScalar)},
	{"ge(input, other)", beside((*T).Ge, (*T).GeScalar)},
	{"isclose(input, other, rtol=1e-05, atol=1e-08)", (*T).IsClose},
	{"logical_and(input, other)", (*T).And},
	{"logical_or(input, other)", (*T).Or},
	{"logical_xor(input, other)", (*T).Xor},
	{"logical_not(input)", (*T).Not},
	{"bitwise_and(input, other)", (*T).BitAnd},
	{"bitwise_or(input, other)", (*T).BitOr},
	{"bitwise_xor(input, other)", (*T).BitXor},
	{"bitwise_not(input)", (*T).BitNot},
	{"bitwise_left_shift(input, other)", (*T).ShiftLeft},
	{"bitwise_right_shift(input, other)", (*T).ShiftRight},
	{"clamp(input, min=None, max=None)", (*T).Clamp},
	{"lerp(input, end, weight)", (*T).Lerp},
	{"addcmul(input, tensor1, tensor2, value=1)", (*T).AddCMul},
	{"addcdiv(input, tensor1, tensor2, value=1)", (*T).AddCDiv},
	{"where(condition, input, other)", where},

	{"nn.functional.relu(input)", (*T).ReLU},
	{"nn.functional.relu6(input)", (*T).ReLU6},
	{"nn.functional.leaky_relu(input, negative_slope=0.01)", (*T).LeakyReLU},
	{"nn.functional.prelu(input, weight)", (*T).PReLU},
	{"nn.functional.elu(input, alpha=1.0)", func(x *T, alpha float64) *T { return x.ELU(alpha, 1) }},
	{"nn.functional.celu(input, alpha=1.0)", (*T).CELU},
	{"nn.functional.selu(input)", (*T).SELU},
	{"nn.functional.gelu(input, approximate='none')", gelu},
	{"nn.functional.silu(input)", (*T).SiLU},
	{"nn.functional.mish(input)", (*T).Mish},
	{"nn.functional.softplus(input, beta=1.0, threshold=20.0)", (*T).SoftplusBeta},
	{"nn.functional.softsign(input)", (*T).Softsign},
	{"nn.functional.logsigmoid(input)", (*T).LogSigmoid},
	{"nn.functional.hardsigmoid(input)", (*T).Hardsigmoid},
	{"nn.functional.hardswish(input)", (*T).Hardswish},
	{"nn.functional.hardtanh(input, min_val=-1.0, max_val=1.0)", (*T).Hardtanh},
	{"nn.functional.threshold(input, threshold, value)", (*T).Threshold},

	{"sum(input, dim=None, keepdim=False)", reduction((*T).Sum)},
	{"mean(input, dim=None, keepdim=False)", reduction((*T).Mean)},
	{"prod(input, dim=None, keepdim=False)", reduction((*T).Prod)},
	{"amax(input, dim=None, keepdim=False)", reduction((*T).Max)},
	{"amin(input, dim=None, keepdim=False)", reduction((*T).Min)},
	{"max(input, dim=None, keepdim=False)", extreme((*T).Max, (*T).MaxWithIndex)},
	{"min(input, dim=None, keepdim=False)", extreme((*T).Min, (*T).MinWithIndex)},
	{"argmax(input, dim=None, keepdim=False)", reduction((*T).ArgMax)},
	{"argmin(input, dim=None, keepdim=False)", reduction((*T).ArgMin)},
	{"any(input, dim=None, keepdim=False)", reduction((*T).Any)},
	{"all(input, dim=None, keepdim=False)", reduction((*T).All)},
	{"nansum(input, dim=None, keepdim=False)", reduction((*T).NanSum)},
	{"nanmean(input, dim=None, keepdim=False)", reduction((*T).NanMean)},
	{"count_nonzero(input, dim=None)", func(x *T, dim []int) *T { return x.CountNonzero(dim...) }},
	{"logsumexp(input, dim, keepdim=False)", reduction((*T).LogSumExp)},
	{"var(input, dim=None, correction=1, keepdim=False)", variance((*T).Var)},
	{"std(input, dim=None, correction=1, keepdim=False)", variance((*T).Std)},
	{"norm(input, p=2.0, dim=None, keepdim=False)", func(x *T, p float64, dim []int, keep bool) *T { return x.Norm(p, axes(dim, keep)...) }},
	{"quantile(input, q, dim=None, keepdim=False)", func(x *T, q float64, dim []int, keep bool) *T { return x.Quantile(q, axes(dim, keep)...) }},
	{"nn.functional.softmax(input, dim)", (*T).Softmax},
	{"nn.functional.log_softmax(input, dim)", (*T).LogSoftmax},
	{"nn.functional.layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-05)", layerNorm},
	{"cumsum(input, dim)", (*T).CumSum},
	{"cumprod(input, dim)", (*T).CumProd},
	{"cummax(input, dim)", (*T).CumMax},
	{"cummin(input, dim)", (*T).CumMin},
	{"logcumsumexp(input, dim)", (*T).LogCumSumExp},
	{"sort(input, dim=-1, descending=False)", (*T).Sort},
	{"argsort(input, dim=-1, descending=False)", (*T).ArgSort},
	{"topk(input, k, dim=-1, largest=True)", (*T).TopK},
	{"kthvalue(input, k, dim=-1)", (*T).KthValue},
	{"searchsorted(sorted_sequence, input, right=False)", tensor.SearchSorted},
	{"bucketize(input, boundaries, right=False)", (*T).Bucketize},
	{"trace(input)", (*T).Trace},

	{"matmul(input, other)", (*T).MatMul},
	{"bmm(input, mat2)", (*T).BMM},
	{"mv(input, vec)", (*T).MV},
	{"dot(input, tensor)", (*T).Dot},
	{"outer(input, vec2)", (*T).Outer},
	{"kron(input, other)", (*T).Kron},
	{"linalg.cross(input, other, dim=-1)", (*T).Cross},
	{"addmm(input, mat1, mat2, beta=1.0, alpha=1.0)", func(x, a, b *T, beta, alpha float64) *T { return tensor.GEMM(alpha, a, b, beta, x) }},
	{"einsum(equation, *operands)", func(equation string, xs []*T) *T { return tensor.Einsum(equation, xs...) }},
	{"nn.functional.linear(input, weight, bias=None)", func(x, w, b *T) *T { return tensor.Linear(x, w, b, tensor.NoActivation) }},
	{"nn.functional.conv1d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1)", convolution(1)},
	{"nn.functional.conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1)", convolution(2)},
	{"nn.functional.conv3d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1)", convolution(3)},
	{"nn.functional.max_pool1d(input, kernel_size, stride=None, padding=0)", pooling((*T).MaxPool, 1)},
	{"nn.functional.max_pool2d(input, kernel_size, stride=None, padding=0)", pooling((*T).MaxPool, 2)},
	{"nn.functional.max_pool3d(input, kernel_size, stride=None, padding=0)", pooling((*T).MaxPool, 3)},
	{"nn.functional.avg_pool1d(input, kernel_size, stride=None, padding=0)", pooling((*T).AvgPool, 1)},
	{"nn.functional.avg_pool2d(input, kernel_size, stride=None, padding=0)", pooling((*T).AvgPool, 2)},
	{"nn.functional.avg_pool3d(input, kernel_size, stride=None, padding=0)", pooling((*T).AvgPool, 3)},
	{"nn.functional.cross_entropy(input, target)", tensor.CrossEntropy},
	{"nn.functional.mse_loss(input, target)", tensor.MeanSquaredError},

	{"cat(tensors, dim=0)", func(xs []*T, dim int) *T { return tensor.Cat(dim, xs...) }},
	{"stack(tensors, dim=0)", func(xs []*T, dim int) *T { return tensor.Stack(dim, xs...) }},
	{"gather(input, dim, index)", (*T).Gather},
	{"scatter(input, dim, index, src)", scatter((*T).Scatter)},
	{"scatter_add(input, dim, index, src)", scatter((*T).ScatterAdd)},
	{"index_select(input, dim, index)", (*T).IndexSelect},
	{"index_add(input, dim, index, source)", (*T).IndexAdd},
	{"index_copy(input, dim, index, source)", (*T).IndexCopy},
	{"index_fill(input, dim, index, value)", (*T).IndexFill},
	{"take(input, index)", (*T).Take},
	{"take_along_dim(input, indices, dim)", func(x, index *T, dim int) *T { return x.TakeAlong(dim, index) }},
	{"masked_fill(input, mask, value)", (*T).MaskedFill},
	{"tril(input, diagonal=0)", (*T).Tril},
	{"triu(input, diagonal=0)", (*T).Triu},
	{"flip(input, dims)", (*T).Flip},
	{"roll(input, shifts, dims)", func(x *T, shift, dim int) *T { return x.Roll(dim, shift) }},
	{"tile(input, dims)", (*T).Tile},
	{"repeat_interleave(input, repeats, dim)", func(x *T, repeats []int, dim int) *T { return x.RepeatInterleave(dim, repeats...) }},
	{"nn.functional.pad(input, pad, mode='constant', value=0.0)", pad},
}

// beside is an operation on x and a tensor or a number.
func beside(f func(x, y *T) *T, number func(x *T, s any) *T) func(x *T, other any) *T {
	return func(x *T, other any) *T {
		if y, ok := other.(*T); ok {
			return f(x, y)
		}
		return number(x, other)
	}
}

func where(condition *T, input, other any) *T {
	x, isTensor := input.(*T)
	y, too := other.(*T)
	switch {
	case isTensor && too:
		return tensor.Where(condition, x, y)
	case isTensor:
		return x.MaskedFill(condition.Not(), other)
	case too:
		return y.MaskedFill(condition, input)
	}
	tensor.Fail("where", storage.ErrState, "input and other are numbers; want a tensor")
	return nil
}

// axes returns the axes of a reduction as package tensor takes them.
func axes(dim []int, keep bool) []int {
	if keep {
		return append([]int{tensor.KeepDims}, dim...)
	}
	return dim
}

func reduction(f func(x *T, axes ...int) *T) func(x *T, dim []int, keep bool) *T {
	return func(x *T, dim []int, keep bool) *T { return f(x, axes(dim, keep)...) }
}

// extreme returns one result of all elements, and values and indices along an axis.
func extreme(all func(x *T, axes ...int) *T, along func(x *T, axis int) (values, index *T)) func(x *T, dim []int, keep bool) []*T {
	return func(x *T, dim []int, keep bool) []*T {
		if len(dim) == 0 {
			return []*T{all(x, axes(nil, keep)...)}
		}
		if len(dim) > 1 {
			tensor.Fail("max or min", views.ErrShape, "along axes %v; want one, or amax or amin of several", dim)
		}
		values, index := along(x, dim[0])
		if keep {
			values, index = values.Unsqueeze(dim[0]), index.Unsqueeze(dim[0])
		}
		return []*T{values, index}
	}
}

func variance(f func(x *T, axes ...int) *T) func(x *T, dim []int, correction int, keep bool) *T {
	return func(x *T, dim []int, correction int, keep bool) *T {
		return f(x, append([]int{tensor.Correction(correction)}, axes(dim, keep)...)...)
	}
}

// scatter uses the part of src that index has places for, as PyTorch does.
func scatter(f func(x *T, dim int, index, src *T) *T) func(x *T, dim int, index, src *T) *T {
	return func(x *T, dim int, index, src *T) *T {
		for axis := range min(src.Rank(), index.Rank()) {
			if n := index.Size(axis); n < src.Size(axis) {
				src = src.Narrow(axis, 0, n)
			}
		}
		return f(x, dim, index, src)
	}
}

// layerNorm refuses an eps of 0, which stands for 1e-5 in package tensor.
func layerNorm(x *T, shape []int, weight, bias *T, eps float64) *T {
	if eps == 0 {
		tensor.Fail("layer_norm", storage.ErrState, "eps is 0; want a number above it")
	}
	return tensor.LayerNorm(x, shape, weight, bias, eps)
}

func gelu(x *T, approximate string) *T {
	switch approximate {
	case "none":
		return x.GELU()
	case "tanh":
		return x.GELUTanh()
	}
	tensor.Fail("gelu", storage.ErrState, "approximate is %q; want none or tanh", approximate)
	return nil
}

func nanToNum(x *T, nan, above, below *float64) *T {
	y := x.NanToNum()
	for _, to := range []struct {
		value *float64
		where func(x *T) *T
	}{{nan, (*T).IsNaN}, {above, (*T).IsPosInf}, {below, (*T).IsNegInf}} {
		if to.value != nil {
			y = y.MaskedFill(to.where(x), *to.value)
		}
	}
	return y
}

func pad(x *T, sizes []int, mode string, value float64) *T {
	switch mode {
	case "constant":
		return x.PadConstant(value, sizes...)
	case "replicate":
		return x.PadEdge(sizes...)
	case "reflect":
		return x.PadReflect(sizes...)
	case "circular":
		return x.PadWrap(sizes...)
	}
	tensor.Fail("pad", storage.ErrState, "mode is %q; want constant, replicate, reflect or circular", mode)
	return nil
}

// spatial returns a number for each of n axes, of one for all or one for each, none of them below least.
func spatial(op, setting string, sizes []int, n, least int) (all [3]int) {
	if len(sizes) != 1 && len(sizes) != n || slices.Min(sizes) < least {
		tensor.Fail(op, views.ErrShape, "%s is %v; want 1 or %d integers from %d on", setting, sizes, n, least)
	}
	for axis := range n {
		all[axis] = sizes[axis%len(sizes)]
	}
	return all
}

func checkRank(op string, x *T, n int) {
	if x.Rank() != n+2 {
		tensor.Fail(op, views.ErrShape, "input %v; want %d axes: samples, channels and %d spatial ones", x.Shape(), n+2, n)
	}
}

func convolution(n int) func(x, w, b *T, stride, padding, dilation []int, groups int) *T {
	return func(x, w, b *T, stride, padding, dilation []int, groups int) *T {
		const op = "conv"
		checkRank(op, x, n)
		if groups < 1 {
			tensor.Fail(op, views.ErrShape, "groups is %d; want 1 or more", groups)
		}
		around := spatial(op, "padding", padding, n, 0)
		return tensor.Conv(x, w, b, tensor.ConvOptions{Stride: spatial(op, "stride", stride, n, 1), Padding: tensor.Pad(around[:]...),
			Dilation: spatial(op, "dilation", dilation, n, 1), Groups: groups})
	}
}

func pooling(f func(x *T, o tensor.PoolOptions) *T, n int) func(x *T, kernel, stride, padding []int) *T {
	return func(x *T, kernel, stride, padding []int) *T {
		const op = "pool"
		checkRank(op, x, n)
		o := tensor.PoolOptions{Kernel: spatial(op, "kernel_size", kernel, n, 1)}
		if stride != nil {
			o.Stride = spatial(op, "stride", stride, n, 1)
		}
		around := spatial(op, "padding", padding, n, 0)
		o.Padding = tensor.Pad(around[:]...)
		return f(x, o)
	}
}
