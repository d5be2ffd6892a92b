"""Makes lab.h5: what files of laboratories have besides arrays of numbers. Needs h5py and
numpy: python3 make_lab.py lab.h5
"""
import sys
import h5py
import numpy as np

with h5py.File(sys.argv[1], "w", userblock_size=512, libver=("earliest", "v110"), track_order=False) as f:
    # Dimension scales, as netCDF-4 and xarray write them.
    f["axes/time"], f["axes/x"] = np.arange(4.0), np.arange(3.0)
    f["axes/t"] = np.arange(12.0).reshape(4, 3)
    f["axes/time"].make_scale("time")
    f["axes/x"].make_scale("x")
    f["axes/t"].dims[0].attach_scale(f["axes/time"])
    f["axes/t"].dims[1].attach_scale(f["axes/x"])
    # References to objects and regions, and an attribute of each.
    d = f.create_dataset("refs/objects", (2,), dtype=h5py.ref_dtype)
    d[0], d[1] = f["axes/t"].ref, f["axes"].ref
    r = f.create_dataset("refs/regions", (3,), dtype=h5py.regionref_dtype)
    r[0], r[1] = f["axes/t"].regionref[1:3, ::2], f["axes/t"].regionref[...]
    f["refs"].attrs["default"] = f["axes/t"].ref
    f["refs"].attrs["part"] = f["axes/t"].regionref[0, :]
    f["refs"].attrs["parts"] = np.array([f["axes/t"].ref, f["axes/x"].ref], dtype=h5py.ref_dtype)
    # An enum, a nested compound, an array in it, strings of variable length, opaque, bits.
    f.create_dataset("types/enum", data=np.array([0, 2, 1], "i2"), dtype=h5py.enum_dtype({"RED": 0, "GREEN": 1, "BLUE": 2}, "i2"))
    point = np.dtype([("x", "<f4"), ("y", ">f8")])
    nested = np.dtype([("at", point), ("color", h5py.enum_dtype({"A": 0, "B": 1}, "u1")), ("v", "<i2", (2,)), ("name", h5py.string_dtype())])
    rows = np.zeros(3, nested)
    rows["at"]["x"], rows["v"], rows["name"] = [1, 2, 3], [[1, 2], [3, 4], [5, 6]], ["one", "µ", ""]
    f.create_dataset("types/nested", data=rows, maxshape=(None,), chunks=(2,), compression="gzip")
    f["types/opaque"] = np.array([b"abcd", b"\x00\xff12"], "V4")
    f["types/null"] = h5py.Empty("f4")
    f["types/committed"] = np.dtype([("a", "i4"), ("b", "f4")])
    f.create_dataset("types/shared", (2,), dtype=f["types/committed"])
    bits = h5py.h5d.create(f["types"].id, b"bits", h5py.h5t.STD_B16LE, h5py.h5s.create_simple((3,)))
    bits.write(h5py.h5s.ALL, h5py.h5s.ALL, np.array([1, 0x8000, 7], "u2"), h5py.h5t.STD_B16LE)
    v = f.create_dataset("types/ragged", (3,), dtype=h5py.vlen_dtype("i4"))
    v[0], v[2] = [1, 2, 3], [4]
    s = f.create_dataset("types/filled", (3,), dtype=h5py.string_dtype(), chunks=(2,), fillvalue="none")
    s[0] = "some"
    # Text that is not UTF-8.
    latin = h5py.h5t.C_S1.copy()
    latin.set_size(3)
    a = h5py.h5a.create(f["axes/x"].id, b"unit", latin, h5py.h5s.create(h5py.h5s.SCALAR))
    a.write(np.array(b"\xb5m"))
    # Virtual datasets: of this file, of another one, irregular; links.
    layout = h5py.VirtualLayout((2, 3), "f8")
    layout[0], layout[1] = h5py.VirtualSource(f["axes/t"])[0], h5py.VirtualSource(f["axes/t"])[3]
    f.create_virtual_dataset("virtual/here", layout, fillvalue=-1)
    layout = h5py.VirtualLayout((4, 3), "f8", maxshape=(None, 3))
    layout[:h5py.h5s.UNLIMITED, :] = h5py.VirtualSource("others.h5", "x", (4, 3), maxshape=(None, 3))[:h5py.h5s.UNLIMITED, :]
    f.create_virtual_dataset("virtual/there", layout)
    f.create_dataset("virtual/raw", (4,), "i4", external=[("raw.bin", 0, 16)])
    f["links/soft"], f["links/there"], f["links/hard"] = h5py.SoftLink("/axes/t"), h5py.ExternalLink("others.h5", "/x"), f["axes/t"]
    # A dataset that can grow.
    f.create_dataset("growing", data=np.arange(10, dtype="i4"), maxshape=(None,), chunks=(4,), compression="gzip")
    # What PyTables has: an array that can grow, a table and its index.
    for name, kind, t in (("array", "EARRAY", "f4"), ("table", "TABLE", [("x", "f8"), ("n", "i4")]), ("index", "INDEXARRAY", "i8")):
        d = f.create_dataset("pytables/" + name, (6,), t, maxshape=(None,), chunks=(4,), compression="gzip")
        d.attrs["CLASS"] = np.bytes_(kind)
with open(sys.argv[1], "r+b") as f:
    f.write(b"MATLAB 7.3 MAT-file, Platform: none".ljust(128))
