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
