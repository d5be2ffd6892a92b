"""Writes 200 datasets in 4 groups, one after the other: to scattered.h5.gz as h5py does by default, so that headers are all over the
file, and to front.h5.gz with all metadata at the front."""
import gzip
import os

import h5py
import numpy as np


def write(name, **settings):
    with h5py.File("written.h5", "w", **settings) as f:
        for k in range(200):
            f.create_dataset(f"group {k % 4}/dataset {k:03d}", data=np.zeros(10000))
    with open("written.h5", "rb") as f, open(name, "wb") as out, gzip.GzipFile("", "wb", 9, out, mtime=0) as z:
        z.write(f.read())
    os.remove("written.h5")


write("scattered.h5.gz")
write("front.h5.gz", meta_block_size=1 << 20)
