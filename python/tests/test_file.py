"""Files read as h5py reads them."""
import glob
import io
import os
import pickle
import shutil
import threading

import numpy as np

from common import DIGITS, TESTDATA, Skipped, folder, here, main, need, refused

import h5dnn


def test_arrays_are_read_where_they_are_indexed():
    with h5dnn.open(DIGITS) as f:
        d = f["test/images"]
        assert (d.shape, d.dtype, d.ndim, len(d), d.size) == ((360, 8, 8), np.uint8, 3, 360, 360 * 64)
        assert d[0, 2].tolist() == [0, 11, 10, 0, 8, 10, 0, 0]  # README.md shows it
        whole = d[()]
        mask = whole > 8
        for index in (3, -1, slice(10, 20, 3), slice(None, None, -1), ..., (..., 2), (0, 1, 2), (slice(5), slice(2, 4)), [3, 1, 7],
                      [], (slice(3), [0, 5]), np.array([2, 2]), np.arange(360) % 7 == 0, np.int64(4), slice(400, 500), mask):
            got, want = d[index], whole[index]
            assert np.shape(got) == np.shape(want) and (got == want).all(), index
        into = np.zeros((8, 2), np.uint8)
        d.read_direct(into, np.s_[3, :, [5, 6]])
        for got, want in ((d[3, :, [5, 6]], whole[3][:, [5, 6]]), (d[[3, 5], 1, 2:], whole[[3, 5]][:, 1, 2:]), (d[[3, 5], :, -1], whole[[3, 5]][:, :, -1]),
                          (d.astype("f4")[-360, :, mask[0, 0]], whole[0][:, mask[0, 0]]), (into, whole[3][:, [5, 6]])):
            assert got.shape == want.shape and (got == want).all()  # the axis of a list stays where it is, as in h5py
        with refused(IndexError):
            d[360, :, [5, 6]]
        assert isinstance(d[0, 0, 0], np.uint8)
        assert d.astype("float64")[:2].dtype == np.float64 and d.astype(">i4")[:2].dtype == np.dtype(">i4")
        assert (np.asarray(d) == whole).all() and (next(iter(d)) == whole[0]).all()
        into = np.zeros((4, 8, 8), np.float32)
        d.read_direct(into, np.s_[2:4], np.s_[1:3])
        assert (into[1:3] == whole[2:4]).all() and not into[3].any()
        for dtype, at in ((">i4", ()), ("i4", [1, 0]), ("i4", np.s_[:, ::-1]), ("f8", ())):
            into = np.zeros((2, 8, 8), dtype)
            d.read_direct(into, np.s_[2:4], at)
            assert (into[at] == whole[2:4]).all(), (dtype, at)
        into = np.frombuffer(bytes(128), np.uint8).reshape(2, 8, 8)
        with refused(ValueError, "read-only"):
            d.read_direct(into, np.s_[2:4])
        with refused(ValueError):
            d.read_direct(np.zeros((3, 8, 8)), np.s_[2:4])


def test_groups_are_mappings():
    f = h5dnn.File(DIGITS)
    assert list(f) == ["test", "train"] and len(f["test"]) == 2 and "test/labels" in f and "nothing" not in f
    assert f["test"]["images"] == f["/test/images"] and f["test/images"].parent == f["test"] and f["test"].file is f
    names = []
    assert f.visititems(lambda name, o: names.append(name) if isinstance(o, h5dnn.Dataset) else None) is None
    assert names == ["test/images", "test/labels", "train/images", "train/labels"]
    assert f.visit(lambda name: name if "train" in name else None) == "train"
    assert f["test/images"].attrs["range"].tolist() == [0, 16] and f.get("nothing") is None
    assert "images  uint8 360×8×8" in f.tree()


def test_single_values_and_names_in_bytes():
    with h5dnn.open(os.path.join(TESTDATA, "tour.h5")) as f:
        scalar = f["numbers/scalar"]
        assert np.asarray(scalar) == scalar[()] == scalar[...] and isinstance(scalar[...], np.ndarray) and isinstance(scalar[()], np.generic)
        assert isinstance(f[b"numbers"][b"scalar"][..., ][()], np.generic) and b"numbers" in f and b"nothing" not in f and 3 not in f
        with refused(ValueError, "copy=False"):
            scalar.__array__(copy=False)
        assert all(name in group for group in (f, f["links"]) for name in group)  # also links that lead nowhere
    with h5dnn.open(DIGITS) as f:
        assert f.attrs[b"title"] == f.attrs["title"] and b"title" in f.attrs and "x" not in f.attrs


