"""Batches: their content, order, memory and errors."""
import gc
import io
import os
import pickle
import threading

import numpy as np

from common import DIGITS, TESTDATA, folder, main, need, refused

import h5dnn

FIELDS = {"x": "train/images", "y": "train/labels"}
with h5dnn.open(DIGITS) as digits:
    X, Y = digits["train/images"][()], digits["train/labels"][()]


def loader(**settings):
    return h5dnn.Loader(DIGITS, FIELDS, **{"batch_size": 100, "seed": 3, "index": "row", **settings})


def rows(batches):
    """The indices of samples, whose content is compared."""
    all_rows = []
    for b in batches:
        assert (b["x"] == X[b["row"]]).all() and (b["y"] == Y[b["row"]]).all()
        all_rows += b["row"].tolist()
    return all_rows


def test_an_epoch_has_every_sample_once():
    for shuffle in ("auto", "exact", "window", "none"):
        l = loader(shuffle=shuffle)
        assert len(l) == 15 and l.samples == 1437 and list(l.fields) == ["x", "y"]
        first, second = rows(l), rows(l)
        assert sorted(first) == sorted(second) == list(range(1437))
        assert (first == second == list(range(1437))) == (shuffle == "none")
    assert [len(b["x"]) for b in loader(drop_last=True)] == [100] * 14
    assert sum(len(b["x"]) for b in loader(rows="[200:300]")) == 100


def test_batches_outlive_their_loader():
    l = loader()
    kept = list(l)
    more = list(l)
    l.close()
    del l
    gc.collect()
    assert len(set(rows(kept))) == 1437 and len(set(rows(more))) == 1437
    part = kept[0]["x"][3:5]
    want = part.copy()
    del kept, more
    gc.collect()
    rows(loader())
    assert (part == want).all()


def test_memory_is_reused():
    l = loader(workers=1)
    addresses = set()
    for _ in range(5):
        for b in l:
            addresses.add(b["x"].ctypes.data)
    assert len(addresses) <= 12, len(addresses)  # of 75 batches


def test_epochs_resume_at_every_batch():
    whole = loader()
    batches = [rows([b]) for b in whole]
    next_epoch = rows(whole)
    for k in range(16):
        l = loader()
        it = iter(l)
        for _ in range(k):
            next(it)
        if k == 15:
            assert next(it, None) is None
        state = pickle.loads(pickle.dumps(l.state_dict()))
        again = loader()
        again.load_state_dict(state)
        if k < 15:
            assert rows(again) == sum(batches[k:], []), k
        assert rows(again) == next_epoch, k
    l = loader()
    l.set_epoch(1)
    assert rows(l) == next_epoch
    for other in ({"seed": 4}, {"shuffle": "exact"}, {"rank": 0, "world_size": 2}):
        with refused(ValueError, "the state was saved with"):
            loader(**other).load_state_dict(state)


def test_loops_that_are_left():
    l = loader()
    for b in l:
        break
    assert l.epoch == 0 and l.state_dict()["consumed"] == 100
    assert sorted(rows(l)) == list(range(1437)) and l.epoch == 2  # the next loop is the next epoch
    first = iter(l)
    next(first)
    second = iter(l)
    assert next(first, None) is None and len(rows(second)) == 1437
    it = iter(l)
    next(it)
    l.close()
    with refused(ValueError, "not an open loader"):
        next(it)
    with refused(ValueError, "closed"):
        iter(l)


def test_threads_share_a_loop():
    it, shares = iter(loader(batch_size=10)), [[] for _ in range(4)]

    def work(mine):
        for b in it:
            mine.append(b)
    threads = [threading.Thread(target=work, args=(mine,)) for mine in shares]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(rows(sum(shares, []))) == list(range(1437))


def test_ranks_share_an_epoch():
    shares = [rows(loader(rank=k, world_size=3)) for k in range(3)]
    assert sorted(sum(shares, [])) == list(range(1437)) and max(map(len, shares)) - min(map(len, shares)) <= 1


