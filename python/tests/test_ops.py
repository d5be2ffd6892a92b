"""Operations on arrays of NumPy and tensors of PyTorch, compared with PyTorch's."""
import os
import subprocess
import sys

import numpy as np

from common import here, main, need, refused

import h5dnn
from h5dnn import ops

R = np.random.default_rng(1)


def normal(*shape):
    return R.standard_normal(shape).astype(np.float32)


X, Y, ROW, POSITIVE = normal(4, 6), normal(4, 6), normal(6), np.abs(normal(4, 6)) + 0.5
UNIT, INTS, BOOLS = np.clip(X, -0.9, 0.9), R.integers(1, 5, (4, 6)), X > 0
INDEX, PLACES = np.array([[0, 1, 2, 3, 0, 1]]), np.array([3, 0])
IMAGES = normal(2, 4, 9, 8)

# The arguments of each operation, X by default. The last one may be keywords.
CALLS = {
    **{name: (X, Y) for name in "sub mul maximum minimum fmax fmin atan2 hypot copysign logaddexp".split()},
    **{name: (X, 0.5) for name in "add eq ne lt le gt ge remainder fmod".split()},
    **{name: (X, POSITIVE) for name in "div floor_divide xlogy".split()},
    **{name: (POSITIVE,) for name in "digamma lgamma log log10 log1p log2 rsqrt sqrt reciprocal".split()},
    **{name: (UNIT,) for name in "acos asin atanh erfinv".split()},
    **{name: (BOOLS, Y > 0) for name in "logical_and logical_or logical_xor".split()},
    **{name: (INTS, INTS[::-1]) for name in "bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift".split()},
    **{name: (X, 1) for name in "softmax log_softmax cumsum cumprod cummax cummin logcumsumexp logsumexp quantile max min".split()},
    "acosh": (POSITIVE + 1,), "logit": (POSITIVE / 9,), "bitwise_not": (INTS,), "logical_not": (BOOLS,), "heaviside": (X, ROW), "isclose": (X, X),
    "pow": (POSITIVE, X), "clamp": (X, -0.5, 0.5), "lerp": (X, Y, 0.3), "addcmul": (X, Y, ROW, {"value": 2}), "addcdiv": (X, Y, POSITIVE, {"value": 0.5}),
    "where": (BOOLS, X, Y), "prelu": (X, np.array([0.2], np.float32)), "threshold": (X, 0.1, 2.0), "quantile": (X, 0.3, 1), "nanmean": (X, 1),
    "layer_norm": (X, (6,), ROW, ROW[::-1]), "kthvalue": (X, 2), "topk": (X, 3), "searchsorted": (np.sort(ROW), X), "bucketize": (X, np.sort(ROW)),
    "matmul": (X, Y.T), "bmm": (IMAGES[0], IMAGES[1].transpose(0, 2, 1)), "mv": (X, ROW), "dot": (ROW, ROW[::-1]), "outer": (ROW, ROW), "kron": (X, Y),
    "cross": (X[:, :3], Y[:, :3]), "addmm": (normal(4, 4), X, Y.T, {"beta": 0.5, "alpha": 2}), "einsum": ("ij,kj->ik", X, Y), "linear": (X, Y, normal(4)),
    "conv1d": (IMAGES[0], normal(3, 9, 3), normal(3)), "conv2d": (IMAGES, normal(6, 2, 3, 2), None, 2, (1, 0), 1, 2), "conv3d": (IMAGES[None], normal(3, 2, 2, 3, 3)),
    "max_pool1d": (IMAGES[0], 2), "max_pool2d": (IMAGES, (3, 2), 2, 1), "max_pool3d": (IMAGES[None], 2), "avg_pool1d": (IMAGES[0], 3, 1, 1),
    "avg_pool2d": (IMAGES, 2), "avg_pool3d": (IMAGES[None], 2), "cross_entropy": (X, np.array([0, 5, 2, 2])), "mse_loss": (X, Y),
    "cat": ([X, Y], 1), "stack": ([X, Y], -1), "gather": (X, 0, INDEX), "scatter": (X, 0, np.array([[3, 2, 1, 0, 3, 2]]), Y[:1]), "scatter_add": (X, 0, R.integers(0, 4, (4, 6)), Y),
    "index_select": (X, 0, PLACES), "index_add": (X, 0, PLACES, Y[:2]), "index_copy": (X, 0, PLACES, Y[:2]), "index_fill": (X, 0, PLACES, 7.0),
    "take": (X, INDEX), "take_along_dim": (X, INDEX, 0), "masked_fill": (X, BOOLS, 3.0), "flip": (X, (0, 1)), "roll": (X, 2, 1), "tile": (X, (2, 3)),
    "repeat_interleave": (X, 2, 1), "pad": (X, (1, 2)), "trace": (X[:, :4],), "nan_to_num": (np.where(BOOLS, np.float32(np.nan), X), 2.0),
}


