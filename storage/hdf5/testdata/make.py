#!/usr/bin/env python3
"""Makes the .h5 files in this folder, with h5py 3.x: python3 make.py

Datasets of numbers hold 0, 1, 2, … in row-major order, so that a test knows
what every view of them must show. Those named sparse have only their last
element written, and -7 everywhere else.
"""
import ctypes
import glob
import os

import h5py
import numpy as np
from h5py import h5d, h5p, h5s, h5t


def count(shape, dtype="i4"):
    return np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)


def chunked(f, name, shape, chunks, maxshape=None, early=False, **options):
    """Writes a chunked dataset, its space allocated early if that is asked for."""
    dcpl = h5p.create(h5p.DATASET_CREATE)
    dcpl.set_obj_track_times(False)
    dcpl.set_chunk(chunks)
    if early:
        dcpl.set_alloc_time(h5d.ALLOC_TIME_EARLY)
    dcpl.set_fill_value(np.array(-7, "i4"))
    if options.get("plain_edge"):  # which h5py has no call for
        library, = glob.glob(os.path.dirname(h5py.__file__) + "/../h5py.libs/libhdf5-*")
        ctypes.CDLL(library).H5Pset_chunk_opts(ctypes.c_int64(dcpl.id), ctypes.c_uint(2))
    if options.get("shuffle"):
        dcpl.set_shuffle()
    if options.get("gzip"):
        dcpl.set_deflate(4)
    if options.get("fletcher32"):
        dcpl.set_fletcher32()
    limits = None if maxshape is None else tuple(h5s.UNLIMITED if n is None else n for n in maxshape)
    d = h5py.Dataset(h5d.create(f.id, name.encode(), h5t.STD_I32LE, h5s.create_simple(shape, limits), dcpl))
    if "sparse" in name:
        d[tuple(n - 1 for n in shape)] = np.prod(shape) - 1
    else:
        d[...] = count(shape)


def indexes(f):
    """Every way there is to find chunks, with chunks that reach beyond the shape."""
    for suffix, options in ("", {}), ("_gzip", dict(shuffle=True, gzip=True, fletcher32=True)):
        chunked(f, "single" + suffix, (5, 7), (5, 7), **options)
        chunked(f, "fixed" + suffix, (5, 7), (2, 3), **options)
        chunked(f, "fixed_room" + suffix, (5, 7), (2, 3), (9, 14), **options)
        chunked(f, "extensible" + suffix, (9, 7), (2, 3), (None, 7), **options)
        chunked(f, "extensible_second" + suffix, (3, 4, 9), (2, 3, 1), (3, None, 12), **options)
        chunked(f, "several" + suffix, (9, 7), (2, 3), (None, None), **options)
        chunked(f, "sparse" + suffix, (9, 7), (2, 3), (None, None), **options)
        chunked(f, "fixed_sparse" + suffix, (9, 7), (2, 3), **options)
        chunked(f, "extensible_sparse" + suffix, (99, 7), (2, 3), (None, 7), **options)
    chunked(f, "implicit", (5, 7), (2, 3), early=True)
    chunked(f, "implicit_room", (5, 7), (2, 3), (9, 14), early=True)
    if f.libver[0] != "earliest":
        chunked(f, "plain_edge", (5, 7), (2, 3), gzip=True, plain_edge=True)
    chunked(f, "deep", (200,), (1,))
    f.create_dataset("empty", (0, 3), "i4", maxshape=(None, 3), chunks=(2, 3))
    f.create_dataset("unwritten", (4, 3), "i4", chunks=(2, 3), fillvalue=-7)


def pages(f):
    """Indexes that are so large that they come in pages."""
    chunked(f, "fixed", (3000,), (1,))
    chunked(f, "fixed_sparse", (5000,), (2,))
    chunked(f, "extensible", (9000,), (2,), (None,))
    chunked(f, "extensible_sparse", (600000,), (2,), (None,))
    chunked(f, "several", (60, 50), (1, 2), (None, None))


