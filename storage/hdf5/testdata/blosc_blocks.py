"""Writes blosc_blocks.h5: chunks of many Blosc blocks, and of a frame of Zstandard. Needs h5py and hdf5plugin."""
import h5py
import hdf5plugin
import numpy as np

with h5py.File("blosc_blocks.h5", "w") as f:
    for name, dtype, shuffle, codec in (("lz4", "u1", hdf5plugin.Blosc.SHUFFLE, "lz4"), ("zstd", "i4", hdf5plugin.Blosc.BITSHUFFLE, "zstd"), ("frame", "i2", None, None)):
        shape = (12, 300, 800 // np.dtype(dtype).itemsize)
        x = np.add.outer(np.arange(12) * 7, np.add.outer(np.arange(300) // 5, np.arange(shape[2]) // 40)).astype(dtype)
        f.create_dataset(name, data=x, chunks=(8, *shape[1:]), **(hdf5plugin.Blosc(cname=codec, clevel=5, shuffle=shuffle) if codec else hdf5plugin.Zstd(clevel=3)))