def test_samples_by_index():
    l = loader()
    b = l.read([5, 1436, 5])
    assert rows([b]) == [5, 1436, 5] and len(l.read([])["x"]) == 0
    with refused(IndexError, "1437"):
        l.read([1437])
    with refused(IndexError):
        l.read([-1])
    for wrong in ([[1]], [1.5], [True], ["a"], 3):
        with refused(IndexError, "want a list of indices"):
            l.read(wrong)


def test_an_error_in_transform_ends_nothing_else():
    def transform(batch):
        if 7 in batch["row"]:
            raise RuntimeError("seven")
        return batch["row"].tolist()
    l = loader(transform=transform)
    seen, errors = [], 0
    it = iter(l)
    while True:
        try:
            seen += next(it)
        except RuntimeError:
            errors += 1
        except StopIteration:
            break
    assert errors == 1 and len(seen) in (1337, 1400)
    assert len(list(loader(transform=lambda b: 1))) == 15


def test_settings_are_checked():
    for kind, settings, text in (
            (ValueError, {"stepz": 3}, "did you mean steps"), (ValueError, {"batch_size": 0}, "batch_size"), (ValueError, {"shuffle": "some"}, "shuffle"),
            (ValueError, {"to": "jax"}, "numpy or torch"), (ValueError, {"rank": 1}, "world_size"), (h5dnn.Error, {"memory": 100}, "more memory"),
            (h5dnn.Error, {"rank": 3, "world_size": 2}, ""), (ValueError, {"index": "x"}, "name of a field"), (ValueError, {"batch_size": -1}, "")):
        with refused(kind, text):
            loader(**settings)
    with refused(TypeError):
        loader(batch_size="64")
    assert len(loader(batch_size=np.int64(100), seed=np.uint8(3))) == 15
    with refused(FileNotFoundError):
        h5dnn.Loader("nowhere.h5", FIELDS)
    with refused(KeyError, "no member"):
        h5dnn.Loader(DIGITS, {"x": "train/images\0"})
    with refused(KeyError, "did you mean /train/images"):
        h5dnn.Loader(DIGITS, {"x": "train/imges"})
    with refused(ValueError, "same number of samples"):
        h5dnn.Loader(DIGITS, {"x": "train/images", "y": "test/labels"})
    with refused(ValueError, "fields"):
        h5dnn.Loader(DIGITS, "train/images")


def test_configurations_of_runs():
    config = os.path.join(TESTDATA, "..", "examples", "digits.yaml")
    train, val = h5dnn.Loader.from_config(config, index="row"), h5dnn.Loader.from_config(config, validation=True)
    assert (train.samples, val.samples, train.plan["batch_size"]) == (1437, 360, 32) and len(rows(train)) == 1437
    with refused(FileNotFoundError):
        h5dnn.Loader.from_config("nowhere.yaml")


def test_episodes_and_windows():
    path = os.path.join(TESTDATA, "episodes.h5")
    with h5dnn.open(path) as f:
        episodes = {name: f["data"][name]["obs"] for name in f["data"]}
        if not all(isinstance(o, h5dnn.Dataset) for o in episodes.values()):
            episodes = {n: next(iter(o.values())) for n, o in episodes.items()}
        star = next(iter(episodes.values())).name.split("/")
        star[2] = "*"
        want = sum(len(o) - 2 for o in episodes.values())
        l = h5dnn.Loader(path, {"obs": "/".join(star)}, steps=3, shuffle=False, batch_size=5)
        assert l.samples == want
        got = np.concatenate([b["obs"] for b in l])
        expected = np.concatenate([np.stack([o[k:k + 3] for k in range(len(o) - 2)]) for o in (episodes[n] for n in sorted(episodes, key=lambda n: int(n.split("_")[-1])))])
        assert (got == expected).all()


