"""Answers of PyTorch and NumPy to the calls on which package tensor tests its operations.

    python oracle.py INPUTS.h5 ANSWERS.h5     (with torch, numpy and h5py; make oracle runs it)

INPUTS.h5 is written by `go test ./tensor -run TestOracle -oracle-inputs INPUTS.h5`: a group for each call, named
after the operation and the shapes, with the operands in0, in1, … and the incoming gradient dy of the result.
ANSWERS.h5 has the same groups with the results out and the gradients grad0, grad1, … where there are any, in the
types that PyTorch gives them. Each module beside this one has a dictionary `ops`: the name of an operation to a
function of its operands, which are float64, uint8 (labels), int64 (indices) or bool tensors.
"""
import importlib
import pathlib
import sys

import h5py
import numpy as np
import torch


def table():
    ops = {}
    for path in sorted(pathlib.Path(__file__).parent.glob("*.py")):
        if path.stem != "oracle":
            for name, f in importlib.import_module(path.stem).ops.items():
                if name in ops:
                    raise SystemExit(f"{path.name}: {name} is there twice")
                ops[name] = f
    return ops


def answer(f, group, out):
    operands, leaves = [], []
    while f"in{len(operands)}" in group:
        x = torch.from_numpy(np.array(group[f"in{len(operands)}"]))
        x.requires_grad_(x.is_floating_point() or x.is_complex())
        operands.append(x)
        leaves.append(x if x.requires_grad else None)
    y = f(*operands)
    put(out, "out", y)
    if "dy" in group and y.requires_grad:
        wanted = [x for x in leaves if x is not None]
        grads = iter(torch.autograd.grad(y, wanted, torch.from_numpy(np.array(group["dy"])).to(y.dtype), allow_unused=True))
        for i, x in enumerate(leaves):
            dx = next(grads) if x is not None else None
            if dx is not None:
                put(out, f"grad{i}", dx)
    for i, x in enumerate(operands):
        put(out, f"in{i}", x)
    if "dy" in group:
        out["dy"] = np.array(group["dy"])


def put(out, name, x):
    out[name] = x.detach().resolve_conj().resolve_neg().contiguous().numpy()


def main(inputs, answers):
    ops, used = table(), set()
    with h5py.File(inputs) as f, h5py.File(answers, "w", libver="latest") as out:
        for key in f:
            name = key.split("[")[0]
            if name in ops:
                used.add(name)
                try:
                    answer(ops[name], f[key], out.create_group(key))
                except Exception as e:
                    raise SystemExit(f"{key}: {e!r}")
        names = {key.split("[")[0] for key in f}
        print(f"{len(out)} of {len(f)} calls answered; no answer: {', '.join(sorted(names - used)) or 'none'}")
        if set(ops) - used:
            print("no such operation:", ", ".join(sorted(set(ops) - used)))


main(*sys.argv[1:])