def structure(f):
    """Groups, links, attributes and committed types."""
    f["a/b/numbers"] = count((3, 4))
    f["a/same"] = f["a/b/numbers"]
    f["a/b/up"] = f["a"]
    f["a/soft"] = h5py.SoftLink("b/numbers")
    for k in range(1500 if f.libver[0] != "earliest" else 150):
        f[f"a/links/a link with the number {k}"] = h5py.SoftLink("..")
    f["soft"] = h5py.SoftLink("/a/b")
    f["relative"] = h5py.SoftLink("soft/numbers")
    f["dangling"] = h5py.SoftLink("/nowhere")
    f["round"] = h5py.SoftLink("/round")
    f["outside"] = h5py.ExternalLink("other.h5", "/x")
    f["type"] = np.dtype([("x", "f4"), ("y", "i2")])
    f.create_dataset("typed", (2,), f["type"])
    many = f.create_group("many")
    for k in range(40):
        many[f"member{k:02d}"] = k
        many.attrs[f"attribute{k:02d}"] = k
    huge = f.create_group("huge")
    if f.libver[0] != "earliest":
        huge.attrs["large"] = count((20000,))
    f.attrs["number"] = 42
    f.attrs["list"] = count((2, 3), "f8")
    f.attrs["text"] = "schön"
    f.attrs["texts"] = ["one", "two", ""]
    f.attrs["fixed"] = np.bytes_("abc")
    f.attrs["empty"] = h5py.Empty("f4")
    f.attrs["flag"] = True
    f.attrs["root"] = f.ref


def types(f):
    """An example of every type, all with the values 0, 1, 2 where they are numbers."""
    for t in "i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16".split():
        for order in "<>":
            f[f"{t}{'le' if order == '<' else 'be'}"] = count((3,), order + t)
    f["longdouble"] = count((3,), "g")
    f["bool"] = np.array([False, True, True])
    d = f.create_dataset("elements", (4,), np.dtype((">i4", (3, 2))))
    d[...] = count((4, 3, 2))
    c = np.zeros(3, np.dtype([("x", ">f4"), ("name", "S5"), ("v", "i2", (2,)), ("z", "c8")]))
    c["x"], c["name"], c["v"], c["z"] = [0, 1, 2], [b"zero", b"one", b"two"], count((3, 2)), [0, 1j, 2]
    f["compound"] = c
    f["enum"] = np.array([0, 1, 2], h5py.enum_dtype({"RED": 0, "GREEN": 1, "BLUE": 2}, "u1"))
    f["fixed"] = np.array([b"ab", b"", b"abcd"], "S4")
    f.create_dataset("text", (3,), h5py.string_dtype())[...] = ["eins", "", "drei €"]
    f.create_dataset("utf8", (2,), h5py.string_dtype("utf-8", 6))[...] = ["ä", "öü"]
    f.create_dataset("chunked_text", (4,), h5py.string_dtype(), chunks=(3,), compression="gzip")[1] = "one"
    v = f.create_dataset("ragged", (3,), h5py.vlen_dtype("i4"))
    v[0], v[2] = [1, 2, 3], [4]
    f["opaque"] = np.array([b"\x01\x02", b"\x03\x04"], "V2")
    f["reference"] = np.array([f["bool"].ref, f.ref], h5py.ref_dtype)
    f["region"] = np.array([f["i4le"].regionref[0:2]], h5py.regionref_dtype)
    f["scalar"] = 7
    f["scalar_text"] = "hello"
    f["null"] = h5py.Empty("i4")
    odd(f, "int24", h5t.STD_I32LE, precision=24, offset=0)
    odd(f, "int12", h5t.STD_I16BE, precision=12, offset=3)
    f8 = h5t.IEEE_F16LE.copy()
    f8.set_fields(7, 3, 4, 0, 3)
    f8.set_size(1)
    f8.set_ebias(7)
    h5d.create(f.id, b"float8", f8, h5s.create_simple((3,))).write(h5s.ALL, h5s.ALL, count((3,), "f4"))
    b16 = h5t.IEEE_F16BE.copy()
    b16.set_fields(15, 7, 8, 0, 7)
    b16.set_ebias(127)
    h5d.create(f.id, b"bfloat16", b16, h5s.create_simple((3,))).write(h5s.ALL, h5s.ALL, count((3,), "f4"))
    f20 = h5t.IEEE_F32LE.copy()
    f20.set_fields(26, 20, 6, 7, 13)
    f20.set_offset(7)
    f20.set_precision(20)
    f20.set_ebias(31)
    h5d.create(f.id, b"float20", f20, h5s.create_simple((3,))).write(h5s.ALL, h5s.ALL, count((3,), "f4"))
    d = h5d.create(f.id, b"bitfield", h5t.STD_B16BE, h5s.create_simple((3,)))
    d.write(h5s.ALL, h5s.ALL, count((3,), ">u2"), mtype=h5t.STD_B16BE)


