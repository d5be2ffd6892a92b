"""Calls operations of the library on arrays of NumPy and tensors of PyTorch, in their memory. The functions are in ops."""
import functools
import json
import math
import sys
from ctypes import addressof, byref, c_int32, c_int64, c_void_p

import numpy as np

from ._library import CODES, NUMPY, TYPES, Device, DTypeError, DeviceError, StateError, Tensor, call

_RESULTS = 4  # of an operation, at most
_AXES = 64
_CPU = Device(1, 0)
_NUMPY_CODES = {dtype: CODES[name] for name, dtype in NUMPY.items()}
_torch_codes = {}
_encode = json.JSONEncoder(allow_nan=False).encode


def _torch():
    """PyTorch, if the program has imported it. Without that, nothing can be a tensor of it."""
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "Tensor"):
        return None
    if not _torch_codes:
        _torch_codes.update({getattr(torch, name): code for name, code in CODES.items() if hasattr(torch, name)})
    return torch


def _view(address, code, shape, strides, *kept):
    """A DLTensor of memory. Strides count elements."""
    rank = len(shape)
    sizes = c_int64 * rank
    tensor = Tensor(address, _CPU, rank, code + (1,), sizes(*shape), sizes(*strides), 0)
    tensor.kept = kept
    return tensor


