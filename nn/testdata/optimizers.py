"""Parameters after each of 20 steps of PyTorch's optimizers, in float32 and float64, for optimizers_test.go; written to
optimizers.npz.

Run by hand, with torch and numpy: python optimizers.py
Arrays: start/NAME and grads/NAME, where NAME is matrix, vector or cube, and DESCRIPTION/TYPE, the elements of all three after
each step, where DESCRIPTION is that of the same optimizer here. LAMB, LARS and Lion, which PyTorch does not have, are the formulas of the papers
below. Muon's iteration is in the type of the parameter instead of bfloat16, in which only two digits agree.
"""
import inspect
import numpy as np, torch
from torch.optim import _muon

STEPS = 20


class Formula(torch.optim.Optimizer):
    """An optimizer by a formula: step(p, g, state, t) of a group's settings."""
    def __init__(self, params, step, **settings):
        super().__init__(params, settings)
        self.formula = step

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                s = self.state[p]
                s["t"] = s.get("t", 0) + 1
                p.copy_(torch.from_numpy(np.asarray(self.formula(p.numpy(), p.grad.numpy(), s, s["t"], **{k: v for k, v in group.items() if k != "params"}), p.numpy().dtype)))


def lamb(p, g, s, t, lr, b1=0.9, b2=0.999, eps=1e-6, weight_decay=0.01):
    # You et al., arXiv:1904.00962, algorithm 2, with phi(x) = x.
    s["m"] = b1 * s.get("m", 0) + (1 - b1) * g
    s["v"] = b2 * s.get("v", 0) + (1 - b2) * g * g
    r = s["m"] / (1 - b1**t) / (np.sqrt(s["v"] / (1 - b2**t)) + eps) + weight_decay * p
    size, length = np.linalg.norm(p), np.linalg.norm(r)
    return p - lr * (size / length if size > 0 and length > 0 else 1) * r


def lars(p, g, s, t, lr, momentum=0.9, weight_decay=0.0, eta=1e-3, eps=1e-8):
    # You, Gitman and Ginsburg, arXiv:1708.03888, algorithm 1; eps as in torchlars and Keras.
    size, slope = np.linalg.norm(p), np.linalg.norm(g)
    ratio = eta * size / (slope + weight_decay * size + eps) if size > 0 and slope > 0 else 1
    s["v"] = momentum * s.get("v", 0) + lr * ratio * (g + weight_decay * p)
    return p - s["v"]


def lion(p, g, s, t, lr, b1=0.9, b2=0.99, weight_decay=0.0):
    # Chen et al., arXiv:2302.06675, program 2.
    m = s.get("m", 0)
    s["m"] = b2 * m + (1 - b2) * g
    return p - lr * (np.sign(b1 * m + (1 - b1) * g) + weight_decay * p)


def of(kind, **settings):
    return lambda p: [kind(p.values(), **settings)]


def muon(adam=dict(lr=1e-3), decay=0.1, **settings):
    return lambda p: [torch.optim.Muon([p["matrix"]], weight_decay=decay, **settings), torch.optim.AdamW([p["vector"], p["cube"]], weight_decay=decay, **adam)]


code = inspect.getsource(_muon._zeropower_via_newtonschulz)
assert "grad.to(dtype=torch.bfloat16, copy=True)" in code
exec(code.replace("grad.to(dtype=torch.bfloat16, copy=True)", "grad.clone()"), vars(_muon))

