"""Writes numpy_print.jsonl: arrays, and how NumPy prints them.

    python make_numpy_print.py      (needs numpy)
"""
import json
import numpy as np

rng = np.random.default_rng(7)
cases = [np.array(x, t) for x, t in [
    ([1e10, 1.5], "f8"), ([1e-5, 1], "f4"), ([0.1, 0.25, 100], "f4"), ([np.nan, 1, -np.inf], "f8"), ([np.nan], "f4"),
    ([np.inf, np.inf], "f8"), ([-0.0, 0.0], "f4"), ([1e100, 1e-300], "f8"), ([1e8], "f4"), ([99999999.0], "f8"),
    ([[True, False], [False, False]], "?"), ([True], "?"), (True, "?"), (3, "i8"), (-2.5, "f2"), (1e-7, "f4"), (1e16, "f8"),
    ([-128, 127], "i1"), ([1 + 2j, 3.5 - 4j], "c8"), ([np.nan + 1j, 1e10 - 2j], "c16"), ([0.1, 0.3], "f2"), (1 / 3, "f2"),
    ([1 / 3, 2 / 3, 1], "f4"), ([1 / 3, 2 / 3, 1], "f8"), ([np.nan, -1e-9], "f4"), ([np.inf, -1.5, 123456.789], "f8")]]
cases += [np.zeros((0, 3), "f4"), np.zeros((2, 0), "i4"), np.zeros((1, 1, 1, 1), "u1"), np.arange(1001, dtype="i2"), np.arange(1000, dtype="i2"),
          np.arange(2500, dtype="u2").reshape(50, 50), np.arange(1200, dtype="i2").reshape(10, 3, 40), np.arange(1200, dtype="f4").reshape(2, 600)]
for kind in "f2 f4 f8 i2 u8 c8 ?".split():
    for scale in 1, 1e-6, 1e4 if kind == "f2" else 1e6:
        for shape in (5,), (25,), (3, 4), (2, 3, 2), (7, 15, 11):
            if len(shape) == 3 and shape[0] == 7 and (kind, scale) != ("f4", 1):
                continue
            x = rng.standard_normal(shape) * scale
            if kind == "c8":
                x = x + 1j * rng.standard_normal(shape)
            if kind == "u8":
                x = abs(x)
            cases.append(x.astype(kind) if kind != "?" else x > 0)

with open("numpy_print.jsonl", "w") as f:
    for x in cases:
        f.write(json.dumps({"dtype": x.dtype.name, "shape": x.shape, "hex": x.tobytes().hex(), "text": str(x)}) + "\n")
