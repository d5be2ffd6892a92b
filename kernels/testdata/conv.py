"""What PyTorch computes for small convolutions and pools, in float64, for TestConvAndPoolAgreeWithPyTorch.

usage: python conv.py > conv.json
"""
import json, torch
from torch.nn import functional as F

torch.manual_seed(5)
torch.set_default_dtype(torch.float64)
cases = []
INFINITE = 1e300  # JSON has no infinity; TestConvAndPoolAgreeWithPyTorch reads it as one


def number(t):
    return {"shape": list(t.shape), "values": [None if v != v else INFINITE * (1 if v > 0 else -1) if v in (float("inf"), -float("inf")) else float(f"{v:.8g}") for v in t.detach().double().flatten().tolist()]}


def case(kernel, inputs, outputs, **options):
    cases.append({"kernel": kernel, "in": [number(t) for t in inputs], "out": [number(t) for t in outputs], "options": options})


def each(value, axes):
    """A setting for each axis, with zeros up to three."""
    value = [value] * axes if isinstance(value, int) else list(value)
    return value + [0] * (3 - axes)


def pads(pad, axes):
    """Padding before and after each axis, with zeros up to three."""
    pad = [pad] * axes if isinstance(pad, int) else list(pad)
    return [[p, p] if isinstance(p, int) else list(p) for p in pad] + [[0, 0]] * (3 - axes)


def padded(x, pad, axes):
    return F.pad(x, [n for p in reversed(pads(pad, axes)[:axes]) for n in p])


conv = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
transposed = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}
for shape, weights, stride, pad, dilation, groups in [
    ((2, 3, 6, 5), (4, 3, 3, 2), (2, 1), (1, 0), 1, 1),
    ((1, 1, 4, 4), (2, 1, 3, 3), 1, 1, 1, 1),
    ((2, 2, 5, 7), (3, 2, 1, 4), (1, 3), (0, 2), 1, 1),
    ((2, 4, 6, 7), (6, 2, 3, 2), 1, 1, (2, 3), 2),
    ((2, 3, 5, 5), (6, 1, 3, 3), 2, [(1, 0), (2, 1)], 1, 3),
    ((2, 3, 9), (4, 3, 3), 2, [(2, 0)], 2, 1),
    ((1, 4, 8), (4, 1, 3), 1, 1, 1, 4),
    ((1, 2, 4, 5, 3), (3, 2, 2, 3, 2), (1, 2, 1), (1, 1, 0), (1, 1, 2), 1),
    ((2, 4, 3, 3, 4), (4, 2, 2, 2, 2), 1, [(0, 1), (1, 0), (0, 0)], 1, 2),
]:
    axes = len(shape) - 2
    x, w, b = torch.randn(shape, requires_grad=True), torch.randn(weights, requires_grad=True), torch.randn(weights[0], requires_grad=True)
    y = conv[axes](padded(x, pad, axes), w, b, stride, 0, dilation, groups)
    dy = torch.randn_like(y)
    dx, dw, db = torch.autograd.grad(y, (x, w, b), dy)
    options = dict(Stride=each(stride, axes), Padding=pads(pad, axes), Dilation=each(dilation, axes), Groups=groups)
    case("conv", [x, w, b], [y], **options)
    case("conv", [x, w, b], [F.relu(y)], Act=1, **options)
    case("conv grad x", [dy, w], [dx], **options)
    case("conv grad w", [x, dy], [dw, db], **options)

for shape, weights, stride, pad, extra, dilation, groups in [
    ((2, 3, 4, 5), (3, 2, 3, 3), (2, 3), (1, 0), (1, 2), 1, 1),
    ((1, 4, 3, 3), (4, 1, 2, 3), 2, 0, 1, (1, 2), 2),
    ((2, 2, 5), (2, 3, 4), 3, 1, 2, 1, 1),
    ((1, 2, 2, 3, 2), (2, 2, 3, 2, 2), 2, (1, 0, 0), (1, 0, 1), 1, 1),
]:
    axes = len(shape) - 2
    x, w = torch.randn(shape), torch.randn(weights)
    y = transposed[axes](x, w, None, stride, pad, extra, groups, dilation)
    case("conv grad x", [x, w], [y], Stride=each(stride, axes), Padding=pads(pad, axes), Dilation=each(dilation, axes), Groups=groups)