def test_errors_are_pythons():
    f = h5dnn.File(DIGITS)
    for kind, act in (
            (FileNotFoundError, lambda: h5dnn.open("nowhere.h5")), (KeyError, lambda: f["test/imges"]), (KeyError, lambda: f["test/images"].attrs["x"]),
            (IndexError, lambda: f["test/images"][400]), (IndexError, lambda: f["test/images"][0, 0, 0, 0]), (TypeError, lambda: f["test/images"][1.5]), (TypeError, lambda: f["test/images"][None]),
            (KeyError, lambda: f["test/images"]["field"]), (KeyError, lambda: f["test\0"]), (FileNotFoundError, lambda: h5dnn.open(DIGITS + "\0")), (KeyError, lambda: f[""]),
            (TypeError, lambda: f["test/images"][True]), (KeyError, lambda: f["\udc80"]), (ValueError, lambda: h5dnn.File(DIGITS, "w")), (h5dnn.Error, lambda: h5dnn.open(TESTDATA)),
            (ValueError, lambda: f["test/images"][np.ones(5, bool)]), (IndexError, lambda: f["test/images"][[0, 999]]), (TypeError, lambda: f["test"][3])):
        with refused(kind):
            act()
    d = f["test/images"]
    f.close()
    f.close()
    for act in (lambda: d[0], lambda: f["test"], lambda: list(f)):
        with refused(ValueError, "closed"):
            act()


def test_files_of_this_repository_read_as_by_h5py():
    h5py = need("h5py")
    compared = 0
    for path in sorted(glob.glob(os.path.join(TESTDATA, "*.h5")) + glob.glob(os.path.join(TESTDATA, "*.keras"))):
        if not h5py.is_hdf5(path):
            continue
        with h5py.File(path) as theirs, h5dnn.File(path) as ours:
            found = []
            theirs.visititems(lambda name, o: found.append(name) if isinstance(o, h5py.Dataset) else None)
            for name in found:
                compared += same(theirs[name], ours, name)
    assert compared > 20, compared


def same(want, file, name):
    """Compares the elements of a dataset, and reports whether it could."""
    try:
        expected = want[()]
    except (OSError, TypeError, NotImplementedError):
        return False
    if want.shape is None:
        return False
    got = file[name]
    if want.is_virtual:  # whose size may depend on files that are not there
        return False
    assert got.shape == want.shape + (want.dtype.shape if want.dtype.subdtype else ()), name
    elements = got[()]
    if want.dtype.kind in "biufc" and want.dtype.name in ("bool", *"u1 u2".split(), "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex64", "complex128"):
        assert got.dtype == want.dtype.newbyteorder("="), (name, got.dtype, want.dtype)
        np.testing.assert_array_equal(elements, expected, name)
        return True
    if want.dtype.kind == "O" and want.dtype.metadata and want.dtype.metadata.get("vlen") is str:
        np.testing.assert_array_equal(elements, want.asstr()[()], name)
        return True
    return False


def test_fields_and_strings():
    h5py = need("h5py")
    with folder() as at:
        path = os.path.join(at, "x.h5")
        table = np.zeros(5, [("a", "<f4"), ("b", "<i2", (3,)), ("c", "S4")])
        table["a"], table["b"], table["c"] = np.arange(5), np.arange(15).reshape(5, 3), b"xy"
        with h5py.File(path, "w") as f:
            f["table"] = table
            f["text"] = ["a", "β", ""]
            f["one"] = "single"
            f.create_dataset("v", (2,), h5py.vlen_dtype(np.int32))[0] = [1, 2]
            f.create_dataset("w", (2,), h5py.vlen_dtype(np.float32))[0] = [1, np.nan]
            f.attrs.create("colour", 1, dtype=h5py.enum_dtype({"red": 0, "green": 1}, "i1"))
            f["flag"] = np.array([True, False])
            f["z"] = np.array([1 + 2j], np.complex64)
            f["empty"] = h5py.Empty("f4")
            f.attrs["words"], f.attrs["z"], f.attrs["nan"], f.attrs["text"] = ["x", "y"], 1 + 2j, np.float32("nan"), "hello"
            f["soft"], f["dangling"], f["other"] = h5py.SoftLink("/text"), h5py.SoftLink("/nothing"), h5py.ExternalLink("y.h5", "/x")
            f.attrs["empty"] = h5py.Empty("i2")
        with h5dnn.open(path) as f:
            assert f.get("soft", getlink=True) == h5dnn.SoftLink("/text") and f.get("other", getlink=True) == h5dnn.ExternalLink("y.h5", "/x")
            assert f.get("text", getlink=True, getclass=True) is h5dnn.HardLink and f.get("soft", getclass=True) is h5dnn.Dataset
            assert f.get("dangling", 7) == f.get("nothing", 7, getlink=True) == 7 and f.get("dangling", getlink=True).path == "/nothing"
            t = f["table"]
            assert t.dtype.names == ("a", "b", "c") and t["a"].tolist() == [0, 1, 2, 3, 4] and t["b", 1:3].tolist() == [[3, 4, 5], [6, 7, 8]]
            assert t[1:3]["b"].tolist() == [[3, 4, 5], [6, 7, 8]] and t[2]["a"] == 2 and t["c"][0] == "xy"
            assert f["text"][:].tolist() == ["a", "β", ""] and f["text"][1] == "β" and f["one"][()] == "single" and f["text"].asstr()[0] == "a"
            assert np.isnan(f["w"][0][1]) and f["w"][0].dtype == np.float32 and f.attrs["colour"] == "green"
            assert f["v"][0].tolist() == [1, 2] and f["flag"].dtype == bool and f["z"][0] == 1 + 2j and f["soft"][0] == "a"
            assert f.attrs["words"].tolist() == ["x", "y"] and f.attrs["z"] == 1 + 2j and np.isnan(f.attrs["nan"]) and f.attrs["text"] == "hello"
            assert f["empty"].shape is None and f["empty"][()] == f["empty"][...] == h5dnn.Empty(np.dtype("f4")) != f.attrs["empty"] == h5dnn.Empty(np.dtype("i2"))
            with refused(ValueError, "no value"):
                f["empty"][0:1]