def odd(f, name, base, precision, offset):
    """Integers -1, 0, 1 whose bits do not fill their bytes."""
    t = base.copy()
    t.set_precision(precision)
    t.set_offset(offset)
    d = h5d.create(f.id, name.encode(), t, h5s.create_simple((3,)))
    d.write(h5s.ALL, h5s.ALL, np.array([-1, 0, 1], "i4"))


for libver in "earliest", "latest":
    for make in indexes, pages, structure, types:
        if make is pages and libver == "earliest":
            continue
        with h5py.File(f"{make.__name__}_{libver}.h5", "w", libver=libver) as f:
            make(f)
with h5py.File("userblock.h5", "w", userblock_size=1024) as f:
    indexes(f)
with h5py.File("compact.h5", "w") as f:
    dcpl = h5p.create(h5p.DATASET_CREATE)
    dcpl.set_layout(h5d.COMPACT)
    d = h5d.create(f.id, b"compact", h5t.STD_I32LE, h5s.create_simple((5, 7)), dcpl)
    d.write(h5s.ALL, h5s.ALL, count((5, 7)))
with h5py.File("external.h5", "w") as f:
    f.create_dataset("raw", (2, 3), "i4", external=[("external.bin", 4, 24)])[...] = count((2, 3))
    layout = h5py.VirtualLayout((3, 2, 3), "i4", (None, 2, 3))
    layout[1] = h5py.VirtualSource("external.h5", "raw", (2, 3))
    f.create_virtual_dataset("virtual", layout, fillvalue=-7)


def seed(name, libver, fill, **options):
    """A file as small as can be, to start fuzzing from."""
    with h5py.File(f"seeds/{name}_{libver}.h5", "w", libver=libver, **options) as f:
        fill(f)


def texts(f):
    f.attrs["texts"] = ["one", "two"]
    f.create_dataset("text", (2,), h5py.string_dtype())[...] = ["eins", "zwei"]


def members(f):
    f["type"] = np.dtype([("x", ">f4"), ("name", "S3"), ("v", "i2", (2,)), ("z", "c8")])
    f.create_dataset("typed", (2,), f["type"])
    f["enum"] = np.array([0, 1], h5py.enum_dtype({"RED": 0, "GREEN": 1}, "u1"))
    f["soft"] = h5py.SoftLink("/typed")


def dense(f):
    for k in range(12):
        f[f"member{k:02d}"] = h5py.SoftLink("/")
        f.attrs[f"attribute{k:02d}"] = k


def references(f):
    f["reference"] = np.array([f.ref], h5py.ref_dtype)
    f["region"] = np.array([f["reference"].regionref[0:1]], h5py.regionref_dtype)
    f.create_dataset("ragged", (2,), h5py.vlen_dtype("i4"))[0] = [1, 2, 3]


for libver in "earliest", "latest":
    for make in texts, members, dense, references:
        seed(make.__name__, libver, make)
    seed("gzip", libver, lambda f: chunked(f, "x", (5, 7), (2, 3), shuffle=True, gzip=True, fletcher32=True))
    seed("plain", libver, lambda f: chunked(f, "x", (5, 7), (2, 3)))
seed("single", "latest", lambda f: chunked(f, "x", (5, 7), (5, 7), gzip=True))
seed("implicit", "latest", lambda f: chunked(f, "x", (5, 7), (2, 3), early=True))
seed("extensible", "latest", lambda f: chunked(f, "x", (30, 7), (2, 3), (None, 7)))
seed("several", "latest", lambda f: chunked(f, "x", (30, 7), (2, 3), (None, None), gzip=True))
seed("userblock", "earliest", texts, userblock_size=512)


