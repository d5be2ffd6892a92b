"""Writes loops.json: what PyTorch makes of kernels' calls, in float64.

    python loops.py > loops.json
"""

import json

import torch

torch.manual_seed(1)
torch.set_default_dtype(torch.float64)
F = torch.nn.functional
cases = []


def numbers(x):
    x = x.detach()
    return {"Shape": list(x.shape), "Values": [float(v) for v in x.flatten()]}


def case(kernel, ins, outs, before=(), **settings):
    cases.append({"Kernel": kernel, "In": [numbers(x) for x in ins], "Out": [numbers(x) for x in outs],
                  "Before": [numbers(x) for x in before], "Options": settings})


def grad(f, x, dy):
    x = x.clone().requires_grad_()
    y = f(x)
    y.backward(dy)
    return y, x.grad


for name, f in [("relu", torch.relu), ("tanh", torch.tanh), ("sigmoid", torch.sigmoid)]:
    x, dy = torch.randn(3, 4), torch.randn(3, 4)
    y, dx = grad(f, x, dy)
    case(name, [x], [y])
    case(name + " grad", [y, dy], [dx])

for axis in (0, 1):
    for name, f in [("softmax", torch.softmax), ("log softmax", torch.log_softmax)]:
        x, dy = 3 * torch.randn(3, 4), torch.randn(3, 4)
        y, dx = grad(lambda x: f(x, axis), x, dy)
        case(name, [x], [y], Axis=axis)
        case(name + " grad", [y, dy], [dx], Axis=axis)

x, labels = 3 * torch.randn(5, 4), torch.tensor([3, 0, 1, 1, 2])
y, dx = grad(lambda x: F.cross_entropy(x, labels), x, torch.tensor(1.0))
case("cross entropy", [x, labels], [y, dx])
x, z = torch.randn(3, 4), torch.randn(3, 4)
y, dx = grad(lambda x: F.mse_loss(x, z), x, torch.tensor(1.0))
case("mean squared error", [x, z], [y, dx])

x = torch.randint(0, 3, (3, 4, 5)).double()
for axes in [(0,), (1,), (0, 2)]:
    y = torch.amax(x, axes, keepdim=True)
    dy = torch.randn(y.shape)
    _, dx = grad(lambda x: torch.amax(x, axes, keepdim=True), x, dy)
    case("max", [x], [y])
    case("max grad", [x, y, dy], [dx])
    case("mean", [x], [torch.mean(x, axes, keepdim=True)])
    case("sum", [x], [torch.sum(x, axes, keepdim=True)])

z, b, dy = torch.randn(2, 3, 2, 2), torch.randn(3, requires_grad=True), torch.randn(2, 3, 2, 2)
for act, f in enumerate([lambda x: x, torch.relu, torch.tanh, torch.sigmoid]):
    b.grad = None
    y, dz = grad(lambda z: f(z + b.view(3, 1, 1)), z, dy)
    case("bias act", [z, b], [y], Act=act)
    case("act grad bias", [y, dy], [dz, b.grad], Act=act)


def train(kernel, make, state, steps=3, **settings):
    """One case for each step: before and after it, the parameter and its state."""
    p = torch.randn(3, 4).requires_grad_()
    optimizer = make([p])
    old = [torch.zeros(3, 4) for _ in state]
    for step in range(steps):
        before = [p.detach().clone()] + old
        p.grad = torch.randn(3, 4)
        optimizer.step()
        old = [optimizer.state[p][key].clone() for key in state]
        if kernel == "adam":
            settings["Step"] = step + 1
        case(kernel, [p.grad], [p.clone()] + old, before, **settings)


O = torch.optim
train("sgd", lambda p: O.SGD(p, 0.1), [], Rate=0.1)
train("sgd", lambda p: O.SGD(p, 0.1, weight_decay=0.2), [], Rate=0.1, Decay=0.2)
train("sgd", lambda p: O.SGD(p, 0.1, 0.9, weight_decay=0.2), ["momentum_buffer"], Rate=0.1, Momentum=0.9, Decay=0.2)
train("sgd", lambda p: O.SGD(p, 0.1, 0.9, nesterov=True), ["momentum_buffer"], Rate=0.1, Momentum=0.9, Nesterov=True)
moments = ["exp_avg", "exp_avg_sq"]
train("adam", lambda p: O.Adam(p, 0.1, (0.8, 0.95), 1e-3, 0.2), moments, Rate=0.1, Beta1=0.8, Beta2=0.95, Eps=1e-3, Decay=0.2)
train("adam", lambda p: O.AdamW(p, 0.1, (0.8, 0.95), 1e-3, 0.2), moments, Rate=0.1, Beta1=0.8, Beta2=0.95, Eps=1e-3, Decay=0.2, Decoupled=True)

for name, f in [("gelu", F.gelu), ("gelu tanh", lambda x: F.gelu(x, approximate="tanh")), ("silu", F.silu)]:
    x, dy = 2 * torch.randn(3, 4), torch.randn(3, 4)
    y, dx = grad(f, x, dy)
    case(name, [x], [y])
    case(name + " grad", [x, dy], [dx])
x, y, w = torch.randn(3, 4), torch.randn(3, 4), torch.randn(3, 4)
case("multiply add", [x, y, w], [torch.addcmul(w, x, y)])
case("lerp", [x, y, w], [torch.lerp(x, y, w)])
case("clamp", [x, torch.minimum(y, w), torch.maximum(y, w)], [torch.clamp(x, torch.minimum(y, w), torch.maximum(y, w))])

print('{"Cases":[\n' + ",\n".join(json.dumps(c) for c in cases) + "\n]}")