def test_habits_of_h5py():
    h5py = need("h5py")
    with folder() as at:
        path = os.path.join(at, "x.h5")
        with h5py.File(path, "w") as f:
            for name in ("demo_10", "demo_2", "b-1", "b", "B", "\u00e4"):
                f[f"names/{name}/z"] = f[f"names/{name}/a"] = 1
            packed = f.create_dataset("packed", data=np.arange(35).reshape(5, 7), chunks=(2, 3), compression="gzip", compression_opts=7, shuffle=True, fletcher32=True)
            packed.attrs["b"], packed.attrs["a10"], packed.attrs["a2"] = 1, 2, 3
            packed.attrs["z"], packed.attrs["zs"], packed.attrs["z0"] = complex(1, np.inf), np.array([1 + 2j, complex(np.nan, 3)], np.complex64), np.zeros(0, np.complex64)
            f.create_dataset("lzf", data=np.arange(5), compression="lzf", chunks=(2,))
            f["time"], f["other"] = np.arange(5.0), np.arange(5.0) + 10
            f["time"].make_scale("time")
            f["other"].make_scale("another")
            for scale in (f["time"], f["other"]):
                packed.dims[0].attach_scale(scale)
            packed.dims[1].label = "column"
            for kind in ("u1", "i4", "f4", "c8", ">i2"):
                made = f.create_dataset("of_" + kind, (3,), h5py.vlen_dtype(np.dtype(kind)))
                made[0], made[2] = np.array([1, 2, 3], kind), np.array([100], kind)
            pairs = np.array([(1, 2.5), (3, 4.5), (5, 6.5)], [("x", "i4"), ("y", "f4")])
            made = f.create_dataset("of_pairs", (2,), h5py.vlen_dtype(pairs.dtype))
            made[0], made[1] = pairs[:2], pairs[2:]
            f["pairs"] = pairs
            f["enum"] = np.array([1, 2], h5py.enum_dtype({"R": 1, "G": 2}, "i2"))
            f["text"] = ["a"]
            f["opaque"] = np.array([b"\1\0", b"\0\2"], "V2")
            f["days"] = np.array(["2020-02-29", "NaT"], "datetime64[D]").astype(h5py.opaque_dtype("datetime64[D]"))
        with h5py.File(path) as theirs, h5dnn.File(path) as ours:
            def visited(f):
                names = []
                f.visit(names.append)
                return names
            assert list(ours["names"]) == list(theirs["names"]) and visited(ours["names"]) == visited(theirs["names"])
            mine, packed = ours["packed"], theirs["packed"]
            assert list(mine.attrs) == list(packed.attrs)
            for name in ("z", "zs", "z0"):
                got, want = np.asarray(mine.attrs[name]), np.asarray(packed.attrs[name])
                assert got.dtype == want.dtype
                np.testing.assert_array_equal(got, want)
            for name in ("packed", "lzf", "time"):
                for what in ("compression", "compression_opts", "shuffle", "fletcher32", "is_scale"):
                    assert getattr(ours[name], what) == getattr(theirs[name], what), (name, what)
            assert [(d.label, len(d), d.keys()) for d in mine.dims] == [(d.label, len(d), list(d.keys())) for d in packed.dims]
            assert mine.dims[0]["another"] == mine.dims[0][1] == ours["other"] and list(mine.dims[0][0]) == [0, 1, 2, 3, 4]
            for selection in ((), (np.s_[1:4, 2:6],), (np.s_[3:, :],)):
                assert list(mine.iter_chunks(*selection)) == list(packed.iter_chunks(*selection)), selection
            with refused(TypeError, "no chunks"):
                ours["time"].iter_chunks()
            with refused(ValueError, "without steps"):
                mine.iter_chunks(np.s_[::2])
            assert ours["of_>i2"][0].tolist() == [1, 2, 3]  # h5py 3.16 reads bytes in the wrong order
            for kind in ("u1", "i4", "f4", "c8"):
                for got, want in zip(ours["of_" + kind][:], theirs["of_" + kind][:]):
                    assert got.dtype == want.dtype and got.tolist() == want.tolist(), kind
            assert ours["of_pairs"][:].tolist() == [[[1, 2.5], [3, 4.5]], [[5, 6.5]]] and ours["of_pairs"].dtype == object
            for name in ("opaque", "days"):
                assert ours[name].dtype == theirs[name].dtype and ours[name][:].tobytes() == theirs[name][:].tobytes() and type(ours[name][0]) is type(theirs[name][0]), name
            table = ours["pairs"]
            assert table.fields("x")[1:].tolist() == [3, 5] and table.fields(["y"])[0].dtype.names == ("y",) and table[["y"]].dtype.names == ("y",)
            assert np.asarray(table.fields("y")).tolist() == [2.5, 4.5, 6.5] and table.fields("y").dtype == np.float32
            with refused(KeyError, "no field q"):
                table.fields("q")
            for name in ("enum", "text", "of_i4", "pairs"):
                for check in (h5py.check_enum_dtype, h5py.check_vlen_dtype, h5py.check_string_dtype):
                    assert check(ours[name].dtype) == check(theirs[name].dtype), (name, check)


