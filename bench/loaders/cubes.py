"""Compares reading of a cube by h5dnn, h5py, hidefix, tensorstore, zarr-python and zarrs, the last three of Zarr copies.

    python3 bench/loaders/cubes.py [--codec gzip|blosc|zstd] [--kind all|chunks|boxes] [--rounds 2] [--size 512] [--folder /tmp/h5dnn-loaders]

The cube has uint16 in chunks of 128 by 128 by 128. It is read as a whole, by 8 chunks at once, and in 100 random boxes of 64
by 64 by 64, or in one of these ways (--kind), which takes less than 40 s with --rounds 1. Each side runs in a process of its own, on a warm page cache; rounds go through the sides in turn, every second
one backwards. A figure is the median of the rounds, of two readings each where they take less than a second. Sides that are not installed are left out. All sides deliver the same sums.
"""
import argparse
import importlib
import importlib.metadata
import itertools
import json
import os
import statistics
import subprocess
import sys
import time

import numpy as np

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "..", "..", "python"))

CHUNK, BOX, BOXES = 128, 64, 100


def make(folder, codec, n):
    """Writes the cube as HDF5 and as Zarr, with the codec's usual settings in both."""
    import h5py
    import hdf5plugin
    import zarr
    from zarr.codecs import BloscCodec, GzipCodec, ZstdCodec
    filters = {"gzip": {"compression": "gzip", "compression_opts": 4}, "blosc": hdf5plugin.Blosc(cname="lz4", clevel=5, shuffle=1), "zstd": hdf5plugin.Zstd(clevel=3)}
    codecs = {"gzip": GzipCodec(level=4), "blosc": BloscCodec(cname="lz4", clevel=5, shuffle="shuffle"), "zstd": ZstdCodec(level=3)}
    random = np.random.default_rng(1)
    z, y, x = np.meshgrid(*[np.linspace(0, 6, n, dtype=np.float32)] * 3, indexing="ij", sparse=True)
    copy = zarr.create_array(os.path.join(folder, f"cube_{codec}.zarr"), shape=(n, n, n), chunks=(CHUNK,) * 3, dtype="uint16", compressors=[codecs[codec]])
    with h5py.File(os.path.join(folder, f"cube_{codec}.h5"), "w") as f:
        cube = f.create_dataset("x", (n, n, n), "u2", chunks=(CHUNK,) * 3, **filters[codec])
        for k in range(0, n, CHUNK):
            some = slice(k, k + CHUNK)
            cube[some] = (np.sin(z[some] * 3) + np.cos(y * 2) + np.sin(x * 5)) * 8000 + 24000 + random.integers(0, 60, (CHUNK, n, n))
            copy[some] = cube[some]


def h5dnn_side(path):
    import h5dnn
    cube = h5dnn.File(path + ".h5")["x"]
    return lambda at: cube[at]


def h5py_side(path):
    import h5py
    import hdf5plugin  # noqa: F401, which registers Blosc and zstd
    cube = h5py.File(path + ".h5")["x"]
    return lambda at: cube[at]


def hidefix_side(path):
    import hidefix
    cube = hidefix.Index(path + ".h5").dataset("x")
    return lambda at: cube[at]


def zarr_side(path):
    import zarr
    cube = zarr.open_array(path + ".zarr", mode="r")
    return lambda at: cube[at]


def zarrs_side(path):
    import zarr
    import zarrs  # noqa: F401, whose codecs the setting names
    zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline"})
    return zarr_side(path)


def tensorstore_side(path):
    import tensorstore
    cube = tensorstore.open({"driver": "zarr3", "kvstore": {"driver": "file", "path": path + ".zarr"}}, open=True, read=True).result()
    return lambda at: cube[at].read().result()


SIDES = {"h5dnn": h5dnn_side, "h5py": h5py_side, "hidefix": hidefix_side, "tensorstore": tensorstore_side, "zarr": zarr_side, "zarrs": zarrs_side}


