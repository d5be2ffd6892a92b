"""Pointwise operations, and numbers beside tensors."""
import torch
import torch.nn.functional as F

ops = {
    "sub scalar": lambda x: x - 2,
    "rsub scalar": lambda x: 2 - x,
    "mul scalar 0": lambda x: x * 0,
    "div scalar": lambda x: x / 3,
    "rdiv scalar": lambda x: 2 / x,
    "eq scalar": lambda x: x == 1,
    "ne scalar": lambda x: x != 1,
    "lt scalar": lambda x: x < 1,
    "le scalar": lambda x: x <= 1,
    "gt scalar": lambda x: x > 1,
    "ge scalar": lambda x: x >= 1,
}