def as_torch(torch, x):
    if isinstance(x, list):
        return [as_torch(torch, v) for v in x]
    return torch.from_numpy(np.array(x)) if isinstance(x, np.ndarray) else x


def theirs(torch, name):
    """PyTorch's function that the docstring of ours names."""
    f = torch
    for part in getattr(ops, name).__doc__.removeprefix("As torch.").removesuffix(".").split("."):
        f = getattr(f, part)
    return f


def several(y):
    return tuple(y) if isinstance(y, (tuple, list)) or hasattr(y, "_fields") else (y,)


def test_results_and_gradients_are_those_of_pytorch():
    torch = need("torch")
    for name in ops.__all__[2:]:
        args = CALLS.get(name, (X,))
        args, words = (args[:-1], args[-1]) if isinstance(args[-1], dict) else (args, {})
        tensors = [as_torch(torch, a) for a in args]
        want = several(theirs(torch, name)(*tensors, **words))
        for way, got in ("NumPy", getattr(ops, name)(*args, **words)), ("PyTorch", getattr(ops, name)(*tensors, **words)):
            assert len(several(got)) == len(want), (name, way)
            for g, w in zip(several(got), want):
                assert isinstance(g, torch.Tensor if way == "PyTorch" else np.ndarray), (name, way)
                assert tuple(g.shape) == tuple(w.shape) and str(g.dtype).split(".")[-1] == str(w.dtype).split(".")[-1], (name, way, g.dtype, w.dtype, g.shape, w.shape)
                assert np.allclose(np.asarray(g), w.numpy(), 1e-4, 1e-5, equal_nan=True), (name, way, g, w)
        compare_gradients(torch, name, tensors, words, want)
        if name in ("mul", "exp", "sum", "matmul"):
            tensors = [t * (1 + 0.5j) if t.is_floating_point() else t for t in tensors]
            compare_gradients(torch, name, tensors, words, several(theirs(torch, name)(*tensors)))


def compare_gradients(torch, name, tensors, words, want):
    def has_gradient(t):
        return isinstance(t, torch.Tensor) and (t.is_floating_point() or t.is_complex())
    if not has_gradient(want[0]):
        return
    lists = isinstance(tensors[0], list)
    flat = tensors[0] if lists else tensors
    leaves = [t.clone().requires_grad_() if has_gradient(t) else t for t in flat]
    results = several(theirs(torch, name)(leaves, *tensors[1:], **words) if lists else theirs(torch, name)(*leaves, **words))
    if not results[0].requires_grad or name in ("floor_divide", "heaviside", "nextafter"):  # PyTorch has no gradient of these
        return
    dy = torch.randn(results[0].shape, dtype=results[0].dtype)
    inputs = [t for t in leaves if isinstance(t, torch.Tensor) and t.requires_grad]
    expected = torch.autograd.grad(results[0], inputs, dy, allow_unused=True)
    got = ops.vjp(getattr(ops, name), (dy,) + (None,) * (len(results) - 1), *tensors, **words)
    got = [g for g in got if g is not None]
    assert len(got) == len(expected), (name, len(got), len(expected))
    for g, w in zip(got, expected):
        assert np.allclose(g.numpy(), 0 if w is None else w.numpy(), 1e-3, 1e-4), (name, g, w)


