"""Prints the types that PyTorch and NumPy give to operations on two types, or on a type and a Python number: promotion.txt."""
import numpy as np
import torch

NAMES = "bool uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128".split()
NUMBERS = {"bool": True, "int": 1, "float": 1.5, "complex": 1j}


def name(f):
    try:
        t = str(f()).replace("torch.", "")
    except Exception:
        return "-"
    return {"complex32": "complex64", "bcomplex32": "complex64"}.get(t, t)  # of 16-bit parts, which only PyTorch has


for a in NAMES:
    x = torch.empty(1, dtype=getattr(torch, a))
    for b in NAMES:
        print("type", a, b, name(lambda: torch.result_type(x, torch.empty(1, dtype=getattr(torch, b)))), name(lambda: np.promote_types(a, b)))
    for b, v in NUMBERS.items():
        print("number", a, b, name(lambda: torch.result_type(x, v)), name(lambda: np.result_type(np.empty(1, a), v)))