def _numpy_view(where, x, written):
    if isinstance(x, np.ma.MaskedArray):
        raise DTypeError(f"{where} is a masked array, whose mask would be lost; fill it first")
    if written and not x.flags.writeable:
        raise StateError(f"{where} is read-only")
    code, size = _NUMPY_CODES.get(x.dtype), x.dtype.itemsize
    if code is None or not x.flags.aligned or any(s % size for s in x.strides):
        native = x.dtype.newbyteorder("=")
        if native not in _NUMPY_CODES:
            raise DTypeError(f"{where} is of {x.dtype}, which h5dnn does not compute with")
        if written:
            raise DTypeError(f"{where} is not aligned, or not in the byte order of the machine; results cannot be written to it")
        x = x.astype(native, order="C")
        code = _NUMPY_CODES[native]
    return _view(x.__array_interface__["data"][0], code, x.shape, [s // size for s in x.strides], x)


def _torch_view(torch, where, x, written):
    if x.layout is not torch.strided:
        raise DTypeError(f"{where} has the layout {x.layout}; to_dense() makes it one that h5dnn computes with")
    if x.device.type != "cpu":
        raise DeviceError(f"{where} is on {x.device}; h5dnn.ops computes in the memory of the host; move it with cpu()")
    if x.requires_grad and torch.is_grad_enabled():
        raise StateError(f"{where} requires a gradient, which h5dnn does not record; detach() it, or call h5dnn in an autograd.Function")
    if x.is_conj() or x.is_neg():
        if written:
            raise StateError(f"{where} is a conjugate or negative view; results cannot be written to it")
        x = x.resolve_conj().resolve_neg()
    code = _torch_codes.get(x.dtype)
    if code is None:
        raise DTypeError(f"{where} is of {x.dtype}, which h5dnn does not compute with")
    return _view(x.data_ptr(), code, x.shape, x.stride(), x)


def _describe(where, x, written=False):
    """The DLTensor of an array, and whether it is PyTorch's."""
    if isinstance(x, np.ndarray) or isinstance(x, np.generic) and not written:
        return _numpy_view(where, np.asarray(x) if isinstance(x, np.generic) else x, written), False
    torch = _torch()
    if torch is not None and isinstance(x, torch.Tensor):
        return _torch_view(torch, where, x, written), True
    if hasattr(x, "__dlpack__"):
        if getattr(x, "__dlpack_device__", lambda: (1, 0))()[0] not in (1, 3):
            raise DeviceError(f"{where} is on a device; h5dnn.ops computes in the memory of the host")
        return _numpy_view(where, np.from_dlpack(x), written), False
    raise DTypeError(f"{where} is a {type(x).__name__}; want an array of NumPy or a tensor of PyTorch")


def _is_number(x):
    return isinstance(x, (bool, int, float, complex, np.number, np.bool_))


def _setting(value):
    """A setting as JSON has it."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, complex):
        return f"{value.real!r}{value.imag:+}i"
    if isinstance(value, (tuple, list)):
        return [_setting(v) for v in value]
    return value.tolist() if isinstance(value, np.ndarray) else value


def _addresses(tensors):
    return (c_void_p * len(tensors))(*(None if t is None else addressof(t) for t in tensors))


class _Operands:
    """The operands and the settings of a call, as the library takes them."""

    def __init__(self, name, names, values, settings):
        self.name = name
        self.operands, kinds = [], set()
        for i, x in enumerate(values):
            where = f"{name}: {names[i] if names else f'tensor {i}'}"
            if x is None:
                self.operands.append(None)
            elif names and i > 0 and _is_number(x):
                self.operands.append(None)
                settings[names[i]] = x
            else:
                tensor, torch = _describe(where, x)
                self.operands.append(tensor)
                kinds.add(torch)
        self.torch = kinds == {True}
        self.mixed = len(kinds) > 1
        try:
            self.settings = _encode({k: _setting(v) for k, v in settings.items()}).encode() if settings else b""
        except (TypeError, ValueError) as error:
            raise DTypeError(f"{name}: {error}; settings are numbers, texts and lists of numbers") from None
        self.arguments = name.encode(), self.settings, len(self.operands), _addresses(self.operands)

    def infer(self):
        """The codes and shapes of the results."""
        operands = tuple(None if t is None else ((t.type.code, t.type.bits), tuple(t.shape[:t.ndim])) for t in self.operands)
        return _infer(*self.arguments[:2], operands)

    def empty(self, code, shape):
        """A new array for a result."""
        if self.mixed:
            raise DTypeError(f"{self.name}: some operands are of NumPy, others of PyTorch; convert them, or name the result in out")
        if self.torch:
            return _torch().empty(shape, dtype=getattr(_torch(), TYPES[code]))
        if TYPES[code] not in NUMPY:
            raise DTypeError(f"{self.name}: the result is of {TYPES[code]}, which NumPy does not have")
        return np.empty(shape, NUMPY[TYPES[code]])

    def outputs(self, out):
        return [None if y is None else _describe(f"{self.name}: out", y, True)[0] for y in out]


@functools.lru_cache(4096)
def _infer(name, settings, operands):
    """The codes and shapes of the results of an operation on operands of codes and shapes."""
    tensors = [None if t is None else _view(None, *t, t[1]) for t in operands]
    results, sizes, count = (Tensor * _RESULTS)(), [(c_int64 * _AXES)() for _ in range(_RESULTS)], c_int32()
    for result, size in zip(results, sizes):
        result.shape = size
    call("infer", name, settings, len(tensors), _addresses(tensors), _RESULTS, results, byref(count))
    return [((r.type.code, r.type.bits), tuple(size[:r.ndim])) for r, size in zip(results[:count.value], sizes)]


def _written(out):
    """Tells PyTorch that tensors were written to, so that a backward pass that needs what they held fails."""
    torch = _torch()
    for y in out if torch is not None else ():
        if isinstance(y, torch.Tensor) and not y.is_inference():
            torch.autograd.graph.increment_version(y)


class _Gradients:
    """What vjp passes as out to a function of ops."""

    def __init__(self, incoming, needs, out):
        self.incoming, self.needs, self.out = incoming, needs, out


def compute(name, names, values, settings, out):
    """Calls an operation. names are the parameters that values are of, or None for an operation on a list."""
    if names is None and (isinstance(values, np.ndarray) or not isinstance(values, (tuple, list))):
        raise DTypeError(f"{name}: want a list of arrays")
    operands = _Operands(name, names, values, settings)
    if isinstance(out, _Gradients):
        return _vjp(operands, values, out)
    if out is None:
        results = [operands.empty(code, shape) for code, shape in operands.infer()]
    else:
        results = list(out) if isinstance(out, (tuple, list)) else [out]
    outputs = operands.outputs(results)
    try:
        call("call", *operands.arguments, len(outputs), _addresses(outputs))
    finally:
        if out is not None:
            _written(results)
    return results[0] if len(results) == 1 else tuple(results)


def _vjp(operands, values, wanted):
    name, incoming = operands.name, wanted.incoming
    incoming = list(incoming) if isinstance(incoming, (tuple, list)) else [incoming]
    gradients = [None if g is None else _describe(f"{name}: grad", g)[0] for g in incoming]
    n = len(operands.operands)
    if wanted.out is not None:
        results = list(wanted.out) if isinstance(wanted.out, (tuple, list)) else [wanted.out]
        if len(results) != n:
            raise DTypeError(f"{name}: out has {len(results)} arrays for the gradients of {n} operands; None leaves one out")
    else:
        needs = wanted.needs if wanted.needs is not None else [True] * n
        if len(needs) != n:
            raise DTypeError(f"{name}: needs has {len(needs)} values for {n} operands")
        results = [operands.empty((t.type.code, t.type.bits), t.shape[:t.ndim]) if t is not None and t.type.code in (2, 4, 5) and need else None
                   for t, need in zip(operands.operands, needs)]
    outputs = operands.outputs(results)
    try:
        call("vjp", *operands.arguments, len(gradients), _addresses(gradients), _addresses(outputs))
    finally:
        if wanted.out is not None:
            _written(y for y in results if y is not None)
    return tuple(results)


def vjp(function, grad, *operands, needs=None, out=None, **settings):
    """The gradients of the sum of grad*function(...) with respect to the operands (the vector-Jacobian product): a tuple with
    one for each operand, in order, or None for those that are left out, numbers, or not of floats. function is of
    h5dnn.ops, or calls one with its keywords; grad is an array of the shape and type of its result, or a tuple of them, with None for zeros.

        dx, dw = ops.vjp(ops.matmul, dy, x, w)

    needs says for each operand whether its gradient is wanted. out gives the arrays to write to, None where no gradient is wanted."""
    return function(*operands, out=_Gradients(grad, needs, out), **settings)


def set_num_threads(n):
    """Sets the number of threads that operations compute with, by default the number of processors; 1 in the child of a fork."""
    call("threads", int(n))
