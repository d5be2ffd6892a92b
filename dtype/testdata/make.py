"""Writes convert.txt: what NumPy's astype makes of awkward values, for the tests.

A line is: from, to, the elements' bytes before in hex, and after. Machine: x86-64.
"""
import os
import warnings

import numpy as np

warnings.simplefilter("ignore")
os.chdir(os.path.dirname(os.path.abspath(__file__)))

floats = [0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 127.9, 128.0, -128.9, -129.0, 255.5, 256.0, 300.0, -1.0, 32768.0, 65504.0,
          65519.99, 65520.0, 65536.0, 70000.0, -70000.0, 1e-8, 5.97e-8, 2.98e-8, 2.99e-8, 1e-40, 1.0000001, 2147483520.0,
          2147483647.0, 2147483648.0, -2147483648.0, -2147483904.0, 3e9, -3e9, 4294967295.0, 4294967296.0, 1e15, 9.2e18,
          9223372036854775808.0, -9223372036854775808.0, 1.2e19, 1.8e19, 1e20, -1e20, 1e39, 1e300, np.inf, -np.inf, np.nan]
ints = [0, 1, 2, 3, 127, 128, 129, 255, 256, 32767, 32768, 65535, 65536, 16777217, 2**31 - 1, 2**31, 2**32 - 1, 2**32,
        2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1, 2049, 4099]
names = ["bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64",
         "float16", "float32", "float64", "complex64", "complex128"]

def values(name):
    t = np.dtype(name)
    if t.kind == "b":
        return np.array([False, True])
    if t.kind in "ui":
        return np.array(sorted({(v + (1 << 64)) % (1 << (8 * t.itemsize)) for v in ints} | {(-v) % (1 << (8 * t.itemsize)) for v in ints}),
                        "uint64").astype("u%d" % t.itemsize).view(t)
    if t.kind == "f":
        return np.array(floats, "float64").astype(t)
    return np.array([complex(v, w) for v, w in zip(floats, floats[::-1])], "complex128").astype(t)

with open("convert.txt", "w") as f:
    for a in names:
        for b in names:
            src = values(a)
            # One element at a time: over rows, NumPy may use vector instructions that differ out of range.
            dst = np.array([src[i:i + 1].astype(b)[0] for i in range(len(src))], b)
            print(a, b, src.tobytes().hex(), dst.tobytes().hex(), file=f)