def virtual():
    """Virtual datasets of every kind; beside each what h5py reads of it."""
    with h5py.File("source0.h5", "w", libver="latest") as f:
        f["x"] = count((4, 6))
        f.create_dataset("grow", (3, 4), ">i4", maxshape=(None, 4), chunks=(2, 4))[...] = count((3, 4))
    with h5py.File("source1.h5", "w") as f:
        f["x"] = 100 + count((4, 6))
    with h5py.File("virtual.h5", "w", libver="latest") as f:
        def add(name, shape, parts, maxshape=None):
            layout = h5py.VirtualLayout(shape, "i4", maxshape)
            for to, source, part in parts:
                layout[to] = source[part]
            f.create_virtual_dataset(name, layout, fillvalue=-7)
        a, b = (h5py.VirtualSource(f"source{k}.h5", "x", (4, 6)) for k in range(2))
        all_ = np.s_[:, :]
        add("rows", (8, 6), [(np.s_[:4], a, all_), (np.s_[4:], b, all_)])
        add("again", (12, 6), [(np.s_[:4], a, all_), (np.s_[4:8], b, all_), (np.s_[8:], a, all_)])
        add("interleaved", (8, 6), [(np.s_[::2], a, all_), (np.s_[1::2], b, all_)])
        add("columns", (4, 9), [(np.s_[:, 0:3], a, np.s_[:, 0:6:2]), (np.s_[:, 5:9], b, np.s_[:, 2:6])])
        add("stacked", (3, 4, 6), [(0, a, all_), (2, b, all_)])
        add("corner", (5, 5), [(np.s_[1:3, 1:4], a, np.s_[2:4, 3:6])])
        add("missing", (8, 6), [(np.s_[:4], h5py.VirtualSource("nowhere.h5", "x", (4, 6)), all_), (np.s_[4:], b, all_)])
        f["here"] = count((5,))
        add("same", (3, 5), [(1, h5py.VirtualSource(".", "here", (5,)), np.s_[:])])
        add("twice", (2, 3, 5), [(1, h5py.VirtualSource(".", "same", (3, 5)), all_)])
        numbered = h5s.create_simple((8, 4, 6), (h5s.UNLIMITED, 4, 6))
        numbered.select_hyperslab((0, 0, 0), (h5s.UNLIMITED, 1, 1), (2, 4, 6), (1, 4, 6))
        low_level(f, "numbered", (0, 4, 6), numbered, b"source%b.h5", b"x", h5s.create_simple((4, 6)))
        whole = h5s.create_simple((3, 4), (h5s.UNLIMITED, 4))
        whole.select_hyperslab((0, 0), (1, 1), (1, 1), (h5s.UNLIMITED, 4))
        to = h5s.create_simple((5, 5), (h5s.UNLIMITED, 5))
        to.select_hyperslab((2, 1), (1, 1), (1, 1), (h5s.UNLIMITED, 4))
        low_level(f, "endless", (5, 5), to, b"source0.h5", b"grow", whole)
        spread = h5s.create_simple((5, 5), (h5s.UNLIMITED, 5))
        spread.select_hyperslab((1, 1), (h5s.UNLIMITED, 1), (3, 1), (2, 4))
        low_level(f, "spread", (5, 5), spread, b"source0.h5", b"grow", whole)
        f["link"] = h5py.ExternalLink("source1.h5", "/x")
    with h5py.File("virtual.h5", "a") as f:
        for name in list(f):
            if isinstance(f[name], h5py.Dataset) and f[name].is_virtual:
                f["want/" + name] = f[name][...]


def low_level(f, name, shape, to, file, dataset, source):
    dcpl = h5p.create(h5p.DATASET_CREATE)
    dcpl.set_fill_value(np.array(-7, "i4"))
    dcpl.set_virtual(to, file, dataset, source)
    limits = (h5s.UNLIMITED,) + shape[1:]
    h5d.create(f.id, name.encode(), h5t.STD_I32LE, h5s.create_simple(shape, limits), dcpl)


virtual()


def same(f):
    f["here"] = count((5,))
    layout = h5py.VirtualLayout((3, 5), "i4")
    layout[1] = h5py.VirtualSource(".", "here", (5,))
    f.create_virtual_dataset("virtual", layout, fillvalue=-7)


seed("same", "latest", same)
