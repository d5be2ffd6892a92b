"""Compares h5dnn's Python loader with h5py and PyTorch's DataLoader on shuffled batches.

    python3 bench/loaders/loaders.py [--rounds 3] [--folder /tmp/h5dnn-loaders] [--output bench/LOADERS.md]

Each side runs in a process of its own, on a warm page cache; rounds go through the sides in turn, every second one
backwards. A side's figure is the median of its rounds: samples a second after 5 batches of warm-up. The sides are checked
to deliver the same samples for the same indices.
"""
import argparse
import importlib.metadata
import itertools
import json
import os
import platform
import statistics
import subprocess
import sys
import threading
import time

import h5py
import numpy as np

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "..", "..", "python"))

FRAMES, EPISODE, SPAN, STRIDE = 8000, 125, 20, 5
IMAGES = 30000
CELLS, GENES, EXPRESSED = 20000, 20000, 1000


def make_windows(path):
    random = np.random.default_rng(1)
    with h5py.File(path, "w") as f:
        pixels = f.create_dataset("pixels", (FRAMES, 224, 224, 3), "u1", chunks=(1, 224, 224, 3))
        for k in range(0, FRAMES, EPISODE):
            pixels[k:k + EPISODE] = random.integers(0, 256, (EPISODE, 224, 224, 3), np.uint8)
        f["action"] = random.standard_normal((FRAMES, 7)).astype(np.float32)
        f["ep_len"] = np.full(FRAMES // EPISODE, EPISODE)


def make_chunked(path):
    """The same frames, 100 a chunk of Blosc-lz4, of blocks of 8x8 pixels that are alike."""
    import hdf5plugin
    random = np.random.default_rng(1)
    with h5py.File(path, "w") as f:
        pixels = f.create_dataset("pixels", (FRAMES, 224, 224, 3), "u1", chunks=(100, 224, 224, 3), **hdf5plugin.Blosc(cname="lz4", clevel=5))
        for k in range(0, FRAMES, 100):
            frames = np.repeat(np.repeat(random.integers(0, 256, (100, 28, 28, 3), np.uint8), 8, 1), 8, 2)
            frames[:, ::3] ^= random.integers(0, 4, frames[:, ::3].shape, np.uint8)
            pixels[k:k + 100] = frames
        f["action"] = random.standard_normal((FRAMES, 7)).astype(np.float32)
        f["ep_len"] = np.full(FRAMES // EPISODE, EPISODE)


def make_images(path):
    random = np.random.default_rng(2)
    with h5py.File(path, "w") as f:
        images = f.create_dataset("images", (IMAGES, 64, 64, 3), "u1", chunks=(32, 64, 64, 3), compression="gzip", compression_opts=4)
        smooth = random.integers(0, 256, (64, 64, 3), np.uint8)
        for k in range(0, IMAGES, 1000):
            images[k:k + 1000] = (smooth // 2 + random.integers(0, 16, (1000, 64, 64, 3), np.uint8) + (k // 1000)).astype(np.uint8)
        f["labels"] = np.arange(IMAGES) % 10


def make_cells(path):
    random = np.random.default_rng(3)
    with h5py.File(path, "w") as f:
        settings = {"chunks": (100000,), "compression": "gzip", "compression_opts": 4}
        counts = f.create_dataset("data", (CELLS * EXPRESSED,), "f4", **settings)
        genes = f.create_dataset("indices", (CELLS * EXPRESSED,), "i4", **settings)
        for k in range(0, CELLS, 1000):
            some = slice(k * EXPRESSED, (k + 1000) * EXPRESSED)
            counts[some] = random.geometric(0.5, 1000 * EXPRESSED)
            genes[some] = np.sort(np.argsort(random.random((1000, GENES), np.float32), 1)[:, :EXPRESSED], 1).ravel()
        f["indptr"] = np.arange(CELLS + 1) * EXPRESSED


def make_sparse(path):
    """The cells as AnnData stores them."""
    make_cells(path)
    with h5py.File(path, "a") as f:
        f.attrs["encoding-type"], f.attrs["encoding-version"] = "anndata", "0.1.0"
        f.create_group("X").attrs.update({"encoding-type": "csr_matrix", "encoding-version": "0.1.0", "shape": [CELLS, GENES]})
        for name in ("data", "indices", "indptr"):
            f.move(name, "X/" + name)


def starts():
    """The first frames of windows, which lie within an episode."""
    return np.concatenate([np.arange(k, k + EPISODE - SPAN + 1) for k in range(0, FRAMES, EPISODE)])


def windows_careful(path, batch):
    """One thread, which reads the wanted frames of a batch alone, as chunks, in the order of the file."""
    f = h5py.File(path)
    chunks, action = f["pixels"].id, f["action"][:]
    order = np.random.default_rng(0).permutation(starts())
    for k in range(0, len(order) - batch + 1, batch):
        rows = order[k:k + batch, None] + np.arange(0, SPAN, STRIDE)
        pixels = np.empty((batch, 4, 224, 224, 3), np.uint8)
        flat = pixels.reshape(-1, 224 * 224 * 3)
        for at in np.argsort(rows.ravel(), kind="stable"):
            chunks.read_direct_chunk((int(rows.flat[at]), 0, 0, 0), out=flat[at])
        yield {"pixels": pixels, "action": action[order[k:k + batch, None] + np.arange(SPAN)]}


def make_lance(path):
    """Copies the raw frames to a Lance dataset, one a row, unless it exists; returns its path."""
    import lance
    import pyarrow
    frame, copy = 224 * 224 * 3, path.replace(".h5", ".lance")
    if os.path.exists(copy):
        return copy
    kind = pyarrow.binary(frame)

    def rows():
        with h5py.File(path) as f:
            for k in range(0, FRAMES, EPISODE):
                frames = pyarrow.Array.from_buffers(kind, EPISODE, [None, pyarrow.py_buffer(f["pixels"][k:k + EPISODE])])
                actions = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(f["action"][k:k + EPISODE].ravel()), 7)
                yield pyarrow.record_batch([frames, actions], ["pixels", "action"])
    schema = pyarrow.schema([("pixels", kind), ("action", pyarrow.list_(pyarrow.float32(), 7))])
    lance.write_dataset(pyarrow.RecordBatchReader.from_batches(schema, rows()), copy)
    return copy


def windows_lance(path, batch):
    """The wanted frames of a batch by one take; the actions are in memory."""
    import lance
    frames, order = lance.dataset(make_lance(path)), np.random.default_rng(0).permutation(starts())
    action = h5py.File(path)["action"][:]
    for k in range(0, len(order) - batch + 1, batch):
        rows = order[k:k + batch, None] + np.arange(0, SPAN, STRIDE)
        taken = frames.take(rows.ravel().tolist(), columns=["pixels"])["pixels"].combine_chunks()
        pixels = np.frombuffer(taken.buffers()[1], np.uint8, taken.nbytes, taken.offset * taken.type.byte_width)
        yield {"pixels": pixels.reshape(batch, 4, 224, 224, 3), "action": action[order[k:k + batch, None] + np.arange(SPAN)]}


def windows_h5dnn(path, batch, shuffle="auto"):
    import h5dnn
    while True:
        yield from h5dnn.Loader(path, {"pixels": "pixels", "action": "action"}, batch_size=batch, steps=SPAN, frames={"pixels": f"::{STRIDE}"},
                                episodes="ep_len", seed=1, drop_last=True, shuffle=shuffle)


def chunked_careful(path, batch):
    """One thread, which reads the wanted frames of a batch alone, in the order of the file, with a cache of 64 MiB of chunks."""
    import hdf5plugin  # noqa: F401, which registers Blosc
    f = h5py.File(path, rdcc_nbytes=64 << 20)
    frames, action = f["pixels"], f["action"][:]
    order = np.random.default_rng(0).permutation(starts())
    for k in range(0, len(order) - batch + 1, batch):
        rows = order[k:k + batch, None] + np.arange(0, SPAN, STRIDE)
        pixels = np.empty((batch * 4, 224, 224, 3), np.uint8)
        for at in np.argsort(rows.ravel(), kind="stable"):
            frames.read_direct(pixels, np.s_[int(rows.flat[at])], np.s_[int(at)])
        yield {"pixels": pixels.reshape(batch, 4, 224, 224, 3), "action": action[order[k:k + batch, None] + np.arange(SPAN)]}


def _torch_windows(path, batch, workers):
    import torch.utils.data

    class Windows(torch.utils.data.Dataset):
        def __init__(self):
            self.starts, self.file = starts(), None

        def __len__(self):
            return len(self.starts)

        def __getitem__(self, k):
            self.file = self.file or h5py.File(path)
            s = self.starts[k]
            return {"pixels": self.file["pixels"][s:s + SPAN][::STRIDE].copy(), "action": self.file["action"][s:s + SPAN]}
    while True:
        yield from torch.utils.data.DataLoader(Windows(), batch_size=batch, shuffle=True, num_workers=workers, drop_last=True)


def images_h5dnn(path, batch):
    import h5dnn
    loader = h5dnn.Loader(path, {"x": "images", "y": "labels"}, batch_size=batch, seed=1, drop_last=True, to="torch")
    while True:
        yield from loader


def images_careful(path, batch):
    """Chunks that are decoded with zlib."""
    import zlib
    chunks, lock = h5py.File(path)["images"].id, threading.Lock()

    def decode(first):
        with lock:
            _, raw = chunks.read_direct_chunk((first, 0, 0, 0))
        return np.frombuffer(zlib.decompress(raw), np.uint8).reshape(32, 64, 64, 3)
    return _images_by_window(path, batch, decode)


def images_hidefix(path, batch):
    """Chunks that hidefix reads."""
    import hidefix
    images = hidefix.Index(path).dataset("images")
    return _images_by_window(path, batch, lambda first: images[first:min(first + 32, IMAGES), 0:64, 0:64, 0:3])


def _images_by_window(path, batch, read):
    """Two threads, which read chunks in a random order, ahead of a buffer of 170 chunks that batches are drawn from."""
    import collections
    import concurrent.futures
    labels, random = h5py.File(path)["labels"][:], np.random.default_rng(0)

    def decode(first):
        return int(first), read(int(first))
    pool = concurrent.futures.ThreadPoolExecutor(2)
    while True:
        order = iter(random.permutation(np.arange(0, IMAGES, 32)))
        ahead = collections.deque(pool.submit(decode, first) for first in itertools.islice(order, 8))
        opened, left = [], []
        while ahead or left:
            while ahead and len(left) < 170 * 32:
                first, images = ahead.popleft().result()
                opened.append((first, images))
                left += [(len(opened) - 1, k) for k in range(min(32, IMAGES - first))]
                ahead += [pool.submit(decode, first) for first in itertools.islice(order, 1)]
            x, y = np.empty((batch, 64, 64, 3), np.uint8), np.empty(batch, np.int64)
            if len(left) < batch:
                break
            for at in range(batch):
                pick = random.integers(len(left))
                left[pick], left[-1] = left[-1], left[pick]
                block, k = left.pop()
                first, images = opened[block]
                x[at], y[at] = images[k], labels[first + k]
            yield {"x": x, "y": y}


def _torch_images(path, batch, workers):
    import torch.utils.data

    class Images(torch.utils.data.Dataset):
        file = None

        def __len__(self):
            return IMAGES

        def __getitem__(self, k):
            self.file = self.file or h5py.File(path)
            return {"x": self.file["images"][k], "y": self.file["labels"][k]}
    while True:
        yield from torch.utils.data.DataLoader(Images(), batch_size=batch, shuffle=True, num_workers=workers, drop_last=True)


def cells_h5dnn(path, batch):
    import h5dnn
    loader = h5dnn.Loader(path, {"x": "data"}, x_columns="indices", x_offsets="indptr", length=GENES, batch_size=batch, seed=1, drop_last=True)
    while True:
        yield from loader


def cells_careful(path, batch):
    """One thread, which reads 16 random blocks of 64 cells at a time, in the order of the file, and shuffles their cells."""
    f, random = h5py.File(path), np.random.default_rng(0)
    counts, genes = f["data"], f["indices"]
    while True:
        blocks = random.permutation(CELLS // 64)
        for k in range(0, len(blocks) - 15, 16):
            dense = np.zeros((16 * 64, GENES), np.float32)
            for at, block in enumerate(np.sort(blocks[k:k + 16])):
                some = slice(block * 64 * EXPRESSED, (block + 1) * 64 * EXPRESSED)
                rows = np.repeat(np.arange(64), EXPRESSED) + at * 64
                dense[rows, genes[some]] = counts[some]
            yield from dense[random.permutation(len(dense))].reshape(-1, batch, GENES)


def sparse_h5dnn(path, batch):
    import h5dnn
    loader = h5dnn.Loader(path, {"x": "X"}, csr="x", shuffle="window", window=64, batch_size=batch, seed=1, drop_last=True, index="row")
    while True:
        yield from loader


def sparse_scdataset(path, batch, block, fetch):
    import anndata.io
    import scdataset

    class Cells:
        """Rows of a matrix, with their numbers."""

        def __init__(self, x, row):
            self.x, self.row = x, row

        def __len__(self):
            return len(self.row)

        def __getitem__(self, rows):
            return Cells(self.x[rows], self.row[rows])
    cells = Cells(anndata.io.sparse_dataset(h5py.File(path)["X"]), np.arange(CELLS))
    while True:
        yield from ({"x": b.x, "row": b.row} for b in scdataset.scDataset(cells, scdataset.BlockShuffling(block), batch, fetch, drop_last=True, seed=1))


def quality(batches):
    """The entropy of 14 equal ranges of cells within batches, as a part of the same of a random permutation."""
    def entropy(rows):
        counts = np.bincount(rows * 14 // CELLS, minlength=14) / len(rows)
        return -(counts[counts > 0] * np.log(counts[counts > 0])).sum()
    random = np.random.default_rng(0)
    return np.mean([entropy(rows) for rows in batches]) / np.mean([entropy(random.permutation(CELLS)[:len(batches[0])]) for _ in range(300)])


WORK = {
    "sparse": (make_sparse, 64, {"h5dnn.Loader": (sparse_h5dnn, CELLS // 64 - 1), "scDataset, blocks of 64, fetch 16": (lambda p, b: sparse_scdataset(p, b, 64, 16), CELLS // 64 - 1),
                                 "scDataset, blocks of 16, fetch 64": (lambda p, b: sparse_scdataset(p, b, 16, 64), CELLS // 64 - 1)}),
    "cells": (make_cells, 64, {"h5dnn.Loader": (cells_h5dnn, 100), "h5py, one thread, 16 blocks of 64 cells at a time": (
        lambda p, b: ({"x": x} for x in cells_careful(p, b)), 100)}),
    "windows": (make_windows, 64, {
        "h5dnn.Loader": (windows_h5dnn, 100), "h5py, one thread, wanted chunks sorted": (windows_careful, 100), "Lance, raw frames, one take a batch": (windows_lance, 30),
        "h5py in DataLoader, 0 workers": (lambda p, b: _torch_windows(p, b, 0), 8), "h5py in DataLoader, 2 workers": (lambda p, b: _torch_windows(p, b, 2), 12)}),
    "chunked": (make_chunked, 64, {
        "h5dnn.Loader": (lambda p, b: windows_h5dnn(p, b, "exact"), 50), "h5dnn.Loader, shuffled by window": (lambda p, b: windows_h5dnn(p, b, "window"), 80),
        "h5py, one thread, wanted frames sorted": (chunked_careful, 20)}),
    "images": (make_images, 256, {
        "h5dnn.Loader": (images_h5dnn, 100), "hidefix, two threads, by window": (images_hidefix, 100), "h5py and zlib, two threads, by window": (images_careful, 100),
        "h5py in DataLoader, 0 workers": (lambda p, b: _torch_images(p, b, 0), 4), "h5py in DataLoader, 2 workers": (lambda p, b: _torch_images(p, b, 2), 6)}),
}
TITLES = {"sparse": "Cells as sparse batches: the same in an .h5ad, CSR batches of 64, a whole epoch with its first batch, shuffled by blocks; quality is the entropy of 14 ranges of cells within batches beside a permutation",
          "cells": "Cells: 20,000 of 1,000 counts among 20,000 genes, CSR, gzip; dense batches of 64, shuffled by blocks",
          "windows": "Windows: 4 of 20 frames at stride 5, 224x224x3, and 20 actions; 8,000 frames in 64 episodes, one uncompressed frame a chunk; batches of 64, shuffled",
          "chunked": "Windows out of large chunks: the same frames, 100 in a chunk of Blosc-lz4, shuffled exactly",
          "images": "Images: 30,000 of 64x64x3, gzip, 32 a chunk; batches of 256, shuffled: exactly by DataLoader, else by window"}


def check_windows(path):
    """Compares h5dnn's samples with h5py's."""
    import h5dnn
    with h5py.File(path) as f:
        first = starts()
        loader = h5dnn.Loader(path, {"pixels": "pixels", "action": "action"}, steps=SPAN, frames={"pixels": f"::{STRIDE}"}, episodes="ep_len", index="row", batch_size=4)
        assert loader.samples == len(first)
        batch = next(iter(loader))
        for k, row in enumerate(batch["row"]):
            s = first[row]
            assert (batch["pixels"][k] == f["pixels"][s:s + SPAN][::STRIDE]).all() and (batch["action"][k] == f["action"][s:s + SPAN]).all()


def check_images(path):
    import h5dnn
    with h5py.File(path) as f:
        batch = next(iter(h5dnn.Loader(path, {"x": "images", "y": "labels"}, index="row")))
        for k, row in enumerate(batch["row"]):
            assert (batch["x"][k] == f["images"][row]).all() and batch["y"][k] == f["labels"][row]


def check_cells(path):
    import h5dnn
    with h5py.File(path) as f:
        batch = next(iter(h5dnn.Loader(path, {"x": "data"}, x_columns="indices", x_offsets="indptr", length=GENES, index="row", batch_size=8)))
        for k, row in enumerate(batch["row"]):
            some = slice(row * EXPRESSED, (row + 1) * EXPRESSED)
            assert (np.flatnonzero(batch["x"][k]) == f["indices"][some]).all() and (batch["x"][k][f["indices"][some]] == f["data"][some]).all()


CHECKS = {"windows": check_windows, "chunked": check_windows, "images": check_images, "cells": check_cells}


def peak():
    """The largest resident memory of this process so far, in MiB."""
    with open("/proc/self/status") as f:
        return int(next(line for line in f if line.startswith("VmHWM")).split()[1]) / 1024


def run(work, side, folder):
    """Measures one side in this process, and prints the result."""
    make, batch, sides = WORK[work]
    function, count = sides[side]
    import torch  # by all sides, so that its memory and its import count for none
    torch.zeros(1)
    before = peak()
    began = time.perf_counter()
    batches = iter(function(os.path.join(folder, work + ".h5"), batch))
    next(batches)
    first = time.perf_counter() - began
    total, rows = 0, []
    if work != "sparse":  # which measures a whole epoch, the first batch included
        for _ in range(4 if count > 20 else 1):
            next(batches)
        began = time.perf_counter()
    for _ in range(count):
        b = next(batches)
        total += int(b["x"].sum() if work == "sparse" else b["pixels" if work in ("windows", "chunked") else "x"][0].reshape(-1)[:100].sum())
        if work == "sparse":
            rows.append(np.asarray(b["row"]))
    seconds = time.perf_counter() - began
    print(json.dumps({"rate": count * batch / seconds, "first": first, "memory": peak() - before, **({"quality": quality(rows)} if rows else {})}), flush=True)
    os._exit(0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", default="/tmp/h5dnn-loaders")
    parser.add_argument("--output")
    parser.add_argument("--side", nargs=2)
    parser.add_argument("--only", help="a part of the name of what is measured", default="")
    args = parser.parse_args()
    if args.side:
        run(*args.side, args.folder)
    os.makedirs(args.folder, exist_ok=True)
    lines = []
    chosen = {work: of for work, of in WORK.items() if args.only in work}
    for work, (make, _, _) in chosen.items():
        path = os.path.join(args.folder, work + ".h5")
        if not os.path.exists(path):
            make(path + ".new")
            os.rename(path + ".new", path)
        if work in CHECKS:
            CHECKS[work](path)
    for work, (_, _, sides) in chosen.items():
        with open(os.path.join(args.folder, work + ".h5"), "rb") as f:  # into the page cache
            while f.read(1 << 24):
                pass
        results, loads = {side: [] for side in sides}, []
        for k in range(args.rounds):
            for side in list(sides)[::-1 if k % 2 else 1]:
                loads.append(os.getloadavg()[0])
                out = subprocess.run([sys.executable, "-B", __file__, "--folder", args.folder, "--side", work, side], stdout=subprocess.PIPE, text=True, check=True)
                results[side].append(json.loads(out.stdout))
                print(work, side, results[side][-1], file=sys.stderr)
        ours = statistics.median(r["rate"] for r in results["h5dnn.Loader"])
        lines += [f"## {TITLES[work]}", "", "| | samples/s, median (all) | h5dnn is faster | first batch, s | memory beside Python and PyTorch, MiB |", "|---|---|---|---|---|"]
        for side, rounds in results.items():
            rate = statistics.median(r["rate"] for r in rounds)
            mixed = f", quality {statistics.median(r['quality'] for r in rounds):.3f}" if work == "sparse" else ""
            lines.append(f"| {side}{mixed} | {rate:,.0f} ({', '.join(format(r['rate'], ',.0f') for r in rounds)}) | {ours / rate:.1f}x | "
                         f"{statistics.median(r['first'] for r in rounds):.2f} | {statistics.median(r['memory'] for r in rounds):,.0f} |")
        lines += ["", f"Load of the machine before each process: {min(loads):.1f} to {max(loads):.1f}.", ""]
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("h5py", "numpy", "torch"))
    text = "\n".join(["# Loaders in Python", "", "What a Python process receives: `make bench-loaders` ([script](loaders/loaders.py)), warm page cache.",
                      f"{platform.machine()}, {os.cpu_count()} processors; Python {platform.python_version()}, {versions}, HDF5 {h5py.version.hdf5_version}. "
                      f"The loop reads 100 batches of the first epoch, of the DataLoader 4 to 12; h5dnn reads with two threads. Memory is the peak of resident memory beyond Python and PyTorch, pages of mapped files included, DataLoader's workers not.",
                      "With a load above the number of processors, other programs took part of them: trust the ratios of this run, not its rates.", "", *lines])
    print(text)
    if args.output:
        with open(args.output, "w", encoding="utf-8") as f:
            f.write(text)


if __name__ == "__main__":
    main()
