#!/usr/bin/env python3
"""Writes objects of which neither arrays nor metadata have everything: omitted.pt, and a module with
tensors that its state_dict does not have: omitted_module.pt."""
import argparse, collections, datetime, enum, os, pathlib, sys, types
import numpy as np
import torch

folder = os.path.dirname(os.path.abspath(__file__))
program = sys.modules["program"] = types.ModuleType("program") # which no reader has


def define(cls):
    cls.__module__, cls.__qualname__ = "program", cls.__name__
    setattr(program, cls.__name__, cls)
    return cls


@define
class Color(enum.Enum):
    RED = 1


@define
class Named(torch.Tensor):
    pass


@define
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(1, 1)
        self.layer.scale = torch.ones(2)
        self.table = {"rows": [torch.ones(3)], "name": "x"}
        self.register_buffer("mask", torch.ones(2), persistent=False)
        self.settings = {"rate": 0.5}


@define
def activation(x):
    return x


one = torch.ones(1)
annotated = torch.ones(2)
annotated.unit, annotated.limits, annotated.mask, annotated.names = "m", [1, 2.5], torch.ones(2), {"a": 1}
torch.save({
    "w": one, "args": argparse.Namespace(rate=0.5, table=one), "when": datetime.date(2026, 1, 2), "color": Color.RED,
    "functions": [activation, 1], "layer": torch.nn.ReLU, "annotated": annotated, "named": torch.ones(2).as_subclass(Named),
    "file": "b\udcff.pt", "keys": {"k\udcff": one, (1, "a"): one, None: one, 2: one, "3": one}, "long": {2**70: one}, "array": np.arange(2),
}, os.path.join(folder, "omitted.pt"))


counted = collections.OrderedDict(a=1)
counted.note = "x"
torch.save({
    "w": one, "frozen": [frozenset({1}), (frozenset({2}), {"x": frozenset()})], "sets": {frozenset({1}), 2}, "deque": collections.deque([1], maxlen=2), "queues": [collections.deque([one])],
    "default": collections.defaultdict(list, a=[]), "ordered": counted, "paths": [pathlib.PurePosixPath("a"), pathlib.PurePosixPath()],
    "numbers": [np.float32(0.5), np.float32(2), np.uint64(2**64 - 1), np.complex64(1j), np.bool_(True), np.str_("a")], "number": np.int8(3), "array": np.arange(2), "matrix": np.matrix([1]),
    "storage": torch.ones(1).untyped_storage(), "long": 1 << 2040, "range": range(2), "type": int, "same/name": 1, "same": {"name": 2}, "both/of": 1, "both": {"of": one},
}, os.path.join(folder, "omitted_values.pt"))


@define
class Scheduler: # as OneCycleLR before PyTorch 2.1, whose state has a method of itself
    def __init__(self):
        self.step, self.method = 3, self.anneal

    def anneal(self):
        pass


torch.save({"w": one, "scheduler": vars(Scheduler())}, os.path.join(folder, "omitted_cycle.pt"))
torch.save(Net(), os.path.join(folder, "omitted_module.pt"))
torch.save({"array": np.arange(2), "rate": np.float32(0.1), "half": np.float16(0.1), "steps": 3}, os.path.join(folder, "beside_numpy.pt"))