# Arrays of other layouts, as functions of X or another matrix.
LAYOUTS = {"transposed": np.transpose, "reversed": lambda x: x[::-1, ::-2], "steps": lambda x: x[1::2, ::3], "Fortran": np.asfortranarray,
           "repeated": lambda x: np.broadcast_to(x[0], (3, x.shape[1])), "empty": lambda x: x[:, 3:3], "no axes": lambda x: x[1, 2, ...], "big-endian": lambda x: x.astype(">f4"),
           "unaligned": lambda x: np.frombuffer(b"-" + x.tobytes(), np.uint8)[1:].view(np.float32), "read-only": lambda x: np.frombuffer(x.tobytes(), np.float32)}


def test_operands_and_outputs_of_all_layouts():
    for name, layout in LAYOUTS.items():
        x = layout(X)
        apart = np.array(x, np.float32)
        assert np.array_equal(ops.neg(x), -apart), name
        assert np.allclose(ops.vjp(ops.sin, apart, x)[0], np.cos(apart) * apart, atol=1e-6), name
        if x.ndim == 2:
            assert np.allclose(ops.matmul(x, apart.T), apart @ apart.T, atol=1e-5) and np.allclose(ops.sum(x, 0), apart.sum(0), atol=1e-5), name
        if name in ("transposed", "reversed", "steps", "Fortran", "empty", "no axes"):
            out = layout(np.zeros((4, 6), np.float32))
            assert ops.exp(x, out=out) is out and np.allclose(out, np.exp(apart)), name


def test_results_over_operands():
    y = np.arange(5, dtype=np.float32)
    address = y.ctypes.data
    assert ops.add(y, 1, out=y) is y and y.ctypes.data == address and y.tolist() == [1, 2, 3, 4, 5]
    ops.add(y[:-1], y[1:], out=y[1:])
    assert y.tolist() == [1, 3, 5, 7, 9]
    ops.neg(y[::-1], out=y)
    assert y.tolist() == [-9, -7, -5, -3, -1]
    square = np.arange(9, dtype=np.float32).reshape(3, 3)
    ops.matmul(square, square.T, out=square)
    assert square.tolist() == [[5, 14, 23], [14, 50, 86], [23, 86, 149]]
    places = np.empty(3, np.int64)
    values, got = ops.sort(square[0, ::-1], descending=True, out=(square[0], places))
    assert got is places and values.tolist() == [23, 14, 5] == square[0].tolist() and places.tolist() == [0, 1, 2]


def test_numbers_beside_arrays():
    ones = np.ones(2, np.float32)
    for number, dtype in ((2, "float32"), (True, "float32"), (np.float64(2), "float32"), (2j, "complex64"), (float("nan"), "float32"), (-np.inf, "float32")):
        y = ops.mul(ones, number)
        assert y.dtype == dtype and np.array_equal(y, ones * np.complex64(number) if dtype == "complex64" else ones * np.float32(number), equal_nan=True), number
    assert ops.exp(np.float32(0)).shape == () and ops.add(np.arange(2), 0.5).dtype == "float32"
    assert ops.where(ones > 0, ones, 7).tolist() == [1, 1] and ops.clamp(ones, max=0.5).tolist() == [0.5, 0.5]


def test_the_largest_elements():
    assert ops.max(X) == X.max() and ops.min(X, out=np.empty((), np.float32)) == X.min()
    values, indices = ops.max(X, 0, keepdim=True)
    assert values.tolist() == [X.max(0).tolist()] and indices.tolist() == [X.argmax(0).tolist()]