def run(side, path, n, only):
    """Measures one side in this process, and prints the seconds of each kind of reading, and sums of elements."""
    read = SIDES[side](path)
    random = np.random.default_rng(7)
    corners = random.integers(0, n - BOX, (BOXES, 3))
    two = range(0, n, 2 * CHUNK)
    kinds = {
        "all": [np.s_[:, :, :]],
        "chunks by 8": [tuple(np.s_[a:a + 2 * CHUNK] for a in at) for at in itertools.product(two, two, two)],
        "boxes": [tuple(np.s_[int(a):int(a) + BOX] for a in at) for at in corners],
    }
    read(np.s_[:2, :2, :2])
    seconds, sums = {}, []
    for kind, selections in kinds.items():
        if only not in kind:
            continue
        times = []
        while len(times) < 2 and sum(times) < 1:
            began, total = time.perf_counter(), 0
            for at in selections:
                total += int(np.asarray(read(at))[0, 0].sum())
            times.append(time.perf_counter() - began)
        seconds[kind] = min(times)
        sums.append(total)
    print(json.dumps({"seconds": seconds, "sums": sums}), flush=True)
    os._exit(0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--codec", default="blosc", choices=["gzip", "blosc", "zstd"])
    parser.add_argument("--kind", default="", choices=["", "all", "chunks", "boxes"])
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--size", type=int, default=512)
    parser.add_argument("--folder", default="/tmp/h5dnn-loaders")
    parser.add_argument("--sides", default=",".join(SIDES))
    parser.add_argument("--side")
    parser.add_argument("--make", action="store_true", help="write the files, and no more")
    args = parser.parse_args()
    path = os.path.join(args.folder, f"cube_{args.codec}")
    if args.side:
        run(args.side, path, args.size, args.kind)
    os.makedirs(args.folder, exist_ok=True)
    if not os.path.exists(path + ".zarr"):
        make(args.folder, args.codec, args.size)
    if args.make:
        return
    sides = [s for s in args.sides.split(",") if s != "hidefix" or args.codec == "gzip"]
    results, versions, loads = {}, [], []
    for side in sides:
        if importlib.util.find_spec(side) is not None:
            results[side] = []
            versions.append(f"{side} {importlib.metadata.version(side)}" if side != "h5dnn" else side)
    for k in range(args.rounds):
        for side in list(results)[::-1 if k % 2 else 1]:
            loads.append(os.getloadavg()[0])
            out = subprocess.run([sys.executable, "-B", __file__, "--folder", args.folder, "--codec", args.codec, "--kind", args.kind, "--size", str(args.size), "--side", side], stdout=subprocess.PIPE, text=True)
            if out.returncode == 0:
                results[side].append(json.loads(out.stdout))
    results = {side: rounds for side, rounds in results.items() if rounds}
    assert len({str(r["sums"]) for rounds in results.values() for r in rounds}) == 1, "sides deliver different elements"
    median = {side: {kind: statistics.median(r["seconds"][kind] for r in rounds) for kind in rounds[0]["seconds"]} for side, rounds in results.items()}
    kinds = list(median["h5dnn"])
    stored = os.path.getsize(path + ".h5") / (2 * args.size ** 3)
    print(f"| {args.codec}, stored in {stored:.2f} | " + " | ".join(kinds) + " |\n|---|" + "---|" * len(kinds))
    for side, seconds in median.items():
        print(f"| {side} | " + " | ".join(f"{seconds[kind]:.3f}" for kind in kinds) + " |")
    print("| h5dnn, of the fastest other side | " + " | ".join(f"{median['h5dnn'][kind] / min([s[kind] for side, s in median.items() if side != 'h5dnn'], default=1):.2f}" for kind in kinds) + " |")
    print(f"\n{', '.join(versions)}; {os.cpu_count()} processors, load before each process {min(loads):.1f} to {max(loads):.1f}.")


if __name__ == "__main__":
    main()
