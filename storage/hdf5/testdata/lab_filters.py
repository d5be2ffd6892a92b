"""Makes lab_filters.h5: chunks of Blosc2, by hdf5plugin and PyTables, and of LZO, by
liblzo2, as PyTables writes them, under /got, and what they must decode to under /want.
Needs h5py, hdf5plugin, tables, numpy and the library:

    python3 lab_filters.py lab_filters.h5 liblzo2.so.2
"""
import ctypes
import sys
import numpy as np
import tables

got = tables.open_file(sys.argv[1], "w")
rng = np.random.default_rng(1)
steps = np.cumsum(rng.integers(-3, 5, size=(40, 30)), axis=1)
arrays = {"u1": (steps % 120).astype("u1"), "i4": steps.astype("<i4"), "f8": np.sin(steps / 9.0), "long": np.tile(steps.astype("i2").ravel(), 20),
          "noise": rng.integers(0, 256, 3000, dtype="u1"), "zeros": np.zeros((40, 30), "f4"), "cube": (np.arange(7 * 9 * 11) % 50).reshape(7, 9, 11).astype("i4"),
          "far": np.concatenate([rng.integers(0, 256, 20000, dtype="u1")] * 2), "runs": np.repeat(np.arange(30, dtype="u1"), 700)}
for name, a in arrays.items():
    kind = {"zeros": ["blosc2:lz4"], "cube": ["blosc2:zstd"]}.get(name, ["blosc2:blosclz", "blosc2:lz4", "blosc2:zlib", "blosc2:zstd"])
    if name in ("far", "runs"):
        kind = ["blosc2:blosclz"]
    for lib in kind:
        for shuffle in ("none", "byte", "bit"):
            if name not in ("i4", "f8") and shuffle == "bit":
                continue
            f = tables.Filters(complevel=5, complib=lib, shuffle=shuffle == "byte", bitshuffle=shuffle == "bit")
            chunk = (a.size // 2 + 1,) if a.ndim == 1 else tuple(n // 2 + 1 for n in a.shape)
            got.create_carray("/got", "_".join(["tables", lib.replace(":", "_"), shuffle, name]), obj=a, filters=f, chunkshape=chunk, createparents=True)
table = np.zeros(500, [("x", "f8"), ("n", "i4"), ("name", "S5")])
table["x"], table["n"], table["name"] = np.arange(500) / 7, np.arange(500) % 13, b"abc"
for lib in ("blosc2:blosclz", "blosc2:zstd"):
    got.create_table("/got", "table_" + lib.replace(":", "_"), obj=table, filters=tables.Filters(5, lib, shuffle=True), chunkshape=300)
got.close()

import h5py
import hdf5plugin as plug

lzo = ctypes.CDLL(sys.argv[2])


def compressed(chunk, how="lzo1x_1_compress"):
    """Returns the stream of LZO1X of some bytes."""
    out, size = ctypes.create_string_buffer(len(chunk) + len(chunk) // 16 + 67), ctypes.c_size_t()
    work = ctypes.create_string_buffer(1 << 20)
    assert getattr(lzo, how)(chunk, ctypes.c_size_t(len(chunk)), out, ctypes.byref(size), work) == 0
    return out.raw[: size.value]


def lzo_dataset(out, name, a, shuffle, how):
    """Creates a dataset with chunks of LZO, of the shape that PyTables' filter writes."""
    create = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    chunk = tuple(n // 2 + 1 for n in a.shape)
    create.set_chunk(chunk)
    if shuffle:
        create.set_shuffle()
    create.set_filter(305, h5py.h5z.FLAG_OPTIONAL, (5, 23, 2))
    d = h5py.h5d.create(out.id, ("got/" + name).encode(), h5py.h5t.py_create(a.dtype), h5py.h5s.create_simple(a.shape), create)
    for at in np.ndindex(*[-(-n // c) for n, c in zip(a.shape, chunk)]):
        start = tuple(i * c for i, c in zip(at, chunk))
        part = np.zeros(chunk, a.dtype)
        cut = a[tuple(slice(s, s + c) for s, c in zip(start, chunk))]
        part[tuple(slice(0, n) for n in cut.shape)] = cut
        raw = part.tobytes()
        if shuffle:
            raw = np.frombuffer(raw, "u1").reshape(-1, a.itemsize).T.tobytes()
        d.write_direct_chunk(start, compressed(raw, how))


with h5py.File(sys.argv[1], "r+") as out:
    for name, a in arrays.items():
        out.create_dataset("plain/" + name, data=a, compression="gzip")
        for how in ("lzo1x_1_compress", "lzo1x_999_compress"):
            for shuffle in ("none", "byte"):
                if name != "noise" and (shuffle == "none" or a.itemsize > 1):
                    lzo_dataset(out, f"{how[:-9]}_{shuffle}_{name}", a, shuffle == "byte", how)
    out["plain/table"] = table
    for name, a in arrays.items():
        chunk = (a.size // 2 + 1,) if a.ndim == 1 else tuple(n // 2 + 1 for n in a.shape)
        for c in ("blosclz", "lz4", "zlib", "zstd"):
            for s, filters in (("none", 0), ("byte", 1), ("bit", 2), ("delta", plug.Blosc2.DELTA)):
                if name in ("i4", "f8") or c == "lz4" and s == "byte" and name not in ("far", "runs"):
                    out.create_dataset(f"got/plugin_{c}_{s}_{name}", data=a, chunks=chunk, **plug.Blosc2(cname=c, clevel=5, filters=filters))
    for name in out["got"]:
        kind = "table" if name.startswith("table_") else name.rsplit("_", 1)[1]
        out[f"want/{name}"] = h5py.SoftLink("/plain/" + kind)