def test_frames_and_episodes_in_one_file():
    with folder() as at:
        path = os.path.join(at, "x.npz")
        frames, actions, lengths = np.arange(60).reshape(30, 2), np.arange(30.0), [12, 3, 15]
        np.savez(path, frames=frames, actions=actions, ep_len=lengths, ep_offset=np.cumsum([0] + lengths[:-1]), ids=np.repeat([4, 4, 1], lengths) + np.repeat([0, 1, 0], lengths))
        for episodes in ("ep_len", "ep_offset", "ids"):
            l = h5dnn.Loader(path, {"frames": "frames", "actions": "actions"}, steps=6, frames={"frames": "::2"}, episodes=episodes, batch_size=4)
            assert l.fields == {"frames": ("int64", (3, 2)), "actions": ("float64", (6,))}
            starts = []
            for b in l:
                first = b["actions"][:, 0].astype(int)
                starts += first.tolist()
                assert (b["actions"] == first[:, None] + np.arange(6)).all() and (b["frames"] == frames[first[:, None] + [0, 2, 4]]).all()
            assert sorted(starts) == [*range(7), *range(15, 25)]
        with refused(ValueError, "frames"):
            h5dnn.Loader(path, {"frames": "frames"}, frames={"frames": "::2"})


def test_windows_before_an_episode():
    with folder() as at:
        path = os.path.join(at, "x.npz")
        np.savez(path, x=np.arange(30.0), lengths=[12, 3, 15])
        l = h5dnn.Loader(path, {"x": "x"}, steps=4, episodes="lengths", pad_before=3, batch_size=7, index="row")
        assert l.samples == 30
        starts = np.repeat([0, 12, 15], [12, 3, 15])
        for b in l:
            assert (b["x"] == np.maximum(b["row"][:, None] + np.arange(-3, 1), starts[b["row"]][:, None])).all()
        with refused(ValueError, "pad_before"):
            h5dnn.Loader(path, {"x": "x"}, steps=4, pad_before=4)


def test_encoded_images():
    h5py, image = need("h5py"), need("PIL.Image").Image
    with folder() as at:
        path, pixels, files = os.path.join(at, "x.h5"), [], []
        for k in range(30):
            picture = image.fromarray((np.random.default_rng(k).random((5, 4, 3)) * 255).astype(np.uint8)).resize((40, 32))
            file = io.BytesIO()
            picture.save(file, ("png", "jpeg")[k % 2])
            files.append(np.frombuffer(file.getvalue(), np.uint8))
            pixels.append(np.asarray(image.open(file)).astype(int))
        pixels, most = np.array(pixels), max(map(len, files))
        with h5py.File(path, "w") as f:
            rows = f.create_dataset("rows", (30,), h5py.vlen_dtype(np.uint8))
            for k, file in enumerate(files):
                rows[k] = file
            f["padded"] = np.array([np.pad(file, (0, most - len(file))) for file in files])
        l = h5dnn.Loader(path, {"rows": "rows", "padded": "padded"}, images="rgb", steps=6, frames={"rows": "::2"}, batch_size=4, index="row")
        assert l.fields == {"rows": ("uint8", (3, 32, 40, 3)), "padded": ("uint8", (6, 32, 40, 3))}
        for b in l:
            first = b["row"][:, None]
            assert abs(b["rows"] - pixels[first + [0, 2, 4]]).max() <= 3  # decoders of JPEG round differently
            assert (b["padded"][:, ::2] == b["rows"]).all()
        assert h5dnn.Loader(path, {"x": "rows"}, images="gray").fields == {"x": ("uint8", (32, 40))}
        with refused(ValueError, "rgb or gray"):
            h5dnn.Loader(path, {"x": "rows"}, images="cmyk")
    with refused(h5dnn.Error, "rows of bytes"):
        h5dnn.Loader(DIGITS, {"x": "train/labels"}, images="rgb")


def test_cells_of_csr():
    path = os.path.join(TESTDATA, "episodes.h5")
    with h5dnn.open(path) as f:
        dense = f["csr/dense"][()]
    l = h5dnn.Loader(path, {"x": "csr/data"}, x_columns="csr/indices", x_offsets="csr/indptr", length=9, index="row", batch_size=6)
    got = {}
    for b in l:
        got.update(zip(b["row"].tolist(), b["x"]))
    assert len(got) == 20 and all((got[k] == dense[k]).all() for k in got)
    cells = os.path.join(TESTDATA, "cells.h5ad")
    with h5dnn.open(cells) as f:
        whole = f["X"][()]
    for b in h5dnn.Loader(cells, {"x": "X", "some": "X[:, [3, 1]]"}, index="row", batch_size=6):
        assert (b["x"] == whole[b["row"]]).all() and (b["some"] == whole[b["row"]][:, [3, 1]]).all()


