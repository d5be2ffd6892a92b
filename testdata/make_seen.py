"""Make seen.h5 and outside.h5: what h5dnn inspect shows beside names and shapes.

    python make_seen.py
"""

import h5py
import numpy as np

with h5py.File("seen.h5", "w", libver="earliest") as f:
    for k in (1, 2, 10):
        f[f"demos/demo_{k}/actions"] = np.full((2, 2), k, "i2")
    f["demos"].attrs.update({f"note_{k}": k for k in range(5)})
    f["scalar"] = 0.25
    f["answer"] = np.int64(42)
    f.create_dataset("title", data="a title", dtype=h5py.string_dtype())
    f["codes"] = np.array([b"ab", b"cde"], "S4")
    f["big"] = np.array([1, 2, 3], ">i4")
    colors = {name: k for k, name in enumerate("red green blue cyan magenta yellow black white grey pink".split())}
    f.create_dataset("colors", data=np.array([3, 1, 9], "u1"), dtype=h5py.enum_dtype(colors, "u1"))
    f.create_dataset("growing", data=np.arange(4), maxshape=(None,), chunks=(4,), compression="gzip")
    table = np.zeros(5, [("time", "<f8"), ("name", "S3"), ("inside", [("x", "<i4"), ("y", "<f4")])])
    table["time"], table["name"] = np.arange(5) / 2, [b"a", b"b", b"c", b"d", b"e"]
    table["inside"]["x"], table["inside"]["y"] = np.arange(5) * 10, 0.5
    f["table"] = table
    f["columns"] = np.stack([np.arange(6.0), 1000 + np.arange(6.0)], 1)
    f["columns"].attrs["columns"] = ["near", "far"]
    layout = h5py.VirtualLayout((2, 2, 2), "i2")
    for k, name in enumerate((1, 10)):
        layout[k] = h5py.VirtualSource(".", f"demos/demo_{name}/actions", (2, 2))
    f.create_virtual_dataset("virtual", layout)

# Samples whose inputs are in another file.
with h5py.File("outside.h5", "w", libver="earliest") as f:
    layout = h5py.VirtualLayout((96, 4), "f8")
    layout[:] = h5py.VirtualSource("guesses.h5", "table", (96, 4))
    f.create_virtual_dataset("table", layout)
    f["kind"] = (np.arange(96) % 3).astype("i4")
