"""Reductions along axes."""
import torch


def product(x, axes):
    for axis in sorted(axes, reverse=True):
        x = x.prod(axis)
    return x


ops = {
    "min": torch.min,
    "min 0": lambda x: x.amin(0),
    "min -1": lambda x: x.amin(-1, keepdim=True),
    "amax": lambda x: x.amax((0, 2)),
    "min with index": lambda x: x.min(1).values,
    "argmax all": torch.argmax,
    "argmax 0,2": lambda x: x.transpose(0, 1).flatten(1).argmax(1)[None, :, None],
    "argmin": lambda x: x.argmin(-1),
    "var": torch.var,
    "var 0": lambda x: x.var(0),
    "var 1,2": lambda x: x.var((1, 2), correction=0, keepdim=True),
    "std": lambda x: x.std(-1, correction=2),
    "var mean": lambda x: x.var(1) * x.mean(1),
    "std mean": lambda x: x.std(1) * x.mean(1),
    "prod": torch.prod,
    "prod 1": lambda x: x.prod(1, keepdim=True),
    "prod 0,2": lambda x: product(x, (0, 2)),
    "any": lambda x: x.any(0),
    "all": lambda x: x.all(-1, keepdim=True),
    "count nonzero": lambda x: x.count_nonzero(1),
    "nan sum": lambda x: x.nansum(1),
    "nan mean": lambda x: x.nanmean(1),
    "log sum exp": lambda x: x.logsumexp(1),
    "norm 2": lambda x: torch.linalg.vector_norm(x),
    "norm 3": lambda x: torch.linalg.vector_norm(x, 3, 1, keepdim=True),
    "norm 1": lambda x: torch.linalg.vector_norm(x, 1, 0),
    "norm inf": lambda x: torch.linalg.vector_norm(x, float("inf"), 1),
}