def test_notebooks_show_trees_and_pictures():
    need("PIL")
    from PIL import Image
    with folder() as at:
        npz = os.path.join(at, "x.npz")
        pixels = np.random.default_rng(0).integers(0, 256, (5, 7, 3), np.uint8)
        np.savez(npz, color=pixels, gray=pixels[..., 0], deep=pixels.astype(np.int16), **{"a<b": [1]})
        with h5dnn.open(npz) as f:
            assert "a&lt;b" in f._repr_html_() and "5×7×3" in f._repr_html_()
            for name, want in (("color", pixels), ("gray", pixels[..., 0])):
                assert (np.asarray(Image.open(io.BytesIO(f[name]._repr_png_()))) == want).all(), name
            assert f["deep"]._repr_png_() is None and f["a<b"]._repr_png_() is None


def test_other_formats():
    with folder() as at:
        npz, npy = os.path.join(at, "x.npz"), os.path.join(at, "x.npy")
        np.savez(npz, a=np.arange(6.0).reshape(2, 3), b=np.array([1, 2]))
        np.save(npy, np.arange(6).reshape(2, 3).T)
        with h5dnn.open(npz) as f:
            assert sorted(f) == ["a", "b"] and f["a"][:, 1].tolist() == [1, 4]
            with refused(KeyError, "no array"):
                f["c"]
        with h5dnn.open(npy) as f:
            (only,) = f.values()
            assert only[:].tolist() == [[0, 3], [1, 4], [2, 5]]
        assert h5dnn.load_state_dict(npz)["b"].tolist() == [1, 2]
    weights = h5dnn.load_state_dict(os.path.join(TESTDATA, "checkpoint.safetensors"))
    assert weights and all(isinstance(w, np.ndarray) for w in weights.values())
    with h5dnn.open(os.path.join(TESTDATA, "cells.h5ad")) as f:
        assert f["X"].ndim == 2 and f["X"][:3].shape == (3, f["X"].shape[1])  # CSR, read as dense
        dense = f["X"][()]
    with h5dnn.open(os.path.join(TESTDATA, "cells.h5ad"), format="hdf5") as f:
        f = pickle.loads(pickle.dumps(f))
        assert isinstance(f["X"], h5dnn.Group) and (f["X/data"][()] == dense[dense != 0]).all()
    with refused(h5dnn.Error, "hdf6"):
        h5dnn.open(DIGITS, format="hdf6")