maximum = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}
average = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}
for shape, kernel, stride, pad, dilation, ceil, exclude in [
    ((2, 3, 6, 5), (2, 2), (2, 2), 0, 1, False, False),
    ((2, 3, 6, 5), (3, 2), (1, 2), 1, 1, False, False),
    ((2, 3, 6, 5), (2, 3), (3, 1), (1, 0), 1, False, True),
    ((1, 2, 7, 8), (3, 2), (2, 3), (1, 1), 1, True, False),
    ((1, 2, 7, 8), (3, 2), (2, 3), (1, 1), 1, True, True),
    ((1, 2, 9, 8), (3, 2), (1, 2), (1, 1), (2, 3), False, False),
    ((2, 2, 9), (3,), (2,), 1, 1, True, True),
    ((2, 2, 9), (2,), (2,), 1, 2, True, False),
    ((1, 2, 4, 5, 6), (2, 3, 2), (2, 1, 2), (1, 1, 0), 1, False, True),
    ((1, 2, 4, 5, 6), (2, 2, 3), (2, 2, 2), (0, 1, 1), (2, 1, 1), False, False),
]:
    axes = len(shape) - 2
    options = dict(Kernel=list(kernel) + [0] * (3 - axes), Stride=each(stride, axes), Padding=pads(pad, axes), Ceil=ceil)
    if dilation == 1:
        x = torch.randn(shape, requires_grad=True)
        y = average[axes](x, kernel, stride, pad, ceil, not exclude)
        dy = torch.randn_like(y)
        case("average pool", [x], [y], ExcludePadding=exclude, **options)
        case("average pool grad", [dy], torch.autograd.grad(y, x, dy), size=list(shape), ExcludePadding=exclude, **options)
    x = torch.randint(0, 4, shape).double()  # with ties, and a NaN
    x.view(-1)[7] = float("nan")
    x.requires_grad_()
    y, index = maximum[axes](x, kernel, stride, pad, dilation, ceil, return_indices=True)
    dy = torch.randn_like(y)
    case("max pool", [x], [y, index], Dilation=each(dilation, axes), **options)
    case("max pool grad", [dy, index], torch.autograd.grad(y, x, dy), Dilation=each(dilation, axes), **options)

# NaN wherever a window may meet one or several, and infinities.
for shape, kernel, stride, pad in [
    ((1, 8, 6, 5), (2, 2), (2, 2), 0),
    ((2, 8, 7, 6), (3, 3), (2, 2), 1),
    ((2, 3, 9), (3,), (1,), 1),
]:
    axes = len(shape) - 2
    options = dict(Kernel=list(kernel) + [0] * (3 - axes), Stride=each(stride, axes), Padding=pads(pad, axes))
    x = torch.randint(-2, 3, shape).double()
    x[torch.rand(shape) < 0.2] = float("nan")
    x[torch.rand(shape) < 0.2] = -float("inf")
    x.requires_grad_()
    y, index = maximum[axes](x, kernel, stride, pad, return_indices=True)
    dy = torch.randn_like(y)
    case("max pool", [x], [y, index], **options)
    case("max pool grad", [dy, index], torch.autograd.grad(y, x, dy), **options)
    x = torch.randn(shape)
    x[torch.rand(shape) < 0.1] = float("nan")
    x.requires_grad_()
    y = average[axes](x, kernel, stride, pad)
    dy = torch.randn_like(y)
    dy.view(-1)[3] = float("nan")
    case("average pool", [x], [y], **options)
    case("average pool grad", [dy], torch.autograd.grad(y, x, dy), size=list(shape), **options)

print(json.dumps({"torch": torch.__version__, "cases": cases}, separators=(",", ":")).replace('{"kernel"', '\n{"kernel"'))
