"""Makes filters.h5: one dataset per filter, setting and type under /got, and
what it must decode to under /want. Needs h5py, hdf5plugin and numpy:

    python3 filters.py filters.h5
"""
import sys
import h5py
import hdf5plugin as plug
import numpy as np

out = h5py.File(sys.argv[1], "w", libver=("v110", "v110"))
steps = np.cumsum(np.random.default_rng(1).integers(-3, 5, size=(24, 25)), axis=1)
arrays = {t: (steps % 120).astype(t) for t in ("u1", "<i2", ">i4", "<f4", "<f8", "<c16")}
arrays["u1"][8:14] = 7
arrays["<f4"] /= 8
arrays["<f8"] = np.sin(arrays["<f8"])
arrays["S3"] = np.vectorize(lambda x: b"%03d" % x)(steps % 120).astype("S3")


def add(name, array, want=None, chunks=(10, 25), **how):
    out.create_dataset(f"got/{name}", data=array, chunks=chunks, **how)
    if want:
        out[f"want/{name}"] = h5py.SoftLink(want)


for t, a in arrays.items():
    plain = "/plain/" + t.strip("<>")
    out[plain] = a
    for name, how in {
        "gzip": dict(compression="gzip"),
        "gzip shuffle fletcher32": dict(compression="gzip", shuffle=True, fletcher32=True),
        "lzf": dict(compression="lzf"), "lzf shuffle": dict(compression="lzf", shuffle=True),
        "lz4": plug.LZ4(), "lz4 blocks": plug.LZ4(nbytes=256), "zstd": plug.Zstd(clevel=9), "bzip2": plug.BZip2(),
        "bitshuffle": plug.Bitshuffle(cname="none"), "bitshuffle lz4": plug.Bitshuffle(cname="lz4"),
        "bitshuffle zstd": plug.Bitshuffle(cname="zstd"), "bitshuffle blocks": plug.Bitshuffle(nelems=16, cname="lz4"),
        **{f"blosc {c} {s}": plug.Blosc(cname=c, clevel=9, shuffle=s)
           for c in ("blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd") for s in (0, 1, 2)},
    }.items():
        if t in ("u1", "<f4", "S3") or name in ("gzip shuffle fletcher32", "lzf shuffle", "bitshuffle lz4", "blosc lz4 2", "blosc blosclz 1"):
            add(f"{name}/{t.strip('<>')}", a, plain, **how)
    if t not in ("<c16", "S3"):
        for o in ("nn", "ec"):
            for n in (8, 10):
                add(f"szip {o} {n}/{t.strip('<>')}", a, plain, compression="szip", compression_opts=(o, n))
        lossy = t in ("<f4", "<f8")
        add(f"scaleoffset/{t.strip('<>')}", a, None if lossy else plain, scaleoffset=3 if lossy else 0)

add("scaleoffset/8 bits", arrays["<i2"], scaleoffset=7)
add("scaleoffset/same", np.full((24, 25), 5, "i8"), scaleoffset=0)
add("scaleoffset/negative", (steps - 60).astype("i4"), scaleoffset=0, fillvalue=-7)
add("scaleoffset/wide", np.array([[0, 2**63 - 1]], "i8"), chunks=(1, 2), scaleoffset=0)
add("szip/1-D", np.arange(1000, dtype="u2") % 37, chunks=(100,), compression="szip", compression_opts=("nn", 8))
sparse = np.zeros((9, 1024), "u2")
sparse[::2, 1000], sparse[1::3, 3], sparse[5] = 9, 7, np.arange(1024)
sparse[1, 8 * np.cumsum(np.arange(1, 15)) + 2] = 5  # runs of 1, 2, 3, … blocks of zeros
for o in ("nn", "ec"):
    add(f"szip/zeros {o}", sparse, chunks=(4, 1024), compression="szip", compression_opts=(o, 8))
add("blosc/long", np.tile(steps.astype("i8").ravel(), 40), chunks=(24000,), **plug.Blosc(cname="blosclz", clevel=5))
add("blosc/random", np.random.default_rng(2).integers(0, 256, 500, dtype="u1"), chunks=(500,), **plug.Blosc())
add("blosc/far", np.concatenate([np.random.default_rng(3).integers(0, 256, 9000, dtype="u1")] * 2), chunks=(18000,),
    **plug.Blosc(cname="blosclz", clevel=9, shuffle=0))

waves = np.sin(np.arange(3 * 5 * 6 * 5).reshape(3, 5, 6, 5) / 7) * 1e3
for t in ("<f4", "<f8", "<i4", "<i8"):
    for axes in (1, 2, 3, 4):
        a = waves.reshape((-1,) + waves.shape[5 - axes:]).astype(t)
        for name, how in {"rate": dict(rate=9), "precision": dict(precision=14), "accuracy": dict(accuracy=0.01), "reversible": dict(reversible=True)}.items():
            if (name != "accuracy" or "f" in t) and (axes == 2 or name == "reversible" and t in ("<f4", "<i8") or t == "<f8" and name == "rate"):
                add(f"zfp {name}/{t.strip('<>')} {axes}", a, chunks=tuple(max(1, n - 1) for n in a.shape), **plug.Zfp(**how))


def nbit(name, kind, array):
    """Packs array's type with the N-bit filter, which h5py has no name for."""
    file = out.require_group("got/nbit")
    space, create = h5py.h5s.create_simple(array.shape), h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    create.set_chunk((10,) + array.shape[1:])
    create.set_filter(h5py.h5z.FILTER_NBIT, 0, ())
    h5py.h5d.create(file.id, name.encode(), kind, space, create).write(h5py.h5s.ALL, h5py.h5s.ALL, array)


def integer(base, bits, offset):
    kind = base.copy()
    kind.set_precision(bits)
    kind.set_offset(offset)
    return kind


nbit("17 of 32", integer(h5py.h5t.STD_I32LE, 17, 4), (steps - 60).astype("i4"))
nbit("11 of 16 big-endian", integer(h5py.h5t.STD_U16BE, 11, 3), steps.astype("u2") % 2000)
nbit("3 of 8", integer(h5py.h5t.STD_U8LE, 3, 2), (steps % 8).astype("u1"))
nbit("40 of 64", integer(h5py.h5t.STD_I64BE, 40, 0), steps.astype("i8") * 1000)

both = h5py.h5t.create(h5py.h5t.COMPOUND, 16)
both.insert(b"a", 2, integer(h5py.h5t.STD_I32LE, 17, 4))
both.insert(b"b", 8, h5py.h5t.array_create(integer(h5py.h5t.STD_U16LE, 9, 0), (3,)))
both.insert(b"c", 14, h5py.h5t.py_create(np.dtype("S2")))
pairs = np.zeros((24, 5), dtype=[("a", "i4"), ("b", "u2", 3), ("c", "S2")])
pairs["a"], pairs["b"], pairs["c"] = steps[:, :5] - 60, steps[:, :15].reshape(24, 5, 3) % 500, b"xy"
nbit("compound", both, pairs)
out.close()


def decoded(name, d):
    """Stores what libhdf5 makes of a dataset, now that it has to decode it."""
    if isinstance(d, h5py.Dataset) and "want/" + name not in out:
        out["want/" + name] = d[...]


out = h5py.File(sys.argv[1], "r+", libver=("v110", "v110"))
out["got"].visititems(decoded)
out.close()