def test_files_are_verified():
    for name in ("digits.h5", "checkpoint.safetensors", "cells.npz", "cells.h5ad"):
        assert h5dnn.verify(os.path.join(TESTDATA, name)) == []
    with folder() as at:
        path = os.path.join(at, "x.h5")
        with open(DIGITS, "rb") as f:
            content = bytearray(f.read())
        content[20000:20100] = bytes(100)
        with open(path, "wb") as f:
            f.write(content)
        problems = h5dnn.verify(path)
        assert problems and all("\n" not in p for p in problems) and "/train/images" in problems[0], problems
    with refused(FileNotFoundError):
        h5dnn.verify("nowhere.h5")


def test_files_are_converted_and_compared():
    with folder() as at:
        npz, copy = os.path.join(at, "x.npz"), os.path.join(at, "x.h5")
        lost = h5dnn.convert(DIGITS, npz, verify=True)
        assert len(lost) == 3 and all("attribute" in line for line in lost), lost
        with np.load(npz) as got, h5dnn.open(DIGITS) as f:
            assert (got["test/images"] == f["test/images"][()]).all()
        assert h5dnn.diff(DIGITS, npz) == []
        try:
            assert h5dnn.convert(DIGITS, copy) == [] and h5dnn.diff(DIGITS, copy) == []
        except h5dnn.Error as error:
            if "no libhdf5" not in str(error):
                raise
            raise Skipped(str(error)) from None
        for refusal, text in (((DIGITS, copy), "exists"), ((copy, copy, "", True), "same file"), ((DIGITS, copy + ".xyz"), "extension"), ((DIGITS, npz, "h6"), "h6")):
            with refused(h5dnn.Error, text):
                h5dnn.convert(*refusal)
        with refused(FileNotFoundError):
            h5dnn.convert(os.path.join(at, "nothing.h5"), os.path.join(at, "y.npz"))
        assert h5dnn.convert(npz, os.path.join(at, "y"), format="safetensors", force=True) == []
        np.savez(npz, a=np.arange(4.0), b=np.ones(2))
        np.savez(other := os.path.join(at, "other.npz"), a=np.array([0, 1, 2, 3.5]), c=np.ones(2))
        a, b, c = h5dnn.diff(npz, other)
        assert (a["name"], a["different"], a["absolute"], a["worst"]) == ("a", 1, 0.5, [3]) and (b["only"], c["only"]) == ("a", "b")
        assert len(h5dnn.diff(npz, other, atol=0.5)) == 2
        with refused(ValueError, "not negative"):
            h5dnn.diff(npz, other, rtol=-1)


def test_files_and_datasets_are_pickled_by_name():
    f = pickle.loads(pickle.dumps(h5dnn.File(DIGITS.encode())))
    d = pickle.loads(pickle.dumps(f["test/labels"]))
    assert (d[:] == f["test/labels"][:]).all()


def test_other_files_are_followed_where_allowed():
    beside = os.path.join(here, "..", "..", "storage", "hdf5", "testdata")
    name = os.path.join(beside, "external.h5")
    with h5dnn.File(name) as f, refused(h5dnn.Error, "external.bin"):
        f["raw"][()]
    for follow in (beside, os.fsencode(beside)):
        with h5dnn.File(name, follow=follow) as f, pickle.loads(pickle.dumps(f)) as again:
            assert f["raw"][()].tolist() == again["raw"][()].tolist() and f["virtual"].shape == (3, 2, 3)
    with refused(h5dnn.Error, "external.bin"):
        list(h5dnn.Loader(name, {"x": "raw"}))
    (batch,) = h5dnn.Loader(name, {"x": "raw"}, follow=beside, shuffle=False)
    with h5dnn.File(name, follow=beside) as f:
        assert (batch["x"] == f["raw"][()]).all()


def test_growing_files_are_refreshed():
    grown = os.path.join(TESTDATA, "..", "storage", "hdf5", "testdata", "growing_%d.h5")
    with folder() as made:
        name = os.path.join(made, "growing.h5")
        shutil.copyfile(grown % 1, name)
        with h5dnn.File(name) as f:
            rows = f["rows"]
            assert rows.shape == (3, 4)
            shutil.copyfile(grown % 2, name)
            rows.refresh()
            assert rows.shape == (500, 4) and rows[-1].tolist() == [499, 499.125, 499.25, 499.375]
            assert f["packed"][-1] == 1497


def test_threads_share_a_file():
    f = h5dnn.File(DIGITS)
    whole, wrong = f["train/images"][()], []

    def work(first):
        for k in range(first, 1437, 40):
            if (f["train/images"][k] != whole[k]).any():
                wrong.append(k)
            with refused(KeyError, f"no{k}"):
                f[f"train/no{k}"]
    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


if __name__ == "__main__":
    main(__name__)
