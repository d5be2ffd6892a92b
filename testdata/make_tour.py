"""Writes tour.h5: one of nearly everything HDF5 has, small enough to read at a glance.

    python make_tour.py      (needs h5py)
"""
import h5py
import numpy as np

with h5py.File("tour.h5", "w", libver=("v108", "v110")) as f:
    f.attrs["title"] = "A tour of HDF5"
    f.attrs["hostile"] = "\x1b[31mred\x1b[0m \x07bell\nnewline"
    f.attrs["long"] = "all work and no play " * 20

    def put(path, data=None, **options):
        return f.create_dataset(path, data=data, track_times=False, **options)

    f.create_group("numbers")
    for name in "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128".split():
        put(f"numbers/{name}", np.arange(6).reshape(2, 3).astype(name))
    put("numbers/bool", np.array([True, False, True]))
    put("numbers/big-endian", np.linspace(0, 1, 5).astype(">f4"))
    put("numbers/nan", np.array([1.5, np.nan, -np.inf, 0, 2.25]))
    put("numbers/scalar", np.float64(2.5))
    put("numbers/empty", np.zeros((0, 3), np.float32))
    put("numbers/null", h5py.Empty("f4"))
    put("numbers/enum", np.array([0, 1, 1], np.uint8),
        dtype=h5py.enum_dtype({"RED": 0, "GREEN": 1, "BLUE": 42}, basetype=np.uint8))
    triples = put("numbers/triples", shape=(4,), dtype=np.dtype(("<i2", (3,))))
    triples[...] = np.arange(12, dtype=np.int16).reshape(4, 3)

    f.create_group("texts")
    put("texts/variable", ["größer", "tiny", ""], dtype=h5py.string_dtype())
    put("texts/fixed", np.array([b"alpha", b"be", b""], "S5"))
    put("texts/one", "just one", dtype=h5py.string_dtype())

    f.create_group("others")
    point = np.dtype([("x", "<f4"), ("y", "<f8"), ("name", "S4")])
    put("others/compound", np.array([(1, 2, b"a"), (3, 4, b"b")], point))
    put("others/opaque", np.array([b"\x01\x02\x03\x04"], "V4"))
    ragged = put("others/ragged", shape=(3,), dtype=h5py.vlen_dtype(np.int32))
    for row in range(3):
        ragged[row] = np.arange(row)
    put("others/reference", np.array([f["numbers/int8"].ref], object), dtype=h5py.ref_dtype)
    f["others/type"] = point

    y, x = np.mgrid[0:48, 0:64]
    put("layouts/contiguous", np.hypot(x - 32, y - 24).astype(np.float32))
    put("layouts/compressed", (x * 4 ^ y * 5).astype(np.uint8), chunks=(16, 16), compression="gzip", shuffle=True, fletcher32=True)
    put("layouts/lzf", np.arange(100, dtype=np.int32), chunks=(40,), compression="lzf")
    put("layouts/growing", np.arange(10, dtype=np.int32), chunks=(4,), maxshape=(None,))
    hole = put("layouts/unwritten", shape=(4, 4), dtype=np.float32, chunks=(2, 2), fillvalue=7)
    hole[0, 0] = 1
    hole.attrs["units"] = "m/s"
    hole.attrs["valid_range"] = np.array([0.0, 9.5])
    hole.attrs["calibrated"] = True
    hole.attrs["axes"] = ["row", "column"]
    hole.attrs["nothing"] = h5py.Empty("f4")

    f["links/hard"] = f["numbers/int8"]
    f["links/soft"] = h5py.SoftLink("/numbers/float32")
    f["links/dangling"] = h5py.SoftLink("/nowhere")
    f["links/elsewhere"] = h5py.ExternalLink("other.h5", "/secret")
    put("names/with space", np.int8([1]))
    put("names/ünï", np.int8([2]))
    put("names/escape\x1b[2J", np.int8([3]))