def test_batches_of_csr():
    sparse = need("scipy.sparse").sparse
    cells, other = os.path.join(TESTDATA, "cells.h5ad"), os.path.join(TESTDATA, "episodes.h5")
    with h5dnn.open(cells) as f, h5dnn.open(other) as g:
        whole, dense = f["X"][()], g["csr/dense"][()]
    in_parts = {"x_columns": "csr/indices", "x_offsets": "csr/indptr", "length": 9}
    for path, fields, settings, want in ((cells, {"x": "X", "n": "obs/n"}, {}, whole), (other, {"x": "csr/data"}, in_parts, dense)):
        l = h5dnn.Loader(path, fields, csr="x", index="row", batch_size=4, **settings)
        assert l.fields["x"] == (str(want.dtype), want.shape[1:]) and list(l.fields) == list(fields)
        seen = []
        for epoch in range(3):
            for b in l:
                assert isinstance(b["x"], sparse.csr_matrix) and list(b) == [*fields, "row"]
                assert (b["x"].toarray() == want[b["row"]]).all() and b["x"].nnz == (want[b["row"]] != 0).sum()
                seen.append((b["x"], b["row"]))
        assert all((x.toarray() == want[row]).all() for x, row in seen)
        assert (l.read([3, 0, 3])["x"].toarray() == want[[3, 0, 3]]).all()
        assert sum(b["x"].shape[0] for b in h5dnn.Loader(path, fields, csr=["x"], rows="[1:4]", **settings)) == 3
    (both,) = h5dnn.Loader([cells, cells], {"x": "X"}, csr="x", shuffle=False)
    assert (both["x"].toarray() == np.concatenate([whole, whole])).all()
    with refused(ValueError, "csr"):
        h5dnn.Loader(cells, {"x": "X"}, csr="y")
    with refused(h5dnn.Error, ""):
        h5dnn.Loader(cells, {"x": "layers/dense"}, csr="x")
    with refused(TypeError, "CSC"):
        h5dnn.Loader(cells, {"x": "layers/columns"}, csr="x")
    with folder() as at:
        path = os.path.join(at, "x.npz")
        for dtype, wrong in (("i4", 4), ("i4", -1), ("i8", 4), ("i8", -1)):
            np.savez(path, data=np.ones(3, np.float32), indices=np.array([0, wrong, 1], dtype), indptr=np.array([0, 2, 3]))
            with refused(IndexError, f"column {wrong}"):
                list(h5dnn.Loader(path, {"x": "data"}, csr="x", x_columns="indices", x_offsets="indptr", length=4))
    torch = need("torch")
    for b in h5dnn.Loader(cells, {"x": "X"}, csr="x", index="row", to="torch", batch_size=4):
        assert b["x"].layout == torch.sparse_csr and (b["x"].to_dense().numpy() == whole[b["row"]]).all()


def write_cells(h5py, path, genes, sparse):
    """Two cells of an .h5ad: cell k has k + 1 times the number in the name of the gene."""
    dense = np.outer([1, 2], [int(gene[1:]) for gene in genes]).astype(np.float32)
    with h5py.File(path, "w") as f:
        f.attrs["encoding-type"] = "anndata"
        f.create_group("obs").attrs.update({"encoding-type": "dataframe", "_index": "i", "column-order": np.zeros(0)})
        f["obs/i"] = ["c0", "c1"]
        f.create_group("var").attrs.update({"encoding-type": "dataframe", "_index": "i", "column-order": np.zeros(0)})
        f["var/i"] = genes
        if not sparse:
            f["X"] = dense
            return
        x = f.create_group("X")
        x.attrs.update({"encoding-type": "csr_matrix", "shape": dense.shape})
        x["data"], x["indices"], x["indptr"] = dense.ravel(), np.tile(np.arange(len(genes), dtype=np.int32), 2), np.arange(3, dtype=np.int32) * len(genes)


