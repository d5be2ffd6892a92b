"""PyTorch's results for small inputs, in float64, for TestReferenceLoopsAgreeWithPyTorch.

usage: python pytorch.py > pytorch.json
"""
import json, torch
from torch.nn import functional as F

torch.manual_seed(3)
torch.set_default_dtype(torch.float64)
cases = []


def number(t):
    return {"shape": list(t.shape), "values": [float(f"{v:.12g}") for v in t.detach().flatten().tolist()]}


def case(kernel, inputs, outputs, **settings):
    cases.append({"kernel": kernel, "in": [number(t) for t in inputs], "out": [number(t) for t in outputs], "set": settings})


def grads(y, dy, *of):
    return torch.autograd.grad(y, of, dy)


x, y = torch.randn(2, 1, 3, 4), torch.randn(3, 4, 2)
case("matmul", [x, y], [x @ y])

x, w, b = torch.randn(3, 4), torch.randn(5, 4), torch.randn(5)
for act, f in enumerate([lambda z: z, F.relu, torch.tanh, torch.sigmoid]):
    case("linear", [x, w, b], [f(F.linear(x, w, b))], Act=act)

for shape in [(5, 3), (2, 3, 4, 3)]:
    x, g, b = torch.randn(shape, requires_grad=True), torch.randn(3, requires_grad=True), torch.randn(3, requires_grad=True)
    mean, variance = torch.randn(3), torch.rand(3) + 0.5
    m, v = mean.clone(), variance.clone()
    y = F.batch_norm(x, m, v, g, b, True, 0.1, 1e-3)
    dy = torch.randn_like(y)
    axes = [a for a in range(len(shape)) if a != 1]
    saved, invstd = x.mean(axes), 1 / torch.sqrt(x.var(axes, unbiased=False) + 1e-3)
    case("batch norm", [x, g, b], [y, saved, invstd, m, v], Epsilon=1e-3, Momentum=0.1, before=[number(mean), number(variance)])
    case("batch norm grad", [x, g, dy, saved, invstd], grads(y, dy, x, g, b), Epsilon=1e-3)
    y = F.batch_norm(x, mean, variance, g, b, False, 0.1, 1e-3)
    case("batch norm eval", [x, g, b, mean, variance], [y], Epsilon=1e-3)
    case("batch norm eval grad", [x, g, dy, mean, variance], grads(y, dy, x, g, b), Epsilon=1e-3)

for shape in [(4, 5), (3, 1)]:
    x, g, b = torch.randn(shape, requires_grad=True), torch.randn(shape[1], requires_grad=True), torch.randn(shape[1], requires_grad=True)
    mean, invstd = x.mean(1), 1 / torch.sqrt(x.var(1, unbiased=False) + 1e-3)
    y = F.layer_norm(x, shape[1:], g, b, 1e-3)
    dy = torch.randn_like(y)
    case("layer norm", [x, g, b], [y, mean, invstd], Epsilon=1e-3)
    case("layer norm grad", [x, dy, mean, invstd, g], grads(y, dy, x, g, b))
    y = F.layer_norm(x, shape[1:], eps=1e-3)
    case("layer norm", [x], [y, mean, invstd], Epsilon=1e-3)
    case("layer norm grad", [x, dy, mean, invstd], grads(y, dy, x))

for limit in [0.5, 100]:
    parameters = [torch.nn.Parameter(torch.randn(s)) for s in [(3, 4), (5,)]]
    for p in parameters:
        p.grad = torch.randn_like(p)
    before = [p.grad.clone() for p in parameters]
    torch.nn.utils.clip_grad_norm_(parameters, limit)
    factor = (parameters[0].grad / before[0]).flatten()[0]
    case("clip factor", before, [factor], Limit=limit)
    case("scale all", before + [factor], [p.grad for p in parameters])

print(json.dumps({"torch": torch.__version__, "cases": cases}, separators=(",", ":")).replace('{"kernel"', '\n{"kernel"'))
