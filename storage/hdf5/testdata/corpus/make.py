"""Fills this folder: official/ and golden.jsonl from a larger corpus, hostile/ from scratch.

    python make.py [CORPUS]

hostile/ has files that are damaged on purpose. Those with a name that says what is wrong
are made by changing one field; those with a number are files of ../seeds in which a few
bytes, chosen at random, are others.
"""

import io
import json
import os
import random
import shutil
import struct
import sys

import h5py
import numpy as np

here = os.path.dirname(os.path.abspath(__file__))


def written(fill, **how):
    b = io.BytesIO()
    with h5py.File(b, "w", libver=("earliest", "v110"), track_order=False, **how) as f:
        fill(f)
    return bytearray(b.getvalue())


def number(x):
    return struct.pack("<Q", x)


def replaced(content, *changes):
    """Replaces runs of 64-bit numbers, each of which must be there."""
    for old, new in changes:
        a, b = b"".join(map(number, old)), b"".join(map(number, new))
        assert a in content, old
        content = bytearray(bytes(content).replace(a, b))
    return content


def hostile():
    half = 1 << 34  # the product of two is 2^68
    empty = written(lambda f: f.create_dataset("x", (0, 111, 0, 113), "f4"))
    yield "shape_overflows_beside_zeros", replaced(empty, ((111,), (half,)), ((113,), (half,)))
    grows = written(lambda f: f.create_dataset("x", (0, 111, 0, 113), "f4", maxshape=(None, None, None, None), chunks=(1, 3, 1, 5)))
    yield "chunked_shape_overflows_beside_zeros", replaced(grows, ((0, 111, 0, 113), (0, half, 0, half)))
    plain = written(lambda f: f.create_dataset("x", data=np.zeros((111, 113), "u1")))[:]
    yield "shape_overflows", replaced(plain, ((111, 113), (half, half)))
    yield "shape_exceeds_file", replaced(plain, ((111, 113), (1 << 30, 1 << 20)))
    yield "shape_bytes_overflow", replaced(written(lambda f: f.create_dataset("x", data=np.zeros((7, 9), "f8"))), ((7, 9), (1 << 31, 1 << 30)))
    attr = written(lambda f: f.attrs.create("a", np.zeros((11, 13), "u1")))
    yield "attribute_shape_overflows", replaced(attr, ((11, 13), (half, half)))
    yield "attribute_shape_overflows_beside_zero", replaced(written(lambda f: f.attrs.create("a", np.zeros((0, 11, 13), "u1"))), ((0, 11, 13), (0, half, half)))
    packed = written(lambda f: f.create_dataset("x", data=np.zeros(1000, "i4"), chunks=(1000,), compression="gzip"))
    bomb = replaced(packed, ((1000, 1000), (1 << 28, 1 << 28)))
    yield "chunk_of_a_gibibyte", bytearray(bytes(bomb).replace(struct.pack("<II", 1000, 4), struct.pack("<II", 1 << 28, 4)))

    def nested(depth):
        t = np.dtype("u1")
        for _ in range(depth):
            t = np.dtype([("m", t)])
        return t

    yield "types_nested_deeply", written(lambda f: f.create_dataset("x", (2,), nested(60)))
    group = written(lambda f: [f.create_group(f"g{k}") for k in range(3)])
    tree = bytes(group).index(b"TREE")
    loop = bytearray(group)
    loop[tree + 5] = 1  # a level above the leaves, whose first child is
    loop[tree + 32 : tree + 40] = number(tree)  # itself
    yield "tree_is_its_own_child", loop
    node = bytes(group).index(b"SNOD")
    name = bytearray(group)
    name[node + 8 : node + 16] = number(1 << 40)
    yield "name_beyond_its_heap", name
    own = bytearray(group)
    own[node + 16 : node + 24] = number(struct.unpack_from("<Q", group, 64)[0])  # the header of the root group
    yield "group_contains_the_root", own
    many = bytearray(group)
    many[node + 6 : node + 8] = b"\xff\xff"
    yield "symbols_beyond_the_node", many
    texts = written(lambda f: f.create_dataset("x", data=["some text"] * 5, dtype=h5py.string_dtype()))
    heap = bytes(texts).index(b"GCOL")
    big = bytearray(texts)
    big[heap + 8 : heap + 16] = number(1 << 60)
    yield "heap_larger_than_the_file", big
    one = bytearray(texts)
    one[heap + 24 : heap + 32] = number(1 << 40)
    yield "heap_object_larger_than_its_heap", one
    yield "text_longer_than_its_object", bytearray(bytes(texts).replace(struct.pack("<I", 9) + number(heap), struct.pack("<I", 1 << 31) + number(heap)))
    yield "truncated", plain[: len(plain) // 2]
    yield "only_a_signature", plain[:8]

    seeds = os.path.join(here, "..", "seeds")
    dice = random.Random(20261122)
    k = 0
    for name in sorted(os.listdir(seeds)):
        content = open(os.path.join(seeds, name), "rb").read()
        if len(content) > 4096 or not name.endswith(("_earliest.h5", "_latest.h5")):
            continue
        for _ in range(2):
            mutant = bytearray(content)
            for _ in range(dice.choice((1, 3, 8))):
                mutant[dice.randrange(8, len(mutant))] = dice.choice((0, 1, 0x7F, 0x80, 0xFF, dice.randrange(256)))
            yield f"{k:02}_{name.removesuffix('.h5')}", mutant
            k += 1


def official(corpus):
    lines = []
    for line in open(os.path.join(corpus, "golden.jsonl")):
        g = json.loads(line)
        name = os.path.join(corpus, g["file"])
        if g["file"].startswith("official/") and g["reference"] == "ok" and os.path.getsize(name) <= 4600 and len(line) <= 12000:
            shutil.copyfile(name, os.path.join(here, g["file"]))
            lines.append(line)
    open(os.path.join(here, "golden.jsonl"), "w").writelines(lines)


for folder in ("official", "hostile"):
    os.makedirs(os.path.join(here, folder), exist_ok=True)
for name, content in hostile():
    open(os.path.join(here, "hostile", name + ".h5"), "wb").write(content)
if len(sys.argv) > 1:
    official(sys.argv[1])
