#!/usr/bin/env python3
"""Writes files whose outermost value or whose keys are objects of a program's classes, and modules that are
pickled by functions of their own: object_*.pt."""
import enum, os, sys, types, warnings
import torch

warnings.filterwarnings("ignore")
folder = os.path.dirname(os.path.abspath(__file__))
program = sys.modules["program"] = types.ModuleType("program") # which no reader has


def define(cls):
    cls.__module__, cls.__qualname__ = "program", cls.__name__
    setattr(program, cls.__name__, cls)
    return cls


@define
class Color(enum.Enum):
    RED = 1
    BLUE = 2


@define
class Key:
    pass


@define
class Settings(dict):
    pass


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers, self.scale = torch.nn.Sequential(torch.nn.Linear(1, 1)), torch.nn.Parameter(torch.ones(1))

    def forward(self, x):
        return self.layers(x) * self.scale


one, two, three = torch.ones(1), torch.ones(2), torch.ones(3)
for name, value in {
    "keys": {Color.RED: one, Color.BLUE: two, Key(): one, Key(): two, "program.Key": three, "w": one},
    "dict": Settings(w=one, epoch=3),
    "graph": torch.fx.symbolic_trace(Net()),
    "lazy": torch.nn.Sequential(torch.nn.LazyLinear(1), torch.nn.Linear(1, 1)).state_dict(),
    "slashes": {"a": {"": one, "/": two, "b/": {"c": three}}},
    "prefix": {"module.": one, "module.x": two},
}.items():
    torch.save(value, os.path.join(folder, f"object_{name}.pt"))
