"""Writes the files beside it with NumPy, for the tests to read."""
import os

import numpy as np
from numpy.lib import format

os.chdir(os.path.dirname(os.path.abspath(__file__)))
x = np.arange(24).reshape(2, 3, 4) % 7

np.save("c_order.npy", x.astype("<i4"))
np.save("fortran.npy", np.asfortranarray(x.astype("<f4")))
np.save("big_endian.npy", x.astype(">i8"))
np.save("float16.npy", x.astype("<f2"))
for major in 2, 3:
    with open(f"version{major}.npy", "wb") as f:
        format.write_array(f, x.astype("u1"), version=(major, 0))
np.savez("stored.npz", x=x.astype("<i4"), y=x.astype(">u2"))
np.savez_compressed("deflated.npz", x=x.astype("<i4"), y=np.asfortranarray(x.astype(">f8")))
np.save("complex_big.npy", np.array([1 + 2j, -3 - 4j], ">c8"))
np.save("bool.npy", np.array([True, False, True]))
np.save("scalar.npy", np.int64(42))
np.save("object.npy", np.array([None, 1], object), allow_pickle=True)
np.save("text.npy", np.array(["a", "bc"]))
np.save("structured.npy", np.zeros(2, [("a", "<f4"), ("b", "<i2")]))

np.save("bytes.npy", np.array([[b"a", b"\xff\x00b"], [b"", b"cde"]]))
np.save("text_big.npy", np.array(["größe", "", "\U0001f600"], dtype=">U6"))
np.save("text_fortran.npy", np.asfortranarray(np.array([["a", "bc"], ["d", "e"], ["f", "g"]])))
nested = np.dtype([("x", "<f4"), ("größe", ">i2", (2,)), ("in", [("s", "S3"), ("u", "<U2"), ("b", "?")]), ("c", "<c8"), (("a title", "t"), "<u8")], align=True)
r = np.zeros((2, 2), nested)
r["x"] = [[1.5, 2], [3, 4]]; r["größe"][1, 0] = [7, -8]; r["in"]["s"] = b"ab"; r["in"]["u"] = "é"; r["in"]["b"] = [[True, False], [False, True]]; r["c"] = 1 - 2j; r["t"] = 2**63
np.save("nested.npy", r)
np.save("times.npy", np.array(["2024-02-29T12:00", "NaT"], "datetime64[s]"))
np.save("durations_big.npy", np.array([1, -2], ">m8[25ms]"))
import ml_dtypes
np.save("bfloat16.npy", np.array([1, -2.5], ml_dtypes.bfloat16))
np.savez("mixed.npz", x=np.arange(3), objects=np.array([None], object), text=np.array(["a"]))
with open("python2.npy", "wb") as f:
    head = b"{'descr': '<i2', 'fortran_order': False, 'shape': (3L, 2L), }"
    f.write(b"\x93NUMPY\x01\x00" + (70).to_bytes(2, "little") + head.ljust(69) + b"\n" + np.arange(6, dtype="<i2").tobytes())
