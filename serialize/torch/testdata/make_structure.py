#!/usr/bin/env python3
"""Writes the values of Python whose types and structure names do not tell: structure_*.pt."""
import collections, os, pathlib
import numpy as np
import torch

folder = os.path.dirname(os.path.abspath(__file__))
one, two = torch.ones(1), torch.tensor([1.0, 2.0])
values = {
    "dict": {
        "w": one, "layers": [{"w": one, "b": two}, {"w": two}], "pair": (one, [two, None]), "mixed": [one, 1, "a"], "none": [],
        "best": float("inf"), "worst": -float("inf"), "nan": float("nan"), "floats": [float("inf"), 1.5, "Inf"], "number": "1", "null": "null", "list": "[1]",
        "scalars": (1, (2, "a"), None), "pairs": [(0.9, 0.999), (1, 2)], "some": [[1], (2,), b"x"], "empty": (), "bytes": b"ab", "binary": b"\xff'\\",
        "complex": 1.5 - 2j, "size": torch.Size([2, 3]), "device": torch.device("cuda:1"), "cpu": torch.device("cpu"), "dtype": torch.float16, "set": {1, 2},
        "strings": {"0": one, "1": {"x": two}}, "integers": {0: one, 1: {"x": two}}, "default": collections.defaultdict(list, {"a": [one]}),
        "counter": collections.Counter("aab"), "files": {"/tmp/best.pt": one, "a/b": two, "c/d": 3}, "a/b": {"c": one},
        "text": np.str_("é"), "path": pathlib.PurePosixPath("/a/b"),
    },
    "list": [one, {"a": two}, 3, "4"],
    "tuple": ({"a": one}, two, (one, one)),
    "tensor": two,
    "integers": {0: one, 1: two, 2: {"a": one}},
    "strings": {"0": {"w": one}, "1": {"w": two}},
    "scalars": {"w": one, "epoch": 3, "name": "7"},
    "inside": {"model": {"w": one, "_extra_state": {"version": 1, "table": two}, "blocks": [one, two], "num_updates": 5}, "epoch": 1, "history": [0.5, 0.25]},
    "classes": {
        "w": torch.nn.Parameter(one), "frozen": torch.nn.Parameter(two, requires_grad=False), "grad": torch.ones(2, requires_grad=True), "plain": two,
        "ordered": collections.OrderedDict(b=1, a={"c": one}, d=two), "empty": [collections.OrderedDict(), collections.Counter(), bytearray()],
        "counter": collections.Counter("aab"), "bytes": [bytearray(b"a\xff"), b"x", 1j, complex(0, -0.0)], "dtypes": (torch.float8_e8m0fnu, torch.per_tensor_affine, torch.sparse_coo),
        "sets": [{(1, 2), (3, 4)}, {1, "a", None, b"x"}, {2j}],
        "keys": {None: 1, True: 2, 2.5: 3, b"x": 4, (1, "a", (None,)): 5, 7: 6, "7": 8, "None": 9, "null": 10, torch.float32: 11, 2**70: 12},
        "tensors": {None: one, False: two, "false": one, 3: two, "3": one}, 5: one, ("x",): 2,
        "slashes": {"b/c": [1], "b": {"d": 2}}, "integer": 2**2039 - 1,
    },
    "both": {"model": {"w": one, "epoch": 5}, "epoch": 1},
}
for name, value in values.items():
    torch.save(value, os.path.join(folder, f"structure_{name}.pt"))

# State_dicts with modules of version 2, under names that begin with "module." and in another dict.
model = torch.nn.Sequential(torch.nn.Linear(1, 1), torch.nn.BatchNorm1d(1))
torch.save(torch.nn.DataParallel(model).state_dict(), os.path.join(folder, "modules.pt"))
torch.save({"a": model.state_dict(), "b": {"w": one}}, os.path.join(folder, "modules_inside.pt"))

# An archive of torch.package, which is not read.
from torch.package import PackageExporter
with PackageExporter(os.path.join(folder, "package.pt")) as package:
    package.extern("**")
    package.save_pickle("model", "model.pkl", {"w": one})

# Scalars and arrays of NumPy that are not read.
torch.save({"w": one, "date": np.datetime64("2024-01-02"), "long": np.longdouble(1.5), "longs": np.ones(2, "g")}, os.path.join(folder, "unread_numpy.pt"))