o = torch.optim
optimizers = {
    '"sgd"': of(o.SGD, lr=0.01),
    '{"sgd": {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.1}}': of(o.SGD, lr=0.1, momentum=0.9, weight_decay=0.1),
    '{"sgd": {"lr": 0.1, "momentum": 0.8, "nesterov": true, "weight_decay": 0.01}}': of(o.SGD, lr=0.1, momentum=0.8, nesterov=True, weight_decay=0.01),
    '"adam"': of(o.Adam),
    '{"adam": {"lr": 0.05, "betas": [0.8, 0.99], "eps": 1e-3, "weight_decay": 0.1, "amsgrad": true}}': of(o.Adam, lr=0.05, betas=(0.8, 0.99), eps=1e-3, weight_decay=0.1, amsgrad=True),
    '"adamw"': of(o.AdamW),
    '{"adamw": {"lr": 0.05, "weight_decay": 0.3, "amsgrad": true}}': of(o.AdamW, lr=0.05, weight_decay=0.3, amsgrad=True),
    '{"adamw": {"lr": 0.05, "weight_decay": 0.3, "no_decay": "v*", "groups": [{"params": "cube", "lr": 0.01}]}}':
        lambda p: [o.AdamW([dict(params=[p["matrix"]]), dict(params=[p["vector"]], weight_decay=0), dict(params=[p["cube"]], lr=0.01)], lr=0.05, weight_decay=0.3)],
    '{"sgd": {"lr": 0.1, "momentum": 0.9, "groups": [{"params": ["matrix", "cube"], "freeze": true}]}}': lambda p: [o.SGD([p["vector"]], lr=0.1, momentum=0.9)],
    '"nadam"': of(o.NAdam),
    '{"nadam": {"lr": 0.05, "betas": [0.8, 0.99], "eps": 1e-3, "weight_decay": 0.1, "momentum_decay": 0.1}}': of(o.NAdam, lr=0.05, betas=(0.8, 0.99), eps=1e-3, weight_decay=0.1, momentum_decay=0.1),
    '{"nadam": {"lr": 0.05, "weight_decay": 0.1, "decoupled_weight_decay": true}}': of(o.NAdam, lr=0.05, weight_decay=0.1, decoupled_weight_decay=True),
    '"adamax"': of(o.Adamax),
    '{"adamax": {"lr": 0.05, "betas": [0.8, 0.9], "eps": 1e-3, "weight_decay": 0.1}}': of(o.Adamax, lr=0.05, betas=(0.8, 0.9), eps=1e-3, weight_decay=0.1),
    '"adagrad"': of(o.Adagrad),
    '{"adagrad": {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.5, "eps": 1e-3}}': of(o.Adagrad, lr=0.1, lr_decay=0.1, weight_decay=0.1, initial_accumulator_value=0.5, eps=1e-3),
    '"adadelta"': of(o.Adadelta),
    '{"adadelta": {"lr": 0.5, "rho": 0.8, "eps": 1e-3, "weight_decay": 0.1}}': of(o.Adadelta, lr=0.5, rho=0.8, eps=1e-3, weight_decay=0.1),
    '"rmsprop"': of(o.RMSprop),
    '{"rmsprop": {"lr": 0.02, "alpha": 0.9, "eps": 1e-3, "weight_decay": 0.1, "momentum": 0.8}}': of(o.RMSprop, lr=0.02, alpha=0.9, eps=1e-3, weight_decay=0.1, momentum=0.8),
    '{"rmsprop": {"lr": 0.02, "alpha": 0.9, "eps": 1e-3, "centered": true}}': of(o.RMSprop, lr=0.02, alpha=0.9, eps=1e-3, centered=True),
    '{"rmsprop": {"lr": 0.02, "alpha": 0.9, "eps": 1e-3, "centered": true, "momentum": 0.8}}': of(o.RMSprop, lr=0.02, alpha=0.9, eps=1e-3, centered=True, momentum=0.8),
    '"lion"': of(Formula, step=lion, lr=1e-4),
    '{"lion": {"lr": 0.05, "betas": [0.8, 0.95], "weight_decay": 0.1}}': of(Formula, step=lion, lr=0.05, b1=0.8, b2=0.95, weight_decay=0.1),
    '"lamb"': of(Formula, step=lamb, lr=1e-3),
    '{"lamb": {"lr": 0.05, "betas": [0.8, 0.99], "eps": 1e-3, "weight_decay": 0.1}}': of(Formula, step=lamb, lr=0.05, b1=0.8, b2=0.99, eps=1e-3, weight_decay=0.1),
    '"lars"': of(Formula, step=lars, lr=0.1),
    '{"lars": {"lr": 1, "momentum": 0.8, "weight_decay": 0.1, "trust_coefficient": 0.05, "eps": 1e-3}}': of(Formula, step=lars, lr=1.0, momentum=0.8, weight_decay=0.1, eta=0.05, eps=1e-3),
    '"adafactor"': of(o.Adafactor),
    '{"adafactor": {"lr": 0.3, "beta2_decay": -0.5, "eps1": 1e-3, "eps2": 0.1, "d": 1.5, "weight_decay": 0.1}}': of(o.Adafactor, lr=0.3, beta2_decay=-0.5, eps=(1e-3, 0.1), d=1.5, weight_decay=0.1),
    '"muon"': muon(),
    '{"muon": {"lr": 0.05, "weight_decay": 0.2, "momentum": 0.8, "no_nesterov": true, "ns_steps": 3, "adjust_lr_fn": "match_rms_adamw", "adam_lr": 0.01, "adam_beta1": 0.8}}':
        muon(dict(lr=0.01, betas=(0.8, 0.999)), 0.2, lr=0.05, momentum=0.8, nesterov=False, ns_steps=3, adjust_lr_fn="match_rms_adamw"),
}
random = np.random.default_rng(1)
shapes = dict(matrix=(3, 2), vector=(2,), cube=(2, 1, 2))
start = {name: random.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
grads = {name: random.standard_normal((STEPS, *shape)).astype(np.float32) for name, shape in shapes.items()}
arrays = {f"start/{name}": a for name, a in start.items()} | {f"grads/{name}": a for name, a in grads.items()}
for description, make in optimizers.items():
    for t in [torch.float32, torch.float64]:
        torch.set_default_dtype(t)
        params = {name: torch.nn.Parameter(torch.from_numpy(a).to(t).clone()) for name, a in start.items()}
        made = make(params)
        after = []
        for step in range(STEPS):
            for name, p in params.items():
                p.grad = torch.from_numpy(grads[name][step]).to(t)
            for one in made:
                one.step()
            after.append(np.concatenate([p.detach().numpy().ravel() for p in params.values()]))
        arrays[f"{description}/{str(t)[6:]}"] = np.stack(after)
np.savez_compressed("optimizers.npz", **arrays)