def test_wrong_calls_are_refused_in_one_line():
    read_only, windows = np.frombuffer(X.tobytes(), np.float32), np.lib.stride_tricks.sliding_window_view(np.zeros(9, np.float32), 3, writeable=True)
    packed = np.zeros(4, [("a", "u1"), ("b", "f4")])["b"]
    for kind, text, call in (
            (TypeError, "add: other is a list", lambda: ops.add(X, [1])), (TypeError, "exp: input is a str", lambda: ops.exp("x")),
            (ValueError, "do not broadcast", lambda: ops.add(X, X[:, :4])), (ValueError, "exp: the result float32 [4 6] does not fit float32 [4 5]", lambda: ops.exp(X, out=np.zeros((4, 5), np.float32))),
            (ValueError, "does not fit float64", lambda: ops.exp(X, out=np.zeros((4, 6)))), (ValueError, "exp: out is read-only", lambda: ops.exp(X[0], out=read_only[:6])),
            (ValueError, "may have elements that share memory", lambda: ops.exp(X[:, :3], out=windows[:4])), (TypeError, "exp: out is not aligned", lambda: ops.exp(X[0, :4], out=packed)),
            (TypeError, "masked", lambda: ops.exp(np.ma.masked_array([1.0], [True]))), (TypeError, "object", lambda: ops.exp(np.array([None]))),
            (ValueError, "softmax: dim is 'a'".replace("'", '"'), lambda: ops.softmax(X, "a")), (ValueError, "no axis 5", lambda: ops.softmax(X, 5)), (TypeError, "argument", lambda: ops.softmax(X)),
            (TypeError, "does not hold the number", lambda: ops.add(np.ones(2, np.int8), 300)), (ValueError, "1180591620717411303424", lambda: ops.add(INTS, 2**70)),
            (ValueError, "outputs 0 and 1 share memory", lambda: ops.sort(POSITIVE, out=(POSITIVE, POSITIVE))), (ValueError, "2 results and 1 output", lambda: ops.sort(X, out=X.copy())),
            (TypeError, "has no gradient", lambda: ops.vjp(ops.neg, INTS, INTS, out=INTS.copy())), (ValueError, "[4 5]", lambda: ops.vjp(ops.exp, X[:, :5], X)),
            (TypeError, "want a list", lambda: ops.cat(X)), (ValueError, "no operands", lambda: ops.cat([])), (ValueError, "largest", lambda: ops.amax(X[:0]))):
        with refused(kind, text):
            call()


def test_tensors_of_pytorch():
    torch = need("torch")
    x = torch.arange(6.0).reshape(2, 3)
    assert ops.relu(x[:, 1:], out=x[:, 1:]).data_ptr() == x.data_ptr() + 4
    assert torch.equal(ops.exp(torch.ones(2, dtype=torch.bfloat16)), torch.ones(2, dtype=torch.bfloat16).exp())
    assert ops.mul(torch.tensor([1 + 2j]).conj(), 1).tolist() == [1 - 2j]
    leaf = torch.ones(3, requires_grad=True)
    for kind, text, call in (
            (ValueError, "input requires a gradient", lambda: ops.exp(leaf)), (TypeError, "sparse", lambda: ops.exp(torch.eye(2).to_sparse())),
            (h5dnn.DeviceError, "exp: input is on meta", lambda: ops.exp(torch.ones(2, device="meta"))), (ValueError, "share memory", lambda: ops.exp(x[0], out=torch.zeros(1).expand(3))),
            (TypeError, "some operands are of NumPy", lambda: ops.add(x, X[:2, :3])), (ValueError, "conjugate", lambda: ops.exp(x[0], out=torch.ones(3, dtype=torch.complex64).conj()))):
        with refused(kind, text):
            call()
    assert np.allclose(ops.add(x, X[:2, :3], out=np.zeros((2, 3), np.float32)), x.numpy() + X[:2, :3])
    y = leaf * 2
    z = y * y  # whose gradient needs y
    ops.neg(y.detach(), out=y.detach())
    with refused(RuntimeError, ""):
        try:
            z.sum().backward()
        except RuntimeError as error:
            raise RuntimeError(str(error).splitlines()[0]) from None


def test_the_example():
    need("torch")
    root = os.path.dirname(here)
    done = subprocess.run([sys.executable, "-B", os.path.join(root, "examples", "interop.py")], stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": root})
    assert done.returncode == 0 and done.stdout == """\
mul: the result float32 [4 3 2] does not fit float32 [4 3]
[-18. -19.] [-4. -5.]
tensor([[20., 22., 24.],
        [26., 28., 30.]]) True
True
True
True
""", done.stdout


def test_nothing_but_numpy_is_imported():
    code = f"import sys; sys.path.insert(0, {os.path.dirname(here)!r}); import h5dnn.ops; print('torch' in sys.modules, 'libh5dnn' in open('/proc/self/maps').read())"
    assert subprocess.run([sys.executable, "-B", "-c", code], stdout=subprocess.PIPE, text=True).stdout == "False False\n"


if __name__ == "__main__":
    main(__name__)
