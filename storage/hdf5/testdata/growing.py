"""Writes growing_1.h5 and growing_2.h5: a file that h5py writes in SWMR mode, when it has 3 rows and when it has 500. With
an argument, writes that file, 500 rows and a dot on standard output at a time, for each line of standard input."""
import shutil
import sys

import h5py
import numpy as np

name = sys.argv[1] if len(sys.argv) > 1 else "growing.h5"
f = h5py.File(name, "w", libver="latest")
rows = f.create_dataset("rows", (0, 4), "f4", maxshape=(None, 4), chunks=(16, 4))
packed = f.create_dataset("packed", (0,), "i8", maxshape=(None,), chunks=(32,), compression="gzip")
f.swmr_mode = True


def grow(n):
    at = len(rows)
    rows.resize(at + n, 0)
    packed.resize(at + n, 0)
    rows[at:] = np.arange(at, at + n)[:, None] + np.arange(4) / 8
    packed[at:] = np.arange(at, at + n) * 3
    rows.flush()
    packed.flush()


if len(sys.argv) == 1:
    for k, n in enumerate((3, 497)):
        grow(n)
        shutil.copyfile(name, f"growing_{k + 1}.h5")
else:
    for _ in sys.stdin:
        for _ in range(50):
            grow(10)
        print(".", flush=True)