def test_genes_of_several_files_by_name():
    h5py = need("h5py")
    with folder() as at:
        a, b, c = (os.path.join(at, name) for name in ("a.h5ad", "b.h5ad", "c.h5ad"))
        write_cells(h5py, a, ["g1", "g2", "g3"], True)
        write_cells(h5py, b, ["g3", "g1", "g2"], True)
        write_cells(h5py, c, ["g4", "g2"], False)
        for files in ([a, b], [a, c]):
            with refused(ValueError, "set genes to union, intersection or a list"):
                h5dnn.Loader(files, {"x": "X"})
        with refused(ValueError, "did you mean"):
            h5dnn.Loader(a, {"x": "X"}, genes=["g9"])
        for files, genes, names, want in (([a, b, c], "union", ["g1", "g2", "g3", "g4"], [[1, 2, 3, 0], [1, 2, 3, 0], [0, 2, 0, 4]]), ([a, b, c], "intersection", ["g2"], [[2]] * 3),
                                          ([b, a], np.array(["g3", "g1"]), ["g3", "g1"], [[3, 1]] * 2), (a, ["g2"], ["g2"], [[2]])):
            want = [[n * k for n in row] for row in want for k in (1, 2)]
            l = h5dnn.Loader(files, {"x": "X"}, genes=genes, shuffle=False)
            (batch,) = l
            assert l.genes == names and batch["x"].tolist() == want, (l.genes, batch)
            assert f"genes by name, {len(names)} of them" in l.plan["notes"][0]
            if c not in np.atleast_1d(files):
                need("scipy")
                (batch,) = h5dnn.Loader(files, {"x": "X"}, genes=genes, csr="x", shuffle=False)
                assert batch["x"].toarray().tolist() == want and batch["x"].has_sorted_indices and batch["x"].nnz == np.count_nonzero(want)
        h5dnn.Loader([a, b], {"x": "obs/i"})  # genes matter where columns are genes


def test_bfloat16_needs_torch():
    path = os.path.join(TESTDATA, "newtypes.h5")
    with h5dnn.open(path) as f:
        names = [n for n, about in f._tree().items() if about["kind"] == "dataset" and about["dtype"] == "bfloat16" and about["shape"]]
        if not names:
            return
        assert f[names[0]][()].dtype == np.float32
        want = f[names[0]][()]
    with refused(TypeError, "to='torch'"):
        h5dnn.Loader(path, {"x": names[0]})
    torch = need("torch")
    (batch,) = h5dnn.Loader(path, {"x": names[0]}, shuffle=False, batch_size=1000, to="torch")
    assert batch["x"].dtype == torch.bfloat16 and (batch["x"].float().numpy() == want).all()


def test_a_file_that_is_cut_while_it_is_read():
    with folder() as at:
        path = os.path.join(at, "x.npy")
        np.save(path, np.zeros((4096, 4096), np.uint8))
        l = h5dnn.Loader(path, {"x": "/x"}, batch_size=64)
        it = iter(l)
        next(it)
        os.truncate(path, 4096)
        failed = 0
        while True:
            try:
                if next(it, None) is None:
                    break
            except h5dnn.Error as error:
                assert "samples" in str(error) and "x" in str(error)
                failed += 1
        assert failed > 0


def test_many_loaders_leave_nothing_behind():
    def descriptors():
        return len(os.listdir("/proc/self/fd"))

    def mapped():
        with open("/proc/self/maps") as f:
            return sum(1 for _ in f)

    def resident():
        return int(open("/proc/self/statm").read().split()[1]) * 4096
    before = None
    for k in range(400):
        l = loader(batch_size=500)
        it = iter(l)
        next(it)
        if k % 2:
            l.close()
        del it, l
        if k == 100:
            gc.collect()
            before = descriptors(), mapped(), resident()
    gc.collect()
    assert descriptors() <= before[0] + 2, (descriptors(), before)
    assert mapped() <= before[1] + 60, (mapped(), before)  # batches that were read ahead
    assert resident() < before[2] + (64 << 20), (resident(), before)


if __name__ == "__main__":
    main(__name__)
