"""Writes a file of virtual datasets over compressed chunks of the same file, some of them
random, each beside the numbers that h5py reads of it: virtual_rows.py FILE SEED COUNT."""
import random
import sys

import h5py
import numpy as np

COLUMNS = 3


def sources(f, r):
    """Datasets of some rows, compressed, in chunks of whole rows; one keeps its rows on axis 1."""
    found = []
    for k, (rows, chunk) in enumerate([(96, 8), (96, 8), (96, 12), (r.randint(30, 90), r.randint(2, 9)), (64, 32)]):
        x = (1000 * (k + 1) + np.arange(rows * COLUMNS)).reshape(rows, COLUMNS).astype("i4")
        f.create_dataset(f"source/{k}", data=x, chunks=(chunk, COLUMNS), compression="gzip")
        found.append((f"source/{k}", x.shape, ()))
    x = np.arange(2 * 80 * COLUMNS).reshape(2, 80, COLUMNS).astype("i4")
    f.create_dataset("source/planes", data=x, chunks=(1, 16, COLUMNS), compression="gzip")
    found.append(("source/planes", x.shape, (1,)))
    f["source/contiguous"] = -x[0]
    found.append(("source/contiguous", x.shape[1:], ()))
    return found


def add(f, name, rows, parts):
    """parts: the rows of the virtual dataset, a source, and its rows."""
    layout = h5py.VirtualLayout((rows, COLUMNS), "i4")
    for to, (path, shape, before), part in parts:
        layout[to] = h5py.VirtualSource(".", path, shape)[before + (part,)]
    f.create_virtual_dataset(f"virtual/{name}", layout, fillvalue=-7)


def fixed(f, s):
    add(f, "joined", 192, [(np.s_[:96], s[0], np.s_[:]), (np.s_[96:], s[1], np.s_[:])])
    add(f, "gap of chunks", 208, [(np.s_[:96], s[0], np.s_[:]), (np.s_[112:], s[1], np.s_[:])])
    add(f, "interleaved", 192, [(np.s_[::2], s[0], np.s_[:]), (np.s_[1::2], s[1], np.s_[:])])
    add(f, "two lengths", 192, [(np.s_[:96], s[0], np.s_[:]), (np.s_[96:], s[2], np.s_[:])])
    add(f, "not aligned", 190, [(np.s_[:93], s[0], np.s_[3:]), (np.s_[93:189], s[1], np.s_[:])])
    add(f, "planes", 80, [(np.s_[:], s[5], np.s_[:])])
    add(f, "nested", 400, [(np.s_[:192], ("virtual/joined", (192, COLUMNS), ()), np.s_[:]), (np.s_[208:], ("virtual/joined", (192, COLUMNS), ()), np.s_[:])])
    add(f, "contiguous", 80, [(np.s_[:], s[6], np.s_[:])])
    add(f, "no sources", 8, [])
    add(f, "row by row", 8, [(k, s[0], k) for k in range(8)])


def sliced(r, n):
    """Some of n rows, and their number."""
    start, step = r.choice([0, 0, r.randrange(n)]), r.choice([1, 1, 1, 2, 5])
    part = slice(start, r.choice([n, r.randint(start + 1, n)]), step)
    return part, len(range(n)[part])


def chance(f, r, s, name):
    parts, at = [], 0
    for _ in range(r.randint(1, 5)):
        some = r.sample(s, r.choice([1, 1, 2, 3]))
        cuts = [sliced(r, x[1][len(x[2])]) for x in some]
        if len(some) == 1:
            parts.append((slice(at, at + cuts[0][1]), some[0], cuts[0][0]))
            at += cuts[0][1]
        else:  # rows of several sources in turns, some at a time
            n = min(n for _, n in cuts)
            block = r.choice([1, 1, 2, 3, 8])
            n -= n % block
            for k, (x, (part, _)) in enumerate(zip(some, cuts)):
                part = slice(part.start, part.start + n * part.step, part.step)
                if n:
                    parts.append((h5py.MultiBlockSlice(start=at + k * block, stride=len(some) * block, count=n // block, block=block), x, part))
            at += n * len(some)
        at += r.choice([0, 0, 0, 8, r.randint(1, 40)])
    add(f, name, max(at, 1), parts)


def main(name, seed, count):
    r = random.Random(seed)
    with h5py.File(name, "w", libver="latest") as f:
        s = sources(f, r)
        fixed(f, s)
        for k in range(count):
            chance(f, r, s, f"random {k}")
    with h5py.File(name, "a", libver="latest") as f:
        for k, x in f["virtual"].items():
            f.create_dataset(f"want/{k}", data=x[()], compression="gzip", compression_opts=9)


main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
